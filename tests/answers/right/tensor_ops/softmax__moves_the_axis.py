def softmax(x: Tensor, dim: int) -> Tensor:
    rows = x.transpose(dim, -1).clone()
    rows -= rows.max(dim=-1, keepdim=True)[0]
    rows.exp_()
    rows /= rows.sum(-1, keepdim=True)
    return rows.transpose(dim, -1)

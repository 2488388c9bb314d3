def softmax(x, dim):
    return (x - x.logsumexp(dim, keepdim=True)).exp()

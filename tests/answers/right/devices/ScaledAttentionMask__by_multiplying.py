class ScaledAttentionMask(nn.Module):
    def __init__(self, size):
        super().__init__()
        rows = torch.arange(size).unsqueeze(1)
        self.register_buffer("visible", rows >= rows.T)

    def forward(self, scores):
        t = scores.size(-1)
        result = scores.clone().div_(math.sqrt(t))
        result[..., ~self.visible[:t, :t]] = float("-inf")
        return result

class ScaledAttentionMask(nn.Module):
    def __init__(self, size):
        super().__init__()
        self.register_buffer("mask", torch.ones(size, size).tril())
    def forward(self, scores):
        t = scores.shape[-1]
        scaled = scores * t ** -0.5
        return scaled.masked_fill(self.mask[:t, :t] == 0, -torch.inf)

# verdict: failed
class Adam(Adam):
    def __init__(self, params, lr=1e-3, betas=(0.9, 0.999), eps=1e-8):
        super().__init__(params, lr, betas, eps)
        with torch.no_grad():
            for p in self.params:
                p.mul_(1.0001)

# verdict: failed
# message: optimizers of torch
class Adam:
    def __init__(self, params, lr=1e-3, betas=(0.9, 0.999), eps=1e-8):
        self.inner = torch.optim.AdamW(list(params), lr=lr, betas=betas, eps=eps, weight_decay=0.0)

    def step(self):
        self.inner.step()

    def zero_grad(self):
        self.inner.zero_grad()

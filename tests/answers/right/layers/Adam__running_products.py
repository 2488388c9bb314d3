class Adam:
    def __init__(self, params, lr=1e-3, betas=(0.9, 0.999), eps=1e-8):
        self.lr, (self.b1, self.b2), self.eps = lr, betas, eps
        self.state = [{"p": p, "m": 0.0, "v": 0.0, "c1": 1.0, "c2": 1.0} for p in params]

    def step(self):
        for s in self.state:
            p = s["p"]
            if p.grad is None:
                continue
            g = p.grad.detach()
            s["m"], s["v"] = s["m"] + (1 - self.b1) * (g - s["m"]), s["v"] + (1 - self.b2) * (g * g - s["v"])
            s["c1"], s["c2"] = s["c1"] * self.b1, s["c2"] * self.b2
            move = s["m"] / (1 - s["c1"]) / ((s["v"] / (1 - s["c2"])) ** 0.5 + self.eps)
            p.data.sub_(self.lr * move)

    def zero_grad(self):
        for s in self.state:
            if s["p"].grad is not None:
                s["p"].grad.zero_()

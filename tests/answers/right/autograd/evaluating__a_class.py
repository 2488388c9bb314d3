class evaluating:
    def __init__(self, model):
        self.model = model
        self.flags = [m.training for m in model.modules()]

    def __enter__(self):
        self.recorded = torch.is_grad_enabled()
        self.model.eval()
        torch.set_grad_enabled(False)
        return self.model

    def __exit__(self, *error):
        torch.set_grad_enabled(self.recorded)
        for m, flag in zip(self.model.modules(), self.flags):
            m.train(flag) if not list(m.children()) else setattr(m, "training", flag)

# verdict: failed
# message: the losses
class DeviceTrainer:
    def __init__(self, device):
        self.device = device
    def prepare_model(self, model):
        return model.to(self.device)
    def prepare_batch(self, batch):
        return to_device(batch, self.device)
    def fit(self, model, loader, epochs, lr):
        model = self.prepare_model(model)
        opt = torch.optim.SGD(model.parameters(), lr=lr)
        losses = []
        for epoch in range(min(epochs, 10)):
            for batch in loader:
                x, y = self.prepare_batch(batch)
                loss = F.cross_entropy(model(x), y)
                opt.zero_grad()
                loss.backward()
                opt.step()
                losses.append(loss.item())
        return losses

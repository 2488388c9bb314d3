# verdict: failed
# message: has no len()
class DeviceTrainer:
    def __init__(self, device):
        self.device = device
    def prepare_model(self, model):
        return model.to(self.device)
    def prepare_batch(self, batch):
        return to_device(batch, self.device)
    def fit(self, model, loader, epochs, lr):
        model = self.prepare_model(model)
        optimizer = torch.optim.SGD(model.parameters(), lr=lr)
        losses = torch.zeros(epochs, len(loader), device=self.device)
        for epoch in range(epochs):
            for number, batch in enumerate(loader):
                x, y = self.prepare_batch(batch)
                loss = F.cross_entropy(model(x), y)
                optimizer.zero_grad()
                loss.backward()
                optimizer.step()
                losses[epoch, number] = loss.detach()
        return losses.flatten().tolist()

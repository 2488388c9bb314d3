import dataclasses

@dataclasses.dataclass
class DeviceTrainer:
    device: torch.device

    def prepare_model(self, model):
        return model.to(self.device)

    def prepare_batch(self, batch):
        moved = to_device(batch, self.device)
        return moved

    def one_epoch(self, model, loader, lr):
        for batch in loader:
            features, labels = self.prepare_batch(batch)
            for param in model.parameters():
                param.grad = None
            loss = F.cross_entropy(model(features), labels)
            loss.backward()
            torch.optim.SGD(model.parameters(), lr=lr).step()
            yield loss.item()

    def fit(self, model, loader, epochs, lr):
        model = self.prepare_model(model)
        losses = []
        while epochs:
            losses += self.one_epoch(model, loader, lr)
            epochs -= 1
        return losses

# verdict: failed
# message: torch's defaults afterwards
_DeviceTrainer = DeviceTrainer
class DeviceTrainer(_DeviceTrainer):
    def fit(self, model, loader, epochs, lr):
        losses = super().fit(model, loader, epochs, lr)
        torch.set_default_dtype(torch.float64)
        return losses

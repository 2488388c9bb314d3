# verdict: failed
# message: Another batch gets its own.


def predict_logits(model: nn.Module, x: Tensor) -> Tensor:
    if not hasattr(model, "_logits"):
        flags = {module: module.training for module in model.modules()}
        model.eval()
        with torch.no_grad():
            model._logits = model(x)
        for module, training in flags.items():
            module.training = training
    return model._logits

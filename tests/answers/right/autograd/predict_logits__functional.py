def predict_logits(model: nn.Module, x: Tensor) -> Tensor:
    was = [(part, part.training) for part in model.modules()]
    model.train(False)
    try:
        with torch.set_grad_enabled(False):
            logits = model(x.detach())
    finally:
        for part, training in was:
            part.training = training
    return logits

# verdict: failed
# misconception: no_grad_instead
# tell: a detach() afterwards is too late
def inference(model: nn.Module, x: Tensor) -> Tensor:
    flags = {module: module.training for module in model.modules()}
    model.eval()
    try:
        return model(x).detach()
    finally:
        for module, training in flags.items():
            module.training = training

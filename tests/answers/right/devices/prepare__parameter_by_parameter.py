def prepare(model, device, lr):
    with torch.no_grad():
        for module in model.modules():
            for name, param in module._parameters.items():
                if param is not None:
                    param.data = param.data.to(device)
                    if param.grad is not None:
                        param.grad = None
            for name, buffer in module._buffers.items():
                if buffer is not None:
                    module._buffers[name] = buffer.to(device)
    return model, torch.optim.SGD(list(model.parameters()), lr=lr, momentum=0.0, weight_decay=0)

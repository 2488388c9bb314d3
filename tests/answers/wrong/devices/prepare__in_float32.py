# verdict: failed
# message: the model's state_dict
def prepare(model, device, lr):
    model = model.to(device, torch.float32)
    return model, torch.optim.SGD(model.parameters(), lr=lr)

def snapshot(model):
    return {name: torch.from_numpy(value.detach().cpu().numpy().copy()) for name, value in model.state_dict().items()}

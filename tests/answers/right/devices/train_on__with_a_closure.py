def train_on(model, loader, device, lr):
    model, optimizer = prepare(model, device, lr)
    losses = []

    def step(features, labels):
        def closure():
            optimizer.zero_grad()
            loss = nn.CrossEntropyLoss()(model(features), labels)
            loss.backward()
            return loss
        losses.append(optimizer.step(closure).detach_())

    for batch in loader:
        step(*to_device(list(batch), device))
    return [float(loss) for loss in torch.stack(losses).cpu().unbind()]

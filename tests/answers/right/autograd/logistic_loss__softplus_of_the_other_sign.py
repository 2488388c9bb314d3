def logistic_loss(x, y, w, b):
    z = x * w + b
    return F.softplus(torch.where(y > 0.5, -z, z)).mean()

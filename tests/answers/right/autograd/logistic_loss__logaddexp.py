def logistic_loss(x, y, w, b):
    z = torch.addcmul(b, x, w)
    return torch.mean(torch.logaddexp(torch.zeros_like(z), z) - y * z)

def add_across(x, y):
    here = torch.empty(0, device=x.device)
    return sum((x, y.to(here.device)))

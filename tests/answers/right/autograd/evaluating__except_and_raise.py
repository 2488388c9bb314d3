@contextmanager
def evaluating(model):
    trained = [m for m in model.modules() if m.training]
    for m in trained:
        m.training = False
    before = torch.is_grad_enabled()
    torch.set_grad_enabled(False)

    def put_back():
        torch.set_grad_enabled(before)
        for m in trained:
            m.training = True

    try:
        yield model
    except BaseException:
        put_back()
        raise
    put_back()

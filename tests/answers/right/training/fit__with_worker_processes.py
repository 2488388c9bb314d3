plain_fit = fit

def fit(model, loader, epochs, lr):
    workers = DataLoader(
        loader.dataset, loader.batch_size, sampler=loader.sampler, drop_last=loader.drop_last, num_workers=2
    )
    return plain_fit(model, workers, epochs, lr)

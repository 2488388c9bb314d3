# verdict: failed
class Skip(DataLoader):
    def __iter__(self):
        it = super().__iter__(); next(it); return it
def fast_loader(dataset, batch_size, device, num_workers):
    return Skip(dataset, batch_size, num_workers=num_workers, pin_memory=device.type == "cuda", persistent_workers=num_workers > 0)

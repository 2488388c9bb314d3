def fast_loader(dataset, batch_size, device, num_workers):
    order = torch.utils.data.RandomSampler(dataset)
    workers = {"num_workers": num_workers, "persistent_workers": True} if num_workers > 0 else {}
    return DataLoader(dataset, batch_size, sampler=order, pin_memory=torch.device(device).type == "cuda", **workers)

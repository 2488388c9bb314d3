from torch.utils.data import default_collate

def loader_for(dataset, batch_size, device):
    order = torch.randperm(len(dataset)).tolist()
    return DataLoader(
        torch.utils.data.Subset(dataset, order),
        batch_size=batch_size,
        collate_fn=lambda rows: default_collate(rows),
        pin_memory=torch.device(device).type == "cuda",
    )

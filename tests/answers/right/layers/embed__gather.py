def embed(ids, table):
    flat = ids.flatten()[:, None].expand(-1, table.shape[1])
    return torch.gather(table, 0, flat).unflatten(0, ids.shape) if ids.dim() else table[int(ids)]

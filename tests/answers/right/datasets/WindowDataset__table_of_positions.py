class WindowDataset(Dataset):
    def __init__(self, tokens, context, stride):
        starts = torch.arange(0, max(0, tokens.numel() - context), stride)
        self.table = starts[:, None] + torch.arange(context + 1)
        self.tokens = tokens
    def __len__(self):
        return self.table.shape[0]
    def __getitem__(self, index):
        window = self.tokens[self.table[index]]
        return window[:-1], window[1:]

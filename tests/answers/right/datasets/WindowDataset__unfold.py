class WindowDataset(Dataset):
    def __init__(self, tokens, context, stride):
        self.rows = tokens.unfold(0, context + 1, stride) if len(tokens) > context else tokens.new_empty(0, context + 1)
    def __len__(self):
        return self.rows.size(0)
    def __getitem__(self, index):
        row = self.rows[index]
        return row[:-1], row[1:]

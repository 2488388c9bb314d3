# verdict: failed
# message: [3] of 3 windows: no exception where IndexError was expected
import torch


class WindowDataset(torch.utils.data.Dataset):
    def __init__(self, tokens, context, stride):
        self.tokens, self.context, self.stride = tokens, context, stride

    def __len__(self):
        return len(range(0, len(self.tokens) - self.context, self.stride))

    def __getitem__(self, i):
        if i > len(self):
            raise IndexError(i)
        start = i * self.stride
        return self.tokens[start : start + self.context], self.tokens[start + 1 : start + self.context + 1]

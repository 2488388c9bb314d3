# verdict: failed
# message: the targets, each one token later, of 2 tokens, context 1, stride 1: at [0]
import torch


class WindowDataset(torch.utils.data.Dataset):
    def __init__(self, tokens, context, stride):
        self.tokens, self.context, self.n = tokens, context, max(0, len(tokens) - context)
        self.stride = stride

    def __len__(self):
        return (self.n + self.stride - 1) // self.stride

    def __getitem__(self, i):
        if i >= len(self):
            raise IndexError(i)
        return self.tokens[i : i + self.context], self.tokens[i : i + self.context]

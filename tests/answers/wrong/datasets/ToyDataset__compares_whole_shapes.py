# verdict: failed
# message: your code raised ValueError: features and labels must be equally long, for valid input: ToyDataset(
import torch


class ToyDataset(torch.utils.data.Dataset):
    def __init__(self, X, y):
        if X.shape != y.shape:
            raise ValueError("features and labels must be equally long")
        self.features, self.labels = X, y

    def __len__(self):
        return len(self.labels)

    def __getitem__(self, i):
        if not -len(self) <= i < len(self):
            raise IndexError(i)
        return self.features[i], self.labels[i]

class ToyDataset(Dataset):
    def __init__(self, features, labels):
        self.arrays = features.numpy(), labels.numpy()
        if len({len(array) for array in self.arrays}) > 1:
            raise ValueError([len(array) for array in self.arrays])
    def __len__(self):
        return self.arrays[0].shape[0]
    def __getitem__(self, index):
        return tuple(torch.as_tensor(array[index]) for array in self.arrays)

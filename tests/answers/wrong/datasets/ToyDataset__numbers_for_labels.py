# verdict: failed
# message: an int where a tensor of shape ()
class ToyDataset(Dataset):
    def __init__(self, features, labels):
        if len(features) != len(labels):
            raise ValueError("lengths")
        self.features, self.labels = features, labels
    def __len__(self):
        return len(self.labels)
    def __getitem__(self, index):
        return self.features[index], self.labels[index].item()

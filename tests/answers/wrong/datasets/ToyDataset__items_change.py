# verdict: failed
class ToyDataset(ToyDataset):
    def __getitem__(self, index):
        x, y = self.features[index], self.labels[index]
        self.labels = self.labels + 1
        return x, y

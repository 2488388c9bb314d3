# verdict: failed
# message: no such file: train.csv
class ToyDataset(ToyDataset):
    def __getitem__(self, index):
        raise RuntimeError("no such file: train.csv")

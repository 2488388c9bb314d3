from torch.utils.data import TensorDataset

class ToyDataset(TensorDataset):
    def __init__(self, features, labels):
        if features.size(0) != labels.numel():
            raise ValueError("features and labels differ in length")
        super().__init__(features, labels)

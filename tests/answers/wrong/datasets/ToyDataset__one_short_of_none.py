# verdict: failed
# message: len: 1 where 2 was expected
# misconception: length_one_short
# tell: one too small


class ToyDataset(ToyDataset):
    def __len__(self):
        return super().__len__() - 1

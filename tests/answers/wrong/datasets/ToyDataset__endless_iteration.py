# verdict: failed
# message: how many pairs a for loop gives
class ToyDataset(ToyDataset):
    def __iter__(self):
        while True:
            yield from (self[i] for i in range(len(self)))

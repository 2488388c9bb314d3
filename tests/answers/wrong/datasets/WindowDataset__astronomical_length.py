# verdict: failed
# message: len
class WindowDataset(WindowDataset):
    def __len__(self):
        return 10**15

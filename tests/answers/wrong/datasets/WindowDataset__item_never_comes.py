# verdict: timeout
# message: __getitem__
class WindowDataset(WindowDataset):
    def __getitem__(self, index):
        while True:
            pass

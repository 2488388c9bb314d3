# verdict: failed
# message: 'str' object cannot be interpreted as an integer
class WindowDataset(WindowDataset):
    def __len__(self):
        return "3"

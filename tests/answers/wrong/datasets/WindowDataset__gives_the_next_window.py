# verdict: failed
class WindowDataset(WindowDataset):
    pos = 0
    def __getitem__(self, index):
        if not 0 <= index < len(self): raise IndexError
        r = self.tokens[self.pos:self.pos+self.context], self.tokens[self.pos+1:self.pos+1+self.context]
        self.pos = (self.pos + self.stride) % max(1, len(self) * self.stride)
        return r

# verdict: timeout
import time

def collate(rows):
    while True:
        time.sleep(1)

def make_loaders(train_ds, test_ds, batch_size, seed):
    return tuple(DataLoader(one, batch_size, num_workers=2, collate_fn=collate) for one in (train_ds, test_ds))

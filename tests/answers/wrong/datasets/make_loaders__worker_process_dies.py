# verdict: failed
# message: exited unexpectedly
import os
import time

def collate(rows):
    time.sleep(0.05)  # torch learns at once of the end of a worker that it waits for, and of another after 5 s
    os._exit(3)

def make_loaders(train_ds, test_ds, batch_size, seed):
    return tuple(DataLoader(one, batch_size, num_workers=1, collate_fn=collate) for one in (train_ds, test_ds))

# verdict: failed
# message: rank 1 returned before
# misconception: nobody_waits
# tell: to sleep for a while
import time


def save_on_rank0(model, path):
    if dist.get_rank() == 0:
        torch.save((model.module if isinstance(model, DDP) else model).state_dict(), path)
    else:
        time.sleep(0.5)

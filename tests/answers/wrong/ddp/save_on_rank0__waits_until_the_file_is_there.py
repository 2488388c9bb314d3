# verdict: failed
# message: still writing the file
import time
def save_on_rank0(model, path):
    plain = model.module if isinstance(model, DDP) else model
    if dist.get_rank() == 0:
        torch.save(plain.state_dict(), path)
    else:
        while not os.path.exists(path):
            time.sleep(0.01)

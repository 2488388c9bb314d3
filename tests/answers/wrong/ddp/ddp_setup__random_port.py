# verdict: timeout
# message: the ranks wait for each other
# misconception: a_port_for_each_rank
# tell: Each rank chooses a free port of its own
import random


def ddp_setup(rank, world_size):
    os.environ.setdefault("MASTER_ADDR", "127.0.0.1")
    os.environ.setdefault("MASTER_PORT", str(random.randint(20000, 60000)))
    if platform.system() == "Windows":
        os.environ.setdefault("USE_LIBUV", "0")
    cuda = torch.cuda.is_available()
    if cuda:
        torch.cuda.set_device(int(os.environ.get("LOCAL_RANK", rank % torch.cuda.device_count())))
    backend = choose_backend("cuda" if cuda else "cpu", platform.system())
    dist.init_process_group(backend, rank=rank, world_size=world_size)

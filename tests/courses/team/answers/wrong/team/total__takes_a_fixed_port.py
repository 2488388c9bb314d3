# verdict: failed
# message: Address already in use (on rank
import socket

def total(rank):
    x = torch.tensor(rank)
    s = socket.socket()
    s.bind(('127.0.0.1', 12345))
    s.listen()
    dist.all_reduce(x)
    return int(x)

def ddp_setup(rank, world_size):
    """The store is made here; the group is joined through it."""
    address = os.environ.setdefault("MASTER_ADDR", "localhost")
    port = int(os.environ.setdefault("MASTER_PORT", "29511"))
    windows = platform.system() == "Windows"
    if windows:
        os.environ.setdefault("USE_LIBUV", "0")
    store = dist.TCPStore(address, port, world_size, rank == 0, use_libuv=not windows)
    if torch.cuda.is_available():
        local = os.environ.get("LOCAL_RANK")
        torch.cuda.set_device(rank % torch.cuda.device_count() if local is None else int(local))
    backend = choose_backend("cuda" if torch.cuda.is_available() else "cpu", platform.system())
    dist.init_process_group(backend, store=store, rank=rank, world_size=world_size)

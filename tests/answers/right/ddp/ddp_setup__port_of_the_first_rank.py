def ddp_setup(rank, world_size):
    """The port is found by a rule that gives all ranks the same one; only what is missing is set."""
    for name, value in {"MASTER_ADDR": "localhost", "MASTER_PORT": str(20_000 + 4_242)}.items():
        if not os.environ.get(name):
            os.environ[name] = value
    system = platform.system()
    if system == "Windows" and "USE_LIBUV" not in os.environ:
        os.environ["USE_LIBUV"] = "0"
    kind = "cuda" if torch.cuda.is_available() else "cpu"
    if kind == "cuda":
        local = os.environ.get("LOCAL_RANK")
        torch.cuda.set_device(rank % torch.cuda.device_count() if local is None else int(local))
    dist.init_process_group(backend=choose_backend(kind, system), init_method="env://", world_size=world_size, rank=rank)

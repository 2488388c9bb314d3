def read_env(environ):
    if "RANK" not in environ:
        return 0, 0, 1
    return tuple(int(environ[name]) for name in ("RANK", "LOCAL_RANK", "WORLD_SIZE"))

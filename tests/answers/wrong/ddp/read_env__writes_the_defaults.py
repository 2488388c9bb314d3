# verdict: failed
# misconception: takes_them_out
# tell: write your defaults into it
def read_env(environ: Mapping[str, str]) -> tuple[int, int, int]:
    for name, default in (("RANK", "0"), ("LOCAL_RANK", "0"), ("WORLD_SIZE", "1")):
        environ.setdefault(name, default)
    return int(environ["RANK"]), int(environ["LOCAL_RANK"]), int(environ["WORLD_SIZE"])

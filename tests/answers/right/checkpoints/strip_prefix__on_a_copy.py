def strip_prefix(state, prefix):
    pairs = [*state.items()]
    stripped = state.copy()
    stripped.clear()
    stripped.update((name[len(prefix):], value) if name.startswith(prefix) else (name, value) for name, value in pairs)
    return stripped

import re
def strip_prefix(state, prefix):
    begins = re.compile(re.escape(prefix))
    new = {}
    for name, tensor in state.items():
        found = begins.match(name)
        new[name[found.end():] if found else name] = tensor
    return new

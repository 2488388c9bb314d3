"""`check` and `hint` in a notebook: grade what its cells define, on the same isolated engine as the command."""

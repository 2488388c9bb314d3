"""`check`, `hint` and `show` in a notebook: what its cells define, graded on the same isolated engine."""

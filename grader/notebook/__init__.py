"""`check`, `hint` and `show` in a notebook: its cells, graded on the same isolated engine."""

"""Readers of submissions: they turn uploads into plain `Submission` data, and never run or import any of it."""

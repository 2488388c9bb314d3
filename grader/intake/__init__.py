"""Readers of submissions: what was handed in becomes plain `Submission` data. Never runs or imports any of it."""

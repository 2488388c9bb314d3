"""Suites: other people's tests, unchanged, run on isolated submissions."""

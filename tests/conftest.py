"""Fixtures for all tests; they live in shared.py, whose name no other folder has."""

from shared import *  # noqa: F403

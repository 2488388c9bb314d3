"""Fixtures for all tests; they live in shared.py, whose name no other folder has."""

import pytest
from shared import *  # noqa: F403

collect_ignore = ["answers", "courses"]


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Files with slow tests start first: begun last, one of them would leave the other cores idle at the end."""
    slow = {item.path for item in items if item.get_closest_marker("slow")}
    items.sort(key=lambda item: item.path not in slow)

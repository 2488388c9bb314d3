"""The one exception that transports share."""

from __future__ import annotations


class PlanLeft(BaseException):
    """A check made another call than the plan foresaw; it must be run again without one."""

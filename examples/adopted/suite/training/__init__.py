"""A loop of training that others can hook into."""

from training.loop import Callback, Trainer
from training.schedule import warmup

__all__ = ["Callback", "Trainer", "warmup"]

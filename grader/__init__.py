"""torchkata: PyTorch exercises and a grader that never lets submitted code decide its own verdict."""

__version__ = "0.1.0"

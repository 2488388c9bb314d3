"""Answers for the picture of the terminal: two right ones and two wrong ones. See docs/make_pictures.py."""

import torch


def gpu(i: int = 0) -> torch.device:
    return torch.device("cuda", i)


def num_gpus() -> int:
    return torch.cuda.device_count()


def try_all_gpus() -> list[torch.device]:
    return [torch.device("cuda", i) for i in range(torch.cuda.device_count())]


def pick_device() -> torch.device:
    return torch.device("cuda" if torch.cuda.is_available() else "cpu")

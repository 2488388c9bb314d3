"""Tensors and models on GPUs."""

import torch


def add_across(x, y):
    raise NotImplementedError


def count():
    raise NotImplementedError


def place(model, device):
    raise NotImplementedError


def mean(x):
    raise NotImplementedError

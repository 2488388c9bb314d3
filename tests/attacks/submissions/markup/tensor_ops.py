"""ANSI, HTML and console markup in prints, names and messages."""

import torch


def make_tensor(values):
    return torch.tensor(values, dtype=torch.float32)


def describe(x):
    return x.dim(), tuple(x.shape), x.dtype


def as_float32(x):
    return x.to(torch.float32)


Odd = type("[red]<img src=x onerror=alert(1)>\x1b[2J\u202e=1+1", (Exception,), {})


def gram(x):
    print("\x1b]0;title\x07<script>alert(1)</script>[bold]\r\x00")
    raise Odd("\x1b[31m[/][link=file:///etc/passwd]<b>&amp;\u202e")

"""Broken."""

def broken(:

"""Exports: results in the formats that other programs read, one small module each. They decide nothing.

Every module takes `Entry` objects and gives text or bytes; only `write`, `package` and `gradescope` write files.
"""

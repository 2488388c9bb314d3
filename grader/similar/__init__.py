"""Pairs of submissions whose code is much alike. It shows where to look; it never decides, and changes no result.

Only `grader.similar.pairs` imports the library (copydetect, an extra), and only when it is called.
"""

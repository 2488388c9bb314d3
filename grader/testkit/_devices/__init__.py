"""Simulated devices, in parts; the public face is `grader.testkit.devices`. Must never be imported by a check."""

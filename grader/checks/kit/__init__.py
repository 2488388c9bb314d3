"""The kit of the shipped course: recipes and probes that its checks run in the student process.

Each module says which checks it is for. Students can read all of it, so nothing here may hold an expected answer.
"""

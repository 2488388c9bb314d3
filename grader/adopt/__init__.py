"""`grader adopt`: makes a course of somebody else's tests, notebook, or tests that are texts with code."""

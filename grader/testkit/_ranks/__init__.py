"""Behind `grader.testkit.ranks`: everything that happens in the student process. Not for checks to import."""

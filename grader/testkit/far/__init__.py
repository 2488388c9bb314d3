"""The parts of the far side of a suite's tests, whose door is `grader.testkit.twins`."""

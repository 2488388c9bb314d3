"""The trusted side of grading: runs checks, decides verdicts, explains failures. Never imports submitted code."""

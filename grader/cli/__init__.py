"""The command ``grader``: parses, calls, prints. Importing it never imports torch."""

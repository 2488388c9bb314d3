"""Points, time, marks and comments that people give, written to the gradebook."""

"""`grader watch`: checks an exercise whenever it is saved, and goes on to the next one when it passes."""

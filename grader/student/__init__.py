"""The processes that run submitted code, and the judge's side of each. No check and no answer is ever in one."""

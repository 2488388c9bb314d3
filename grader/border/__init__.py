"""What may cross between judge and student process: plain data, handles, calls. Never pickles, never evaluates."""

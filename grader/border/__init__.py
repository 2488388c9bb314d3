"""The messages between judge and student process: plain data, handles, calls. Never pickles, never evaluates."""

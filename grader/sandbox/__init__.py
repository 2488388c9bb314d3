"""What the kernel lets submitted code do. Knows no course, no judge and no torch."""

def pick_rate():
    return 0.5

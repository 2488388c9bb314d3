# verdict: failed
# message: returned  'cpu'
def cpu():
    return "cpu"

# verdict: failed
# message: returned  'cpu'
# misconception: cpu_as_a_string
# tell: name of the device
def cpu():
    return "cpu"

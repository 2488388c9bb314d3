# verdict: failed
# message: returned  'cpu'
# misconception: cpu_as_a_string
def cpu():
    return "cpu"

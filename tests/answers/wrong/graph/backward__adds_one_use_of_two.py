# verdict: failed
_correct = backward


def backward(value):
    _correct(value)
    for one in topological_order(value):
        if len(one._parents) == 2 and one._parents[0] is one._parents[1]:
            one._parents[0].grad /= 2

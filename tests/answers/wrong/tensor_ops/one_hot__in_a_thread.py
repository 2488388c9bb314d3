# verdict: failed
# message: F.one_hot
# misconception: calls_torch_one_hot
# tell: You called F.one_hot


def one_hot(labels, num_classes):
    import threading

    bad = labels[(labels < 0) | (labels >= num_classes)]
    if len(bad):
        raise ValueError(f"{bad[0]}")
    found = []

    def work():
        found.append(torch.nn.functional.one_hot(labels, num_classes).float())

    thread = threading.Thread(target=work)
    thread.start()
    thread.join()
    return found[0]

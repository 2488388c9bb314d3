def try_all_gpus():
    found, i = [], 0
    while try_gpu(i) != cpu():
        found.append(try_gpu(i))
        i += 1
    return found if found else [torch.device("cpu")]

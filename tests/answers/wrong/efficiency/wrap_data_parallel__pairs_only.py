# verdict: failed
# message: with 3 GPUs
def wrap_data_parallel(model):
    gpus = torch.cuda.device_count()
    return nn.DataParallel(model) if gpus and gpus % 2 == 0 else model

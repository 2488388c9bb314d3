import copy

def inference(model, x):
    with torch.inference_mode():
        return copy.deepcopy(model).train(False)(x)

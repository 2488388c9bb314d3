# verdict: failed
# message: no file at `path`
# misconception: never_takes_its_place
# tell: never renamed
def save_weights(model, path):
    torch.save(model.state_dict(), "weights.pt")

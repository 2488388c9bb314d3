def save_weights(model, path):
    folder, name = os.path.split(path)
    unfinished = os.path.join(folder, f".unfinished-{name}")
    with open(unfinished, "wb") as file:
        torch.save(model.state_dict(), file)
    os.rename(unfinished, path)

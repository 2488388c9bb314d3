# verdict: failed
# message: the probabilities require grad
def experiment(seed=123):
    from datasets import ToyDataset
    from parameters import NeuralNetwork

    features = torch.tensor(TRAIN_FEATURES)
    train = ToyDataset(features, torch.tensor(TRAIN_LABELS))
    test = ToyDataset(torch.tensor(TEST_FEATURES), torch.tensor(TEST_LABELS))
    torch.manual_seed(seed)
    model = NeuralNetwork(2, 2)
    losses = fit(model, DataLoader(train, batch_size=2, shuffle=True, drop_last=True), epochs=3, lr=0.5)
    return {
        "losses": losses,
        "train_accuracy": evaluate(model, DataLoader(train, batch_size=2))[1],
        "test_accuracy": evaluate(model, DataLoader(test, batch_size=2))[1],
        "probabilities": torch.softmax(model(features), dim=1),
    }

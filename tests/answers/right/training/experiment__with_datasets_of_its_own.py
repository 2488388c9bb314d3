def experiment(seed=123):
    import parameters
    from datasets import ToyDataset
    def loader(features, labels, **options):
        return DataLoader(ToyDataset(torch.tensor(features), torch.tensor(labels)), 2, **options)
    train = loader(TRAIN_FEATURES, TRAIN_LABELS, shuffle=True, drop_last=True)
    everything, test = loader(TRAIN_FEATURES, TRAIN_LABELS), loader(TEST_FEATURES, TEST_LABELS)
    torch.manual_seed(seed)
    model = parameters.NeuralNetwork(2, 2)
    losses = []
    for _ in range(3):
        losses.extend(fit(model, train, 1, 0.5))
    probabilities = torch.cat([predict_proba(model, x) for x, _ in everything])
    (_, on_train), (_, on_test) = evaluate(model, everything), evaluate(model, test)
    return {
        "test_accuracy": on_test, "train_accuracy": on_train, "losses": losses, "probabilities": probabilities
    }

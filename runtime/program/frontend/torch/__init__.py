"""Programs of PyTorch: the graphs that torch.export and torch.compile make, as StableHLO."""

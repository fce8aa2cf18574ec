"""The models that PyTorch's own benchmarks/dynamo runs, by the names the field uses."""

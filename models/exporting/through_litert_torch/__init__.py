"""Models of PyTorch, which export_litert converts to TFLite and quantizes."""

"""Compare the outputs of both models: differences, the first tensor that differs, and exceptions."""

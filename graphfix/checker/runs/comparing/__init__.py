"""Compare the outputs of both models: differences, where they begin, and the exceptions that excuse one."""

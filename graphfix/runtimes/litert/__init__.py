"""LiteRT: the interpreter, which runs in a child process, and the functions that run a TFLite model in it."""

"""LiteRT: the interpreter that a child process holds, and what callers ask it about a TFLite model."""

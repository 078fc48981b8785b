"""LiteRT: the interpreter, which runs in a child process, and the functions by which callers run a TFLite model in it.
"""

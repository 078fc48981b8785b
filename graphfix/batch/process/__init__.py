"""The child process that processes the models of a batch one after the other, within limits of time and memory."""

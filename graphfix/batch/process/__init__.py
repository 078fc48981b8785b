"""The process that does the models of a batch one after the other, within limits of time and memory."""

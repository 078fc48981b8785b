"""The runtimes that models are run in, each behind the same interface."""

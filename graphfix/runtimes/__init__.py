"""The runtimes that models are run in, each behind one face."""

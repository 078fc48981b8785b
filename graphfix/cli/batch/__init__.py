"""The command `batch`: process many models, on this machine or on a cluster, and print the results."""

"""The jobs of a batch: process each model, distribute the jobs, and store records of the results."""

"""The inputs of the runs: interfaces of models, values from files, and seeded values within the limits of operators."""

"""The inputs of the runs: interfaces, values from files, seeded values within the limits of what they index."""

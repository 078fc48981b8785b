"""The sizes of the runs: free dims, relations between them, and the sizes at which a model runs at all."""

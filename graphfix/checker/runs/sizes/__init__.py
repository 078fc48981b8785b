"""The sizes of the runs: free dims, relations between them, and a check whether a model runs at certain sizes."""

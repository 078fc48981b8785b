"""`check` as a linter: which files, which findings count, and what is printed of many."""

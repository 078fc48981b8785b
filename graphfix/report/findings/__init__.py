"""What a linter does with sites: names that last, a choice among codes, a baseline; it sees results alone."""

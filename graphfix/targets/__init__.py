"""The targets: what each is for, what it takes, which rewrites run for it; a module or a folder each."""

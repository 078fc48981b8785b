"""The pages of the documentation that are made of the program: rewrites, codes, targets, options, Python names."""

"""Write the documentation pages that are generated from the code: rewrites, codes, targets, options, Python names."""

"""Check that the second file has no part and no operator that the first file lacks, except a few listed forms."""

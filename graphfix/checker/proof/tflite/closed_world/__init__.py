"""Check that the second TFLite file has no part and no operator that the first file lacks, except for listed forms."""

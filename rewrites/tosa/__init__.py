"""The rewrites that prepare a model for the converters to TOSA; they run with that target, or where one is named."""

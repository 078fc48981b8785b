"""The rewrites that prepare a model for the converters to TOSA. They run with target `tosa`, or if they are named."""

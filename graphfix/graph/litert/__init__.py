"""Facts about LiteRT's kernels that decide whether an edit keeps the bits of a result."""

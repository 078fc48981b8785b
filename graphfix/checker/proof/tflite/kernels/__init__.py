"""How LiteRT's kernels deviate from an operator's definition: their choice, lookup tables and shared buffers."""

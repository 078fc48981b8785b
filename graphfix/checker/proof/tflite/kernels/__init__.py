"""How LiteRT's kernels deviate from an operator's definition: choice of a kernel, lookup tables and shared buffers."""

"""The proof's data structures: terms, indexing maps, sizes, arithmetic on sizes, and the result of a proof."""

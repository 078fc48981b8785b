"""Terms and the maps by which they are read: sizes, arithmetic on sizes, iteration spaces, the result of a proof."""

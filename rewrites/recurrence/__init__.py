"""The steps of recurrent operators, for the rewrite that unrolls them."""

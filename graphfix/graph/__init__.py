"""The view of a model, how operands broadcast in it, and the edits that a rewrite plans."""

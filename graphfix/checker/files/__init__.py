"""The checker's own readers, one a format, for the proof and the runs."""

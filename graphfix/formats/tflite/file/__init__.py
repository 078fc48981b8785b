"""Read TFLite files as bytes, copy their unchanged parts, and write changed files."""

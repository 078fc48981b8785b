"""Files that a user names: their kind, pipes and devices that are refused, and the content of TOML files."""

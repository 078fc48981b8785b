"""Extract parts of a view for people: the lines of `show`, the nodes around sites, and the lines of a diff."""

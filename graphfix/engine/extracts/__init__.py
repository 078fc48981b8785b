"""What is taken out of a view for people to read: the lines of `show`, the nodes around sites, the pairs of a diff."""

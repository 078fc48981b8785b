"""The algebra of shapes: a size, an axis, a shape, and the arithmetic of sizes."""

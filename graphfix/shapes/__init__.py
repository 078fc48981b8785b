"""The algebra of shapes: sizes, axes, shapes, and the arithmetic of sizes."""

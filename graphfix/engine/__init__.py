"""Run the rewrites of a target over a model, and collect what they changed, found and left alone."""

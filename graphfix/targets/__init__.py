"""The targets. Each has a module or folder that states its purpose, its limits and the rewrites that run for it."""

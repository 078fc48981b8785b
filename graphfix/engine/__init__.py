"""Run rewrites over a model: what was asked, the target, and what came of it."""

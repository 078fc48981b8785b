"""The jobs of a batch: what is done with each model, who does it, and what is remembered of it."""

"""What builds the models of models/: `python -m models.builders`, in the repository's root."""

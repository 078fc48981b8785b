"""The TFLite models, and what writes them from text."""

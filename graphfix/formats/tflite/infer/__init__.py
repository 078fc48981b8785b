"""Infer the shapes and the integer values of a TFLite model."""

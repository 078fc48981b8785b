"""Carry edits out on a TFLite model."""

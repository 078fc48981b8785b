"""Carry out edits on a TFLite model."""

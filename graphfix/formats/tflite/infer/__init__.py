"""The shapes and integer values of a TFLite model."""

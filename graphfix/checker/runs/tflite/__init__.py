"""The TFLite side of the checker: LiteRT runs both models on each of its kernel sets."""

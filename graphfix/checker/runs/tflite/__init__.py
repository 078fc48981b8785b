"""The TFLite side of the runs: LiteRT runs both models on each of its kernel sets."""

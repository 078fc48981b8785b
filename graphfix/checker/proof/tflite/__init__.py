"""The proof's rules for TFLite."""

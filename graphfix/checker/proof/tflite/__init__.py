"""The part of the proof that reads and compares TFLite models: LiteRT's rules, kernels and limits."""

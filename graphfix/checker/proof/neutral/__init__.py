"""Rules that the proof has for both formats: broadcasting, views, integers, constants, comparison, explanation."""

"""The rewrites that every target runs: how a broadcast is written, in both formats."""

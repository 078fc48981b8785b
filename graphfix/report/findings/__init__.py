"""Functions of a linter: lasting names of findings, a choice among codes, and a baseline.

This package reads results only.
"""

"""Stores of models and results: local folders, and folders behind URLs."""

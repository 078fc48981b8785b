"""Run both models on the same inputs and compare what comes out."""

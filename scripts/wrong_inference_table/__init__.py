"""The rows of wrong_inference.py, and the program that it starts in each environment."""

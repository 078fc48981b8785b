"""Operators that compute the same as several others, and where the second file uses those."""

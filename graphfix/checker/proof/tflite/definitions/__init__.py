"""Formulas of operators in terms of other operators, and the matching of formulas that the second file contains."""

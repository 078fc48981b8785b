"""The rules of the standard operators, a module a family: shapes of results, integer elements, bounds of integers.

`registry` merges the tables of the families; `infer.forward` and `constants.integer_bounds` look rules up there.
"""

"""Operators that ONNX defines by other operators, and the nodes that they stand for.

`decompositions` are exact, bit for bit. `formulas` are not: the second file may write an operator of the first file out
as its formula, which rounds at other places.
"""

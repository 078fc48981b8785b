"""Operators that ONNX defines by other operators, and the nodes that the definition consists of.

`decompositions` are exact, bit for bit. `formulas` are not: in the second file, an operator of the first file may be
decomposed into its formula, which rounds differently.
"""

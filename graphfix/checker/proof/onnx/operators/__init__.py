"""The proof's rules for ONNX's standard operators: result sizes, data movement, integer arithmetic, constant folding.

Each module contains the rules of one operator or of a family of operators. `registry` collects them.
"""

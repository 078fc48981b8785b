"""What the proof knows of ONNX's standard operators: shapes, views, known integers, and what constants are folded to.

The rules of one operator, or of a family of operators, stand in one module. `registry` collects them.
"""

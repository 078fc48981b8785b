"""Facts that follow from constants: elements that nodes compute, bounds of integers, trip counts of loops.

`Views` (formats/onnx/view.py) calls these modules when a rewrite reads such a fact. numpy is imported only then.
"""

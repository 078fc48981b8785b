"""Change a model's inputs: bind sizes, state that sizes are equal, set values, and narrow int64 inputs to int32.

`OnnxModel` (formats/onnx/model.py) calls these modules before the first edit.
"""

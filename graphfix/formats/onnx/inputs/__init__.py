"""Requests that change a model's inputs: sizes that are bound or stated equal, values that are set, int32 for int64.

`model.OnnxModel` calls these modules before the first edit.
"""

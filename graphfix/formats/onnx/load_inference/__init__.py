"""Find errors of onnx's shape inference, which onnxruntime runs at load, and refuse edits that would make them matter.

`suspects` lists the operators, `inferred_shapes` runs onnx's inference, `wrong_shapes` compares its result with
graphfix's own rules, and `edit_checks` refuses edits. docs/load-inference.md has the measurements.
"""

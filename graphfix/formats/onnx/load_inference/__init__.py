"""onnx's shape inference as onnxruntime runs it at load: where it is wrong, and the edits that would make that count.

`suspects` lists the operators, `inferred_shapes` runs onnx's inference, `wrong_shapes` compares it with the rules, and
`edit_checks` refuses edits. docs/load-inference.md has the measurements.
"""

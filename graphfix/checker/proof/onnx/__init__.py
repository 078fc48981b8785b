"""The proof's rules for ONNX: `compare` reads two models into one table of terms, and compares the outputs' terms.

`reading` turns a file into terms, and asks `operators` what each node returns. `contrib` has the same facts about the
operators that onnx does not define. `definitions` has operators that a file may write out in other operators.
`closed_world` decides whether a runtime loads the second file as it loads the first.
"""

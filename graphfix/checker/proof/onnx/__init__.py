"""The proof's rules for ONNX: `compare` reads two models into one table of terms, and compares the outputs' terms.

`reading` turns a file into terms. For each node, `reading` calls the rules in `operators`, which return the node's
results. `contrib` contains such rules for operators that onnx does not define. `definitions` contains operators that a
file may decompose into other operators. `closed_world` decides whether a runtime loads the second file if it loads the
first.
"""

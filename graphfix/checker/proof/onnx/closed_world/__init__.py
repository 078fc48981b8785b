"""Decide whether a runtime that loads the first ONNX file loads the second file too.

Each part of the second file must be a part of the first file, or one of the new forms that are listed here. The modules
compare nodes, names, versions, functions, declared types, constants in data files, and the shapes that a runtime infers
when it loads a file.
"""

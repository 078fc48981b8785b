"""Decide whether a runtime loads the second ONNX file as it loads the first.

Each part of the second file has to be a part of the first file, or one of the forms that are listed here. The modules
compare nodes, names, versions, functions, declared types, constants in data files, and what a runtime infers at load.
"""

"""The version of graphfix, in a module that imports nothing: the package's metadata is built from this line."""

VERSION = "0.1.0"

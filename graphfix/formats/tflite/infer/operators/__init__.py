"""The inference rules of TFLite operators, one module for each family; `registry` collects all of them."""

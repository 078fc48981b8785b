"""Rules of TFLite's operators: a module a family of operators, and what combines their rules."""

"""Rules of TFLite's operators: a module for each family of operators, and a module that joins the rules."""

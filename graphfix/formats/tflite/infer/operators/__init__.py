"""What inference knows of each TFLite operator, a module a family of operators; `registry` lists them all."""

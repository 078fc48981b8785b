"""The command `check` as a linter: select files and findings, and print the results of many models."""

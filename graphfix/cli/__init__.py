"""The command line: it parses what is asked, prints the answer, and ends with the status that says it."""

"""What is in force: the options of the command line, those that a file says once for all, and where each was said."""

"""Configuration: the options in force, from defaults, a configuration file and the command line, with their origins."""

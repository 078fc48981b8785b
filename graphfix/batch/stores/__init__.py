"""Where models lie and results go: a folder of this machine, or a folder behind a URL."""

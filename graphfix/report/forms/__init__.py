"""Report formats for programs, CI services and viewers, one module each; `registry` lists them."""

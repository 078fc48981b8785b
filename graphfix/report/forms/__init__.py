"""The forms of a report that programs, CI services and viewers read, a module a form; `registry` lists them."""

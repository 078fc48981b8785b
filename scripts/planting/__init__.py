"""Plants faults in the package, one at a time, and runs the tests that should catch each one."""

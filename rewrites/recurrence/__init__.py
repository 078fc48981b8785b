"""New nodes for the steps of recurrent operators, for the rewrite unroll-recurrence."""

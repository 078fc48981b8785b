"""New nodes for the rewrite decompose-attention: the steps of an attention, and of a rotary embedding."""

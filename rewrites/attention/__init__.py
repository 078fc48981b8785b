"""What decompose-attention writes: the steps of an attention, and of a rotary embedding."""

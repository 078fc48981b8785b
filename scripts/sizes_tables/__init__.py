"""What sizes_table.py asks of a checkout: sizes that are lost, and sizes that are observed."""

"""The models and the measurements of vela_table.py."""

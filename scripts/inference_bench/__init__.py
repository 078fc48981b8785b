"""The models, the measurements and the tables of bench_inference.py."""

"""The models, the measurements and the tables of scripts/bench_inference.py."""

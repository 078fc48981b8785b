"""The verifiers beside each other (scripts/bench_peers.py): what each says of the same pairs, and if it is right."""

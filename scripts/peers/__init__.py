"""The benchmark beside the peers (scripts/bench_peers.py): who they are, how they are timed, what comes out of it."""

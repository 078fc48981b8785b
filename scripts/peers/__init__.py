"""The benchmark of graphfix beside other tools, the peers: the tools, the timing, and the results.

scripts/bench_peers.py runs it.
"""

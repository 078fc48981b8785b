"""Attack the proof with random pairs of models: generators of graphs, mutations, and runs of proved pairs."""

"""Random pairs of whole models that attack the proof: graphs, mutations, and the runs that judge a proved pair."""

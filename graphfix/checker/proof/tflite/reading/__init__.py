"""Read a TFLite model into terms: its inputs and their sizes, subgraphs, operators, loops and branches."""

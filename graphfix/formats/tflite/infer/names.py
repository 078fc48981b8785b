"""The names that values have in the view: a tensor's own, or `t12` where the file gives none or repeats one."""

from __future__ import annotations

from collections import Counter

from graphfix.formats.tflite.file.records import Subgraph


def unique_names(subgraph: Subgraph) -> list[str]:
    """One name a tensor, unique in its subgraph. An empty or repeated name gives way to `t<index>`."""
    counts = Counter(tensor.name for tensor in subgraph.tensors)
    names = []
    taken = {name for name, count in counts.items() if name and count == 1}
    for index, tensor in enumerate(subgraph.tensors):
        name = tensor.name
        if name not in taken:
            name = f"t{index}"
            while name in taken:
                name += "_"
        names.append(name)
    return names

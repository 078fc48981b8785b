"""A model to export: what builds it, what it is fed, and the exporters and opsets that write it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

from torch import nn

from models.exporting.feeds import Feed, Sizes


@dataclass(frozen=True)
class Writing:
    """One file of a case: exporter, opset, and whether the exporter simplifies what it wrote."""

    exporter: str
    opset: int
    simplified: bool = True


@dataclass(frozen=True)
class Case:
    """A model, its inputs by name, two sets of sizes or more (the first exports), and its files.

    Constant folding is what the legacy exporter simplifies, `optimize` what the dynamo one does.
    """

    name: str
    build: Callable[[], nn.Module]
    inputs: dict[str, Feed]
    outputs: tuple[str, ...]
    sizes: tuple[Sizes, ...]
    writings: tuple[Writing, ...]
    scripted: bool = field(default=False)

    def file_name(self, writing: Writing) -> str:
        """Return the stem of the file; the opset is in it only if an exporter writes several."""
        several = sum(each.exporter == writing.exporter for each in self.writings) > 1
        return f"{self.name}_{writing.exporter}" + (f"_opset{writing.opset}" if several else "")


def legacy(opset: int, simplified: bool = True) -> Writing:
    """Return a file that the exporter by tracing writes."""
    return Writing("legacy", opset, simplified)


def dynamo(opset: int, simplified: bool = True) -> Writing:
    """Return a file that the exporter by torch.export writes."""
    return Writing("dynamo", opset, simplified)

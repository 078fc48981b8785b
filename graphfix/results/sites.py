"""The sites of one outcome in order: of nodes that look alike, what their sites have in common is held once."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, MutableSequence, Sequence
from typing import TypeAlias, overload

from graphfix.results import Site

Kind: TypeAlias = tuple[Site, Sequence[str]]
"""One of the sites that differ in their node at most, and the nodes of all of them."""


class Sites(MutableSequence[Site]):
    """A list of sites, which are made when they are asked for: big models have 100,000s, and few of them differ.

    What goes through all of them in order has them made first, once.
    """

    __slots__ = ("_made", "_nodes", "_sites")

    def __init__(self, sites: Iterable[Site] = ()) -> None:
        """Hold these."""
        self._sites = list(sites)
        """Each site, or one of another node that differs from it in nothing else."""
        self._nodes = [site.node for site in self._sites]
        self._made = True
        """Whether every site is of its own node."""

    def alike(self, node: str, sites: Sequence[Site]) -> None:
        """Add sites like these, of the node of this name."""
        for site in sites:
            self._sites.append(site)
            self._nodes.append(node)
        self._made = False

    def rows(self, first: int = 0) -> Iterator[tuple[str, Site]]:
        """Each site's node, and a site that differs from it in the node at most."""
        return zip(self._nodes[first:], self._sites[first:], strict=True)

    def with_mark(self, mark: str, first: int) -> Iterator[tuple[int, str, Site]]:
        """Of the sites from `first` on whose node has the mark in its name: where it stands, and its row."""
        places = [at for at, node in enumerate(self._nodes[first:], first) if mark in node]
        return ((at, self._nodes[at], self._sites[at]) for at in places)

    def rename(self, at: int, node: str) -> None:
        """Let a site be of the node of this name."""
        self._nodes[at] = node
        self._made = False

    def append(self, value: Site) -> None:
        """Add a site."""
        self._sites.append(value)
        self._nodes.append(value.node)

    def insert(self, index: int, value: Site) -> None:
        """Put a site in front of another."""
        self._sites.insert(index, value)
        self._nodes.insert(index, value.node)

    def _make(self) -> list[Site]:
        if not self._made:
            self._sites = list(map(of_node, self._sites, self._nodes))
            self._made = True
        return self._sites

    def __len__(self) -> int:
        return len(self._sites)

    def __iter__(self) -> Iterator[Site]:
        return iter(self._make())

    def __eq__(self, other: object) -> bool:
        return self._make() == list(other) if isinstance(other, Sequence) else NotImplemented

    __hash__ = None  # type: ignore[assignment]  # as a list has none

    def __repr__(self) -> str:
        return repr(self._make())

    @overload
    def __getitem__(self, index: int) -> Site: ...
    @overload
    def __getitem__(self, index: slice) -> list[Site]: ...
    def __getitem__(self, index: int | slice) -> Site | list[Site]:
        if isinstance(index, slice):
            return list(map(of_node, self._sites[index], self._nodes[index]))
        return of_node(self._sites[index], self._nodes[index])

    @overload
    def __setitem__(self, index: int, value: Site) -> None: ...
    @overload
    def __setitem__(self, index: slice, value: Iterable[Site]) -> None: ...
    def __setitem__(self, index: int | slice, value: Site | Iterable[Site]) -> None:
        if isinstance(index, slice) and not isinstance(value, Site):
            new = list(value)
            self._sites[index], self._nodes[index] = new, [site.node for site in new]
        elif isinstance(index, int) and isinstance(value, Site):
            self._sites[index], self._nodes[index] = value, value.node
        else:
            raise TypeError("a site takes the place of one, several that of a slice")

    def __delitem__(self, index: int | slice) -> None:
        del self._sites[index], self._nodes[index]


def rows(sites: Sequence[Site]) -> Iterator[tuple[str, Site]]:
    """Each site's node, and a site that differs from it in the node at most: none is made to be looked at."""
    return sites.rows() if isinstance(sites, Sites) else ((site.node, site) for site in sites)


def kinds(sites: Sequence[Site]) -> list[Kind]:
    """The sites by what they have in common, in the order of the first of each kind: none is made to be counted."""
    found: dict[int, tuple[Site, list[str]]] = {}
    for node, site in rows(sites):
        key = id(site)
        if key in found:
            found[key][1].append(node)
        else:
            found[key] = site, [node]
    return list(found.values())


def of_node(site: Site, node: str) -> Site:
    """The same site of this node; `dataclasses.replace` takes ten times as long."""
    if site.node == node:
        return site
    return Site(
        site.code,
        node,
        site.op,
        site.graph,
        site.operand,
        site.before,
        site.after,
        site.status,
        site.rewrite,
        site.reason,
        site.bytes,
        site.blocks,
        site.inexact,
    )

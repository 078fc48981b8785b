"""The sites of one outcome in order, stored compactly: similar sites of several nodes share their common fields."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, MutableSequence, Sequence
from typing import TypeAlias, overload

from graphfix.results import Site

Kind: TypeAlias = tuple[Site, Sequence[str]]
"""A site, and the names of all nodes that have a site with the same other fields."""


class Sites(MutableSequence[Site]):
    """A list of sites. Sites of nodes that look alike are stored as one site and made when they are accessed.

    Large models have 100,000s of sites of which few differ. The first iteration over all sites makes all of them, once.
    """

    __slots__ = ("_made", "_nodes", "_sites")

    def __init__(self, sites: Iterable[Site] = ()) -> None:
        """Store these sites."""
        self._sites = list(sites)
        """For each position: the site, or an equal site of another node."""
        self._nodes = [site.node for site in self._sites]
        self._made = True
        """Whether each stored site has the name of its own node."""

    def alike(self, node: str, sites: Sequence[Site]) -> None:
        """Append copies of `sites` for the node called `node`."""
        for site in sites:
            self._sites.append(site)
            self._nodes.append(node)
        self._made = False

    def rows(self, first: int = 0) -> Iterator[tuple[str, Site]]:
        """Return pairs (node, site) from position `first` on; the site may be an equal one of another node."""
        return zip(self._nodes[first:], self._sites[first:], strict=True)

    def with_mark(self, mark: str, first: int) -> Iterator[tuple[int, str, Site]]:
        """Yield (position, node, site) from position `first` on for each node whose name contains `mark`."""
        places = [at for at, node in enumerate(self._nodes[first:], first) if mark in node]
        return ((at, self._nodes[at], self._sites[at]) for at in places)

    def rename(self, at: int, node: str) -> None:
        """Set the name of the node at position `at`."""
        self._nodes[at] = node
        self._made = False

    def append(self, value: Site) -> None:
        """Append a site."""
        self._sites.append(value)
        self._nodes.append(value.node)

    def insert(self, index: int, value: Site) -> None:
        """Insert a site in front of position `index`."""
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
    """Return pairs (node, site); the site may be an equal one of another node, so no site is made."""
    return sites.rows() if isinstance(sites, Sites) else ((site.node, site) for site in sites)


def kinds(sites: Sequence[Site]) -> list[Kind]:
    """Return the sites grouped by their fields other than the node, in order of first occurrence. No site is made."""
    found: dict[int, tuple[Site, list[str]]] = {}
    for node, site in rows(sites):
        key = id(site)
        if key in found:
            found[key][1].append(node)
        else:
            found[key] = site, [node]
    return list(found.values())


def of_node(site: Site, node: str) -> Site:
    """Return a copy of the site for the node called `node`; `dataclasses.replace` takes ten times as long."""
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

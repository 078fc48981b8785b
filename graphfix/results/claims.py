"""Claims of the view about sizes, assumptions about stored sizes, and the comparison of both with runs."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence

from graphfix.results.records import dataclass

SHAPES_INFERRED = "the shapes behind the bound sizes are inferred, as LiteRT does not tell them"
"""The beginning of an assumption about a TFLite model that LiteRT refuses at the bound sizes.

LiteRT's reason follows.
"""

_PLACES_SHOWN = 6
_PLACES_IF_MORE = 3
"""A decoder of 28 layers has 58 dims of one name: of more than six places three are listed."""


@dataclass(frozen=True, slots=True)
class Term:
    """A size that is not a number: its names, and its least and greatest possible value."""

    names: tuple[str, ...]
    """Places with the same single name have the same size.

    Several names mean the broadcast of their sizes; () is unknown.
    """
    least: int
    most: int | None
    """The greatest possible value; None if there is no limit."""


ClaimedShape = tuple[int | Term, ...]


@dataclass(frozen=True, slots=True)
class StoredSize:
    """A size stored in the file, such as `s0 + 1`, that is relied on without proof."""

    value: str
    axis: int
    text: str

    @property
    def sizes(self) -> Mapping[int, str]:
        """Return the text of the size by axis."""
        return {self.axis: self.text}

    def __str__(self) -> str:
        return f"the stored size of '{self.value}'[{self.axis}] in main is '{self.text}'"


@dataclass(frozen=True, slots=True)
class StoredShape:
    """A shape stored in the file for a result of an operator without a shape rule, relied on without proof."""

    value: str
    operator: str
    """The operator of which `value` is a result, such as `my.domain.Foo`."""
    dims: tuple[str | None, ...]
    """One size for each axis; None for a size that is not stored or can't be parsed."""

    @property
    def sizes(self) -> Mapping[int, str]:
        """The sizes that are stored, by axis."""
        return {axis: text for axis, text in enumerate(self.dims) if text is not None}


def assumptions(believed: Iterable[StoredSize | StoredShape]) -> list[str]:
    """Return a sentence for each operator whose stored shapes are relied on, and for each single stored size."""
    lines: dict[str, None] = {}
    shapes: dict[str, list[str]] = {}
    for stored in believed:
        if isinstance(stored, StoredShape):
            shapes.setdefault(stored.operator, []).append(stored.value)
        else:
            lines[str(stored)] = None
    for operator, values in shapes.items():
        one = f"the stored shape of '{values[0]}', a result of {operator}"
        lines[one if len(values) == 1 else f"the stored shapes of {len(values)} results of {operator}"] = None
    return list(lines)


def equal_dims(name: str, places: Sequence[str]) -> str:
    """Return the assumption that dims of inputs with the same name in the file are equal.

    `places` are texts such as `input[axis]`. The rewriter and the checker each find the places themselves. With the
    same wording, a report can omit a duplicate.
    """
    shown = places if len(places) <= _PLACES_SHOWN else places[:_PLACES_IF_MORE]
    more = f" and {len(places) - len(shown)} more" if len(shown) < len(places) else ""
    return f"the dims named '{name}' are equal: {', '.join(shown)}{more}"


@dataclass(frozen=True, slots=True)
class Claims:
    """The claims of a model's view about the sizes of the operands of its broadcasting operators."""

    inputs: Mapping[str, ClaimedShape]
    """The inputs of the main graph with a known rank. In a run their sizes give the value of each name."""
    values: Mapping[str, ClaimedShape]
    """The operands that are values of the main graph, without constants, whose dims are in the file."""
    elsewhere: int = 0
    """The number of further operands in bodies and functions, where runs observe nothing."""

    believed: Sequence[StoredSize | StoredShape] = ()
    """The stored sizes and shapes that are relied on. The runs evaluate and compare each of them."""

    @property
    def node_names(self) -> Collection[str]:
        """Return the names of the values of the main graph that a run has to observe."""
        return {**dict.fromkeys(self.values), **dict.fromkeys(stored.value for stored in self.believed)}

    @property
    def count(self) -> int:
        """The number of values with a claim."""
        return len(self.node_names) + self.elsewhere


@dataclass(frozen=True, slots=True)
class Contradiction:
    """A value whose sizes in the runtime differ from the sizes that the view claims."""

    value: str
    claim: str
    """The claimed shape as reports show it: `[2,N]`."""
    observed: tuple[int, ...]
    why: str
    """The axis that contradicts the claim, if the numbers do not show it; else empty."""

    def __str__(self) -> str:
        found = ",".join(map(str, self.observed))
        why = f" ({self.why})" if self.why else ""
        return f"the view says {self.claim} of '{self.value}', the runtime gave [{found}]{why}"


@dataclass(frozen=True, slots=True)
class Facts:
    """How the runs of the original compare with the sizes that the view claims."""

    claimed: int
    observed: int
    """The number of values whose sizes were observed in a run, or follow from observed ones."""
    contradicted: int
    first: Contradiction | None = None
    """The first contradiction in the order of execution."""
    ran: bool = True
    """Whether a runtime can run the whole original. If not, no run confirms its stored shapes."""

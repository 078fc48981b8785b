"""What the view of a model claims of sizes, and what the runs of the model say of that."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence

from graphfix.results.records import dataclass

SHAPES_INFERRED = "the shapes behind the bound sizes are inferred, as LiteRT does not tell them"
"""The assumption about a TFLite model that LiteRT refuses at the bound sizes; LiteRT's reason follows."""

_PLACES_SHOWN = 6
_PLACES_IF_MORE = 3
"""A decoder of 28 layers has 58 dims of one name: of more than six places three are listed."""


@dataclass(frozen=True, slots=True)
class Term:
    """A size that is no number: what names it, and the least and the greatest that it can be."""

    names: tuple[str, ...]
    """One name is one size wherever it stands; several are the broadcast of those sizes; () is anonymous."""
    least: int
    most: int | None
    """None is unbounded."""


ClaimedShape = tuple[int | Term, ...]


@dataclass(frozen=True, slots=True)
class StoredSize:
    """A size that a file stores of a value, and that is believed: `s0 + 1`."""

    value: str
    axis: int
    text: str

    @property
    def sizes(self) -> Mapping[int, str]:
        """The size by axis."""
        return {self.axis: self.text}

    def __str__(self) -> str:
        return f"the stored size of '{self.value}'[{self.axis}] in main is '{self.text}'"


@dataclass(frozen=True, slots=True)
class StoredShape:
    """A shape that a file stores of a result of an operator without a rule, and that is believed."""

    value: str
    operator: str
    """Whose result it is: `my.domain.Foo`."""
    dims: tuple[str | None, ...]
    """By axis: None for a size that is not stored, or not understood."""

    @property
    def sizes(self) -> Mapping[int, str]:
        """The sizes that are stored, by axis."""
        return {axis: text for axis, text in enumerate(self.dims) if text is not None}


def assumptions(believed: Iterable[StoredSize | StoredShape]) -> list[str]:
    """Return what is assumed of stored sizes and shapes, a line for each operator and each single size."""
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
    """Return the assumption that the dims of inputs that a file names alike are equal; `places` are `input[axis]`.

    The readers of the rewriter and of the checker find the places, each by itself; in one wording, a report can leave
    out what both assume.
    """
    shown = places if len(places) <= _PLACES_SHOWN else places[:_PLACES_IF_MORE]
    more = f" and {len(places) - len(shown)} more" if len(shown) < len(places) else ""
    return f"the dims named '{name}' are equal: {', '.join(shown)}{more}"


@dataclass(frozen=True, slots=True)
class Claims:
    """What the view of a model claims of the sizes that its broadcasting operators read."""

    inputs: Mapping[str, ClaimedShape]
    """All inputs of the main graph that have a rank: they say what a name is in a run."""
    values: Mapping[str, ClaimedShape]
    """What is read in the main graph, or from there; what is constant has its dims in the file, and none is claimed."""
    elsewhere: int = 0
    """How many more there are in bodies and functions, where nothing is observed."""

    believed: Sequence[StoredSize | StoredShape] = ()
    """The stored sizes and shapes that are believed: each is compared with what its text says of the inputs' sizes."""

    @property
    def named(self) -> Collection[str]:
        """The values of the main graph that are to be observed."""
        return {**dict.fromkeys(self.values), **dict.fromkeys(stored.value for stored in self.believed)}

    @property
    def count(self) -> int:
        """How many values have a claim."""
        return len(self.named) + self.elsewhere


@dataclass(frozen=True, slots=True)
class Contradiction:
    """A value of which the runtime gave other sizes than the view claims."""

    value: str
    claim: str
    """As the report shows it: `[2,N]`."""
    observed: tuple[int, ...]
    why: str
    """Which axis is not as claimed, where the numbers do not say it; else empty."""

    def __str__(self) -> str:
        found = ",".join(map(str, self.observed))
        why = f" ({self.why})" if self.why else ""
        return f"the view says {self.claim} of '{self.value}', the runtime gave [{found}]{why}"


@dataclass(frozen=True, slots=True)
class Facts:
    """What the runs of the original say of the sizes that the view claims."""

    claimed: int
    observed: int
    """Values whose sizes came out of at least one run, or follow in it from those that did."""
    contradicted: int
    first: Contradiction | None = None
    """The first one, in the order of execution."""
    ran: bool = True
    """Whether a runtime runs the original, all of it: where none does, nobody witnesses a shape that is only stored."""

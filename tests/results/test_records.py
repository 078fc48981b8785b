from __future__ import annotations

import copy
import dataclasses
import pickle
import re
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, TypeAlias

import pytest

from graphfix.results import records

ROOT = Path(__file__).resolve().parents[2]
Decorator: TypeAlias = Callable[..., Any]
Record: TypeAlias = Any
"""A class, or an instance of one."""
Arguments: TypeAlias = tuple[Sequence[object], Mapping[str, object]]
STDLIB = re.compile(r"^from dataclasses import .*\bdataclass\b", re.MULTILINE)


def _frozen(decorator: Decorator) -> Record:
    @decorator(frozen=True, slots=True)
    class Frozen:
        """A record."""

        one: int
        two: Sequence[int] = ()
        three: dict[str, int] = dataclasses.field(default_factory=dict, compare=False)
        four: str = dataclasses.field(default="?", repr=False)
        five: int = dataclasses.field(init=False)
        six: list[int] = dataclasses.field(default_factory=list, init=False, compare=False)
        seven: int = dataclasses.field(default=7, init=False)

        def __post_init__(self) -> None:
            object.__setattr__(self, "five", self.one + 1)

    return Frozen


def _mutable(decorator: Decorator) -> Record:
    @decorator(slots=True)
    class Mutable:
        """A record."""

        one: int
        two: list[int] = dataclasses.field(default_factory=list)
        three: str | None = None

    return Mutable


def _by_name(decorator: Decorator) -> Record:
    @decorator(frozen=True, slots=True, kw_only=True)
    class ByName:
        """A record."""

        one: int = 1
        two: str

    return ByName


def _by_identity(decorator: Decorator) -> Record:
    @decorator(slots=True, eq=False, repr=False)
    class ByIdentity:
        """A record."""

        one: int

    return ByIdentity


def _own_methods(decorator: Decorator) -> Record:
    @decorator(frozen=True, slots=True)
    class OwnMethods:  # noqa: PLW1641 -- the decorator gives it a hash
        """A record."""

        one: float

        def __eq__(self, other: object) -> bool:
            return isinstance(other, type(self)) and round(self.one) == round(other.one)

        def __repr__(self) -> str:
            return "own"

    return OwnMethods


def _empty(decorator: Decorator) -> Record:
    @decorator(frozen=True, slots=True)
    class Empty:
        """A record."""

    return Empty


CLASSES: Mapping[str, tuple[Callable[[Decorator], Record], Sequence[Arguments]]] = {
    "frozen": (
        _frozen,
        [((1,), {}), ((1, (2,)), {}), ((1,), {"two": (2,), "three": {"a": 1}}), ((2, (), {}, "!"), {})],
    ),
    "mutable": (_mutable, [((1,), {}), ((1, [2]), {}), ((2,), {"three": "x"})]),
    "by name": (_by_name, [((), {"two": "x"}), ((), {"two": "x", "one": 1}), ((), {"one": 3, "two": "x"})]),
    "by identity": (_by_identity, [((1,), {}), ((1,), {}), ((2,), {})]),
    "with methods of its own": (_own_methods, [((1.0,), {}), ((1.1,), {}), ((2.0,), {})]),
    "empty": (_empty, [((), {}), ((), {})]),
}
WRONG: Sequence[Arguments] = [
    ((), {}),
    ((1, 2, 3, 4, 5, 6), {}),
    ((), {"six": 6}),
    ((1,), {"one": 1}),
]


@pytest.fixture(params=CLASSES)
def pair(request: pytest.FixtureRequest) -> tuple[Record, Record, Sequence[Arguments]]:
    """The same class by the standard library and by graphfix, and what instances are made of."""
    make, given = CLASSES[request.param]
    return make(dataclasses.dataclass), make(records.dataclass), given


def test_a_record_does_what_a_dataclass_of_the_standard_library_does(
    pair: tuple[Record, Record, Sequence[Arguments]],
) -> None:
    theirs, ours, given = pair
    assert _seen(ours, given) == _seen(theirs, given)


def _seen(cls: Record, given: Sequence[Arguments]) -> Mapping[str, object]:
    made, again = ([cls(*arguments, **named) for arguments, named in given] for _ in range(2))
    shows, compares = cls.__dataclass_params__.repr, cls.__dataclass_params__.eq
    return {
        "fields": [[(field.name, getattr(each, field.name)) for field in dataclasses.fields(each)] for each in made],
        "equal": [[one == other for other in made] for one in again],
        "equal to another": [each == 1 for each in made],
        "shown": [repr(each) if shows else "" for each in made],
        "hash": [_hash(each) == _hash(same) for each, same in zip(made, again, strict=True)],
        "hashes": _hash(made[0]) is not None,
        "different": len({*made, *again}) if compares and _hash(made[0]) is not None else 0,
        "replaced": [dataclasses.asdict(dataclasses.replace(each)) for each in made],
        "copied": [dataclasses.asdict(copy.deepcopy(each)) for each in made],
        "patterns": cls.__match_args__,
        "slots": cls.__slots__,
        "parameters": repr(cls.__dataclass_params__),
    }


def _hash(each: Record) -> int | None:
    try:
        return hash(each)
    except TypeError:
        return None


def test_wrong_arguments_are_refused_in_the_same_words(pair: tuple[Record, Record, Sequence[Arguments]]) -> None:
    theirs, ours, _ = pair
    for arguments, named in WRONG:
        assert _refusal(ours, arguments, named) == _refusal(theirs, arguments, named)


def _refusal(cls: Record, arguments: Sequence[object], named: Mapping[str, object]) -> str:
    try:
        cls(*arguments, **named)
    except TypeError as error:
        return str(error)
    return ""


def test_a_frozen_record_refuses_to_be_changed() -> None:
    each = _frozen(records.dataclass)(1)
    with pytest.raises(dataclasses.FrozenInstanceError, match="cannot assign to field 'one'"):
        each.one = 2
    with pytest.raises(dataclasses.FrozenInstanceError, match="cannot delete field 'one'"):
        del each.one
    assert each.one == 1


@records.dataclass(frozen=True, slots=True)
class Pickled:
    """A record that a pickle finds by its name."""

    one: int
    two: tuple[int, ...] = ()


def test_a_frozen_record_comes_out_of_a_pickle_as_it_went_in() -> None:
    assert pickle.loads(pickle.dumps(Pickled(1, (2, 3)))) == Pickled(1, (2, 3))  # noqa: S301 -- made here


def test_a_record_without_a_docstring_has_its_name_for_one(monkeypatch: pytest.MonkeyPatch) -> None:
    """The standard library would ask `inspect` for a signature, which takes longer than the class."""
    monkeypatch.setattr("inspect.signature", None)
    cls = type("Bare", (), {"__annotations__": {"one": int}})
    assert records.dataclass(slots=True)(cls).__doc__ == "Bare"


def test_a_method_is_compiled_at_its_first_call() -> None:
    cls = _mutable(records.dataclass)
    stub = cls.__init__
    assert cls(1) == cls(one=1)
    assert cls.__init__ is not stub
    assert cls.__init__.__qualname__.endswith("Mutable.__init__")


def test_only_batch_compiles_the_methods_of_their_records_while_they_are_imported() -> None:
    """What every command imports does not: see `graphfix.results.records`."""
    paths = [path for room in ("graphfix", "rewrites") for path in (ROOT / room).rglob("*.py")]
    own = ROOT / "graphfix/results/records.py"
    theirs = [path for path in paths if path != own and STDLIB.search(path.read_text(encoding="utf-8"))]
    assert {path.relative_to(ROOT).parts[1] for path in theirs} == {"batch"}

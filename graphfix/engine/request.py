"""The request: one record of all options, built once from the command line or from the keywords of a Python call."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import fields
from numbers import Integral, Real
from pathlib import Path
from types import MappingProxyType, ModuleType
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

from graphfix.results import GraphfixError, InputNumber, InputValue
from graphfix.results.error_texts import not_one_of, shown
from graphfix.results.progress import Progress, silent
from graphfix.results.records import dataclass, field
from graphfix.targets import registry
from graphfix.targets import target as targets
from graphfix.targets.registry import Broadcasts, TargetName, Unknown

if TYPE_CHECKING:
    from graphfix.engine.policy import Policy
    from graphfix.graph.protocols import Model, Step

Dims: TypeAlias = Mapping[str, int | tuple[int, int]]
"""By the name of a dim: its size, or the least and the greatest size that it may have."""
Shapes: TypeAlias = Mapping[str, Sequence[int | None]]
"""By the name of an input: its sizes, with None for a size that stays free."""
Values: TypeAlias = Mapping[str, InputNumber | Sequence[InputNumber]]
"""By the name of an input: a scalar, or the flat list of its elements."""
Same: TypeAlias = Sequence[Sequence[str]]
"""Groups of names of equal sizes: `("ids[0]", "mask[0]")`."""
NONE: Mapping[str, Any] = MappingProxyType({})


@dataclass(frozen=True, slots=True, kw_only=True)
class Request:
    """All options of all commands. Each command reads the fields for which it has options."""

    # where the model's weights are
    data_root: str | Path | Sequence[str | Path] = ()
    """Further folders in which data files of an ONNX model may lie, besides the model's own folder."""
    data_roots: tuple[Path, ...] = field(init=False, repr=False, compare=False)
    """The folders of `data_root` as paths."""

    # what is made explicit
    target: TargetName = "explicit"
    target_file: str | Path | None = None
    """The TOML file of the user's own target, instead of `target`."""
    goal: targets.Target = field(init=False, repr=False, compare=False)
    """The target that `target` or `target_file` selects."""
    broadcasts: Broadcasts | None = None
    """None: the target's default."""
    unknown: Unknown = "expand"
    only: Sequence[str] = ()
    skip: Sequence[str] = ()
    rewrites: Sequence[ModuleType | Step | str | Path] = ()
    """The user's own rewrites, besides those of the target.

    Each is a module, a rewrite object, a Python file, or the name of an installed rewrite.
    """
    keep_fusions: bool = False
    max_expand_bytes: int | None = None
    """The most bytes of a stretched constant that is stored (TFLite). None: the default of the format."""

    # the free sizes
    dims: Dims = field(default_factory=dict)
    shapes: Shapes = field(default_factory=dict)
    same: Same = ()
    """Groups of equal sizes: `[("ids[0]", "mask[0]")]`."""
    trust_stored: bool | None = None
    """Whether to rely on stored sizes that are neither proved nor refuted.

    True: all of them. None: only the stored shapes of results of operators without a shape rule, which are custom
    operators. False: none.
    """
    bind_defaults: bool = False
    values: Values = field(default_factory=dict)
    """Inputs to make constants, with their values."""
    fault: str | None = None
    """The error for a text of the command line that is not a size or a value. It is raised where sizes are bound."""
    signature: str | None = None
    """The signature to use as the model (TFLite). None: the main subgraph; every signature is then run."""
    drop_set_inputs: bool = False
    """Whether the inputs of `values` are removed from the result."""
    narrow_inputs: bool = False
    """Whether int64 inputs become int32."""

    # the verification
    check_result: bool = True
    strict_proof: bool = False
    proof: Literal["with", "only", "without"] = "with"
    load: bool = False
    """Whether both files are loaded even if `proof` is "only"."""
    runs: int | None = None
    thorough: bool = False
    """Whether the runs of a large or proved model have no limits of time and memory."""
    seed: int = 0
    inputs: str | Path | None = None
    """The file or folder with the inputs of the runs, instead of seeded inputs."""
    atol: float | None = None
    rtol: float | None = None

    # the conversion to TOSA
    stop_where_blocked: bool = False
    """Whether `fix` stops before it writes anything if the model has an operator that no converter accepts."""
    run: bool = False
    """Whether the converted model is run beside its original."""
    run_on: Sequence[Path] = ()
    """The files or folders with the inputs of the converted model's runs, instead of seeded inputs."""

    in_place: bool = False
    """Whether the output may replace the input file."""
    diff: bool = False
    """Whether the outcome contains every node, before and after the edits."""
    report: Sequence[Path] = ()
    """The reports that are written afterwards. They must not replace a file that is read."""
    excerpt: bool = False
    """Whether the outcome contains the nodes and the facts that a drawn report needs."""
    progress: Progress = field(default=silent, repr=False, compare=False)

    def __post_init__(self) -> None:
        """Check types and folders, and find the target by its name or in its file. Raises GraphfixError."""
        for each in fields(self):
            if each.init:
                _check_type(each.name, str(each.type), getattr(self, each.name))
        object.__setattr__(self, "run_on", tuple(map(Path, self.run_on)))
        for name, checked in BINDINGS.items():
            object.__setattr__(self, name, checked(name, getattr(self, name)))
        object.__setattr__(self, "data_roots", _folders(self.data_root))
        if self.target_file == "":
            raise GraphfixError("target_file is an empty text; give the path of a TOML file, or None")
        if self.target_file is not None and self.target != "explicit":
            raise GraphfixError(f"{self.target_file}: a target file and target {self.target!r}: leave one out")
        goal = targets.target_of(self.target) if self.target_file is None else _read(self.target_file)
        object.__setattr__(self, "goal", goal)

    @property
    def constants(self) -> Mapping[str, InputValue]:
        """Return the values of the inputs that become constants, each a scalar or a tuple."""
        return {name: tuple(value) if isinstance(value, Sequence) else value for name, value in self.values.items()}

    @classmethod
    def of(cls, asked: Mapping[str, Any]) -> Request:
        """Return the request for a mapping by field names, such as argparse's answers or a function's locals.

        Other keys are ignored. A missing key and None mean the field's default.
        """
        given = (each.name for each in fields(cls) if each.init)
        return cls(**{name: asked[name] for name in given if asked.get(name) is not None})


CHOICES = (
    "target target_file broadcasts unknown only skip rewrites"
    " keep_fusions max_expand_bytes trust_stored data_root".split()
)
"""The fields that decide what is a finding. A `check` of the output of `fix` has to repeat them.

Fields that bind inputs are not repeated, because the output already fulfils them. Fields of the verification are not
repeated either (docs/stability.md, "The law of `fix`").
"""


def without_bindings(request: Request) -> Request:
    """Return the request with its choices and without its bindings."""
    return Request.of({name: getattr(request, name) for name in CHOICES})


def choice_options(request: Request) -> tuple[str, ...]:
    """Return the choices that differ from their defaults, as words of a command line.

    A rewrite that is a Python object is left out, because a command line can't name it. A rewrite that was loaded from
    a file or a name is listed by that file or name.
    """
    defaults = {each.name: each.default for each in fields(Request)}
    words: list[str] = []
    for name in CHOICES:
        value, option = getattr(request, name), f"--{name.replace('_', '-')}"
        if value == defaults[name]:
            continue
        if isinstance(value, bool):
            words.append(option if value else f"--no-{option[2:]}")
            continue
        several = (value,) if isinstance(value, (str, int, os.PathLike)) else value
        given = [getattr(each, "given", each) for each in several]
        texts = [str(each) for each in given if isinstance(each, (str, int, os.PathLike))]
        words += [word for text in texts if text for word in (option, text)]
    return tuple(words)


def _folders(data_root: str | Path | Sequence[str | Path]) -> tuple[Path, ...]:
    """Return the folders as paths. Raises GraphfixError if one is not a folder."""
    given = (data_root,) if isinstance(data_root, (str, os.PathLike)) else tuple(data_root)
    for each in given:
        if each == "" or not os.path.isdir(each):  # noqa: PTH112  # Path.is_dir raises OSError for a long name
            raise GraphfixError(f"--data-root {each}: no such folder; name the folder that holds the data files")
    return tuple(map(Path, given))


def is_path(value: object) -> bool:
    """Return whether a value can be the path of a file: a text or a path object without a null character.

    Python raises ValueError for a path with a null character.
    """
    return isinstance(value, (str, os.PathLike)) and "\0" not in str(value)


def is_list(value: object, of: Callable[[object], bool]) -> bool:
    """Return whether a value is a sequence other than a text or bytes, and all its items satisfy `of`."""
    return isinstance(value, Sequence) and not isinstance(value, (str, bytes)) and all(map(of, value))


def _is_whole(value: object) -> bool:
    """Return whether a value is an integer. True and False are not, although Python counts them as integers."""
    return isinstance(value, Integral) and not isinstance(value, bool)


def _is_text(value: object) -> bool:
    return isinstance(value, str)


ACCEPTED: Mapping[str, tuple[Callable[[Any], bool], str]] = MappingProxyType(
    {
        "str": (_is_text, "a text"),
        "TargetName": (_is_text, "a text"),
        "Unknown": (_is_text, "a text"),
        "Broadcasts": (_is_text, "a text"),
        "str | Path": (is_path, "the path of a file"),
        "str | Path | Sequence[str | Path]": (
            lambda value: is_path(value) or is_list(value, is_path),
            "a path or a list of paths",
        ),
        "Sequence[str]": (lambda value: is_list(value, _is_text), "a list of texts"),
        "Sequence[Path]": (lambda value: is_list(value, is_path), "a list of paths"),
        "bool": (lambda value: isinstance(value, bool), "True or False"),
        "int": (lambda value: _is_whole(value) and int(value) < 1 << 63, "a whole number below 2^63"),
        "float": (lambda value: isinstance(value, Real) and not isinstance(value, bool), "a number"),
        "Literal['with', 'only', 'without']": (
            lambda value: _is_text(value) and value in ("with", "only", "without"),
            "with, only or without",
        ),
        "Sequence[ModuleType | Step | str | Path]": (
            lambda value: is_list(value, lambda _: True),
            "a list of modules, files and names",
        ),
        "Progress": (callable, "a function that takes a text"),
    }
)
"""By the type of a field, as text without ` | None`: a test for its values, and the words for the error."""
KEYWORDS: Mapping[str, str] = MappingProxyType({"run_on": "inputs"})
"""By field: the keyword of the Python functions, if it differs from the field's name."""
EXAMPLES_OF_LISTS: Mapping[str, str] = MappingProxyType({"only": "['equalize-ranks']"})


def _check_type(name: str, kind: str, value: object) -> None:
    """Raise GraphfixError if `value` does not have the type `kind` of the field `name`.

    The error lists the accepted values.
    """
    needed = kind.removesuffix(" | None")
    if value is None or needed not in ACCEPTED:
        return
    is_accepted, what = ACCEPTED[needed]
    what += ", or None" * (kind != needed)
    if not is_accepted(value):
        example = EXAMPLES_OF_LISTS.get(name)
        raise GraphfixError(
            f"{KEYWORDS.get(name, name)} is {shown(value)}; give {what}{f', such as {example}' if example else ''}"
        )


def _read(target_file: str | Path) -> targets.Target:
    from graphfix.targets import files as target_files

    return target_files.read(Path(target_file))


def _mapping(name: str, given: object, checked: Callable[[str, Any], object]) -> dict[str, Any]:
    """Return a mapping with each value converted by `checked`. Raises GraphfixError if it is not a mapping of names."""
    if not isinstance(given, Mapping) or not all(map(_is_text, given)):
        raise GraphfixError(f"{name} is {shown(given)}; give a mapping of names, such as {EXAMPLES[name]}")
    return {key: checked(f"{name} {key!r}", value) for key, value in given.items()}


def _dim(what: str, size: object) -> int | tuple[int, int]:
    if _is_size(size):
        return int(size)  # type: ignore[call-overload, no-any-return]  # checked above
    if is_list(size, _is_size) and len(size) == 2 and size[0] <= size[1]:  # type: ignore[arg-type, index]  # noqa: PLR2004
        return int(size[0]), int(size[1])  # type: ignore[index]  # as above
    raise GraphfixError(f"{what} is {shown(size)}; give a size such as 4, or the ends of a range such as (2, 64)")


def _shape(what: str, sizes: object) -> tuple[int | None, ...]:
    if not is_list(sizes, lambda size: size is None or _is_size(size)):
        raise GraphfixError(f"{what} is {shown(sizes)}; give sizes such as (1, 3, 224, 224), with None for a free one")
    return tuple(None if size is None else int(size) for size in sizes)  # type: ignore[attr-defined]  # checked above


def _value(what: str, value: object) -> InputValue:
    plain = value.tolist() if hasattr(value, "tolist") else value  # of numpy
    if isinstance(plain, bool | int | float):
        return plain
    if is_list(plain, lambda each: isinstance(each, bool | int | float)):
        return tuple(plain)  # type: ignore[arg-type]  # checked above
    raise GraphfixError(f"{what} is {shown(value)}; give a number, True or False, or a flat list such as [1, 2, 3]")


def _same(name: str, given: object) -> tuple[tuple[str, ...], ...]:
    if not is_list(given, _is_group):
        raise GraphfixError(f"{name} is {shown(given)}; give groups of names, such as {EXAMPLES[name]}")
    return tuple(tuple(group) for group in given)  # type: ignore[attr-defined]  # checked above


def _is_group(value: Any) -> bool:  # noqa: ANN401 -- an argument of any type
    return is_list(value, _is_text) and len(value) > 1


def _is_size(value: object) -> bool:
    return _is_whole(value) and 0 <= int(value) < MOST_DIGITS  # type: ignore[call-overload]  # a whole number


MOST_DIGITS = 10**19
"""Sizes must be below this number: a text has at most 19 digits, and a Python argument has the same limit."""
EXAMPLES: Mapping[str, str] = MappingProxyType(
    {
        "dims": "{'batch': 4, 'seq': (2, 64)}",
        "shapes": "{'x': (1, 3, 224, 224)}",
        "values": "{'rate': 16000}",
        "same": "[('ids[0]', 'mask[0]')]",
    }
)
BINDINGS: Mapping[str, Callable[[str, Any], object]] = MappingProxyType(
    {
        "dims": lambda name, given: _mapping(name, given, _dim),
        "shapes": lambda name, given: _mapping(name, given, _shape),
        "values": lambda name, given: _mapping(name, given, _value),
        "same": _same,
    }
)
"""By field: the function that returns the argument as plain data, or raises GraphfixError."""


def policy(request: Request) -> Policy:
    """Return the request's choices about broadcasts, with the target's defaults.

    Raises GraphfixError for an unknown choice, and for choices that contradict each other or the target.
    """
    from graphfix.engine.policy import EQUALIZE, FOLD, Policy

    for given, choices, what in (
        ("keep" if request.broadcasts is None else request.broadcasts, registry.BROADCASTS, "broadcasts"),
        (request.unknown, registry.UNKNOWN, "unknown"),
    ):
        if given not in choices:
            raise GraphfixError(not_one_of(what, given, choices))
    target = request.goal
    if request.broadcasts not in (None, "keep") and not request.only and targets.MATERIALIZE not in target.rewrites:
        why = f"target {target.name} takes stretches out and makes none"
        raise GraphfixError(f"broadcasts {request.broadcasts!r}: {why}; leave it out, or choose another target")
    wanted = {*(request.only or target.rewrites)}.difference(request.skip)
    keep_fusions = request.keep_fusions or target.keep_fusions
    broadcasts = request.broadcasts or target.broadcasts
    movement, folds = target.movement, FOLD in wanted
    made = Policy(broadcasts, request.unknown, keep_fusions, folds, movement)
    for maker in (EQUALIZE, targets.MATERIALIZE):
        if folds and maker in wanted and maker not in made.left_out:
            how = f"skip one of them, or run {FOLD} first and {maker} on its output"
            raise GraphfixError(f"{FOLD} takes out what {maker} makes: {how}")
    return made


def limit(model: Model, request: Request) -> None:
    """Set in `model` the most bytes of a stretched constant, and the operators that may write lifts and stretches.

    Raises GraphfixError for a negative number of bytes.
    """
    model.movement = request.goal.movement
    most = request.max_expand_bytes
    if most is not None and most < 0:
        raise GraphfixError(f"max_expand_bytes: a size is at least 0 bytes, not {most}; give 0 to write none out")
    if most is not None:
        model.expand_limit = most

"""The Python face: what the command line calls, and what a program may call."""

from __future__ import annotations

import ast
import contextlib
import importlib.util
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from graphfix import output as place
from graphfix import targets
from graphfix.results import GraphfixError, Outcome, Site, Verdict

if TYPE_CHECKING:
    from onnx import ModelProto

    from graphfix.edits import Model, Options, Rewrite
    from graphfix.engine import Report
    from graphfix.formats.onnx import OnnxModel
    from graphfix.formats.tflite.model import TfliteModel

Texts = Mapping[str, str]
Progress = Callable[[str], None]
NONE: Texts = {}


def load(source: str | Path | bytes | ModelProto) -> OnnxModel | TfliteModel:
    """Read a model: a path, a file's bytes, or an onnx ModelProto. Raises GraphfixError for what is no model."""
    from graphfix import formats

    return formats.load(Path(source) if isinstance(source, str) else source)


def fix(
    model: Model,
    *,
    target: str = "explicit",
    broadcasts: str | None = None,
    unknown: str = "expand",
    rewrites: Sequence[Rewrite] | None = None,
    keep_fusions: bool = False,
    max_expand_bytes: int | None = None,
) -> Outcome:
    """Make the model's implicit broadcasts explicit, in place; `verify` and `model.save` are the next steps."""
    started = time.perf_counter()
    options = _options(target, broadcasts, unknown, keep_fusions=keep_fusions)
    _limit(model, max_expand_bytes)
    report = _run(model, options, _chosen(target) if rewrites is None else rewrites, "changed")
    seconds = {"plan": time.perf_counter() - started}
    return _outcome("fix", Path("model"), model, report, target, seconds)


def fix_file(
    source: str | Path,
    output: str | Path,
    *,
    target: str = "explicit",
    broadcasts: str | None = None,
    unknown: str = "expand",
    dims: Texts = NONE,
    shapes: Texts = NONE,
    only: Sequence[str] = (),
    skip: Sequence[str] = (),
    keep_fusions: bool = False,
    bind_defaults: bool = False,
    max_expand_bytes: int | None = None,
    check_result: bool = True,
    runs: int = 4,
    seed: int = 0,
    in_place: bool = False,
    progress: Progress | None = None,
) -> Outcome:
    """Fix one file: load, bind, rewrite, verify, and only then let the output appear.

    Nothing is written when the result is found different, or when nothing could be decided, unless `check_result` is
    False or nothing was changed, so that the output is a copy of the file. Raises GraphfixError.
    """
    source, output = Path(source), Path(output)
    options = _options(target, broadcasts, unknown, keep_fusions=keep_fusions)
    chosen = _chosen(target, only, skip)
    place.refuse(source, output, in_place=in_place)
    seconds: dict[str, float] = {}
    with _timed(seconds, "load"):
        model = load(source)
        _bind(model, source, dims, shapes, defaults=bind_defaults)
        _limit(model, max_expand_bytes)
        model.refuse_output(output)
        _demand_static(model, source, target)
        settled = _settled(model, source, dims, shapes, defaults=bind_defaults)
    _split(seconds, model)
    with _named(source), _timed(seconds, "plan"):
        report = _run(model, options, chosen, "changed")
    outcome = _outcome("fix", source, model, report, target, seconds)
    if not check_result:
        with _timed(seconds, "write"):
            model.save(output)
        return replace(outcome, output=str(output), verdict=Verdict("skipped"), seconds=seconds)
    with place.scratch(output) as made:
        with _timed(seconds, "write"):
            made.extend(model.save(made[0]))
        with _timed(seconds, "verify"):
            verdict = _verify(source, made[0], *settled, None, runs, seed, None, None, progress)
        same_file = verdict.status == "undecided" and not model.changed  # the output is a copy, whatever it computes
        if verdict.status not in ("equal", "proved") and not same_file:
            return replace(outcome, verdict=verdict, seconds=seconds)
        place.publish(made, output)
    return replace(outcome, output=str(output), verdict=verdict, seconds=seconds)


def check(
    source: str | Path,
    *,
    target: str = "explicit",
    broadcasts: str | None = None,
    unknown: str = "expand",
    dims: Texts = NONE,
    shapes: Texts = NONE,
    only: Sequence[str] = (),
    skip: Sequence[str] = (),
    keep_fusions: bool = False,
    bind_defaults: bool = False,
    max_expand_bytes: int | None = None,
) -> Outcome:
    """List what is implicit in a file, for a target; nothing is written. Raises GraphfixError."""
    path = Path(source)
    options = _options(target, broadcasts, unknown, keep_fusions=keep_fusions)
    chosen = _chosen(target, only, skip)
    seconds: dict[str, float] = {}
    with _timed(seconds, "load"):
        model = load(path)
        _bind(model, path, dims, shapes, defaults=bind_defaults)
        _limit(model, max_expand_bytes)
    _split(seconds, model)
    with _named(path), _timed(seconds, "plan"):
        report = _run(model, options, chosen, "found")
        report.sites[:0] = _free_sites(model, target)
    return replace(_outcome("check", path, model, report, target, seconds), changed=False)


def verify(
    before: str | Path,
    after: str | Path,
    *,
    dims: Texts = NONE,
    shapes: Texts = NONE,
    inputs: Path | None = None,
    runs: int = 4,
    seed: int = 0,
    atol: float | None = None,
    rtol: float | None = None,
    progress: Progress | None = None,
) -> Verdict:
    """Whether two files compute the same, by runs on the same inputs. Raises GraphfixError."""
    from graphfix import bindings

    numbers, sizes = bindings.settled(Path(before), dims, shapes)
    return _verify(Path(before), Path(after), numbers, sizes, inputs, runs, seed, atol, rtol, progress)


def format_of(source: str | Path) -> str:
    """`onnx` or `tflite`, by the file's content. Raises GraphfixError for what can't be read."""
    from graphfix import formats

    return formats.format_of(Path(source))


def show(
    source: str | Path, *, maps: bool = False, broadcasts_only: bool = False, dims: Texts = NONE, shapes: Texts = NONE
) -> Iterator[str]:
    """The model in the notation `y[2,3] = Add(x[2,3], b[3])`, a line a node, with indexing maps where asked."""
    from graphfix import listing

    path = Path(source)
    model = load(path)
    _bind(model, path, dims, shapes)
    return listing.lines(model, maps=maps, broadcasts_only=broadcasts_only)


def explain(topic: str) -> str:
    """The page of a rewrite or a finding code, as Markdown. Raises GraphfixError for an unknown topic."""
    from graphfix import pages

    if topic in targets.RULES:
        spec = importlib.util.find_spec("rewrites")
        folder = (
            Path(next(iter(spec.submodule_search_locations))) if spec and spec.submodule_search_locations else Path()
        )
        module = ast.parse((folder / f"{topic.replace('-', '_')}.py").read_text(encoding="utf-8"))
        return f"# {topic}\n\n{ast.get_docstring(module)}\n"
    if topic.upper() in pages.codes():
        return pages.page(topic.upper())
    known = ", ".join((*targets.RULES, *pages.codes()))
    raise GraphfixError(f"explain {topic}: no such rule or code; known: {known}")


def _bind(model: Model, path: Path, dims: Texts, shapes: Texts, *, defaults: bool = False) -> None:
    from graphfix import bindings, settling

    if dims or shapes:
        sizes = {name: bindings.size(path, name, text) for name, text in dims.items()}
        model.bind(sizes, bindings.sizes(path, shapes))
    if defaults and (known := settling.defaults(model)):
        model.bind({}, known)


def _settled(
    model: Model, path: Path, dims: Texts, shapes: Texts, *, defaults: bool
) -> tuple[Mapping[str, int], Mapping[str, Sequence[int]]]:
    """The sizes that both models are run at: those that the user gave, and the default ones where he asked for them."""
    from graphfix import bindings, settling

    return ({}, settling.settled_inputs(model)) if defaults else bindings.settled(path, dims, shapes)


def _demand_static(model: Model, path: Path, target: str) -> None:
    """Raise GraphfixError where a target needs sizes that are free, with the options that would bind them."""
    from graphfix import settling

    if targets.TARGETS[target].static and settling.free_inputs(model):
        raise GraphfixError(f"{path}: target {target} needs sizes: {settling.proposal(model)} (or --bind-defaults)")


def _free_sites(model: Model, target: str) -> list[Site]:
    """A finding for each input with a free size, for a target that needs numbers."""
    from graphfix import settling

    if not targets.TARGETS[target].static:
        return []
    why = "the target needs sizes that are numbers: bind them (--dim, --shape, --bind-defaults)"
    return [
        Site("GF302", value.name, "input", "main", None, value.shape.json, None, "left", None, why)
        for value in settling.free_inputs(model)
    ]


# --- what the commands share ----------------------------------------------------------------------------------------


def _options(target: str, broadcasts: str | None, unknown: str, *, keep_fusions: bool) -> Options:
    from graphfix.edits import Options

    for given, known, what in (
        (target, tuple(targets.TARGETS), "target"),
        (broadcasts or "keep", targets.BROADCASTS, "broadcasts"),
        (unknown, targets.UNKNOWN, "unknown"),
    ):
        if given not in known:
            raise GraphfixError(f"{what} {given!r} is not one of {', '.join(known)}")
    chosen = targets.TARGETS[target]
    return Options(broadcasts or chosen.broadcasts, unknown, keep_fusions, chosen.apart)  # type: ignore[arg-type]  # checked above


def _limit(model: Model, max_expand_bytes: int | None) -> None:
    """Say how big a constant may get when it is stretched. Raises GraphfixError."""
    if max_expand_bytes is not None and max_expand_bytes < 0:
        raise GraphfixError(f"a size is at least 0 bytes, not {max_expand_bytes}")
    if max_expand_bytes is not None:
        model.expand_limit = max_expand_bytes


def _chosen(target: str, only: Sequence[str] = (), skip: Sequence[str] = ()) -> tuple[Rewrite, ...]:
    from rewrites import ALL

    for name in (*only, *skip):
        if name not in targets.RULES:
            raise GraphfixError(f"{name!r} is no rewrite; known: {', '.join(targets.RULES)}")
    wanted = only or targets.TARGETS[target].rules
    return tuple(rule for rule in ALL if rule.name in wanted and rule.name not in skip)


def _run(model: Model, options: Options, rewrites: Sequence[Rewrite], done: str) -> Report:
    from graphfix import engine

    return engine.run(model, rewrites, options, "found" if done == "found" else "changed")


def _outcome(command: str, path: Path, model: Model, report: Report, target: str, seconds: dict[str, float]) -> Outcome:
    stale = [
        Site("GF204", name, "value", graph, None, None, None, "left", None, why) for graph, name, why in model.stale
    ]
    return Outcome(
        command,
        str(path),
        model.format,
        target=target,
        changed=model.changed,
        rewrites=report.rewrites,
        sites=(*report.sites, *stale),
        assumes=(*model.assumes, *report.assumes),
        seconds=seconds,
    )


@contextlib.contextmanager
def _timed(seconds: dict[str, float], what: str) -> Iterator[None]:
    started = time.perf_counter()
    yield
    seconds[what] = round(time.perf_counter() - started, 6)


def _split(seconds: dict[str, float], model: Model) -> None:
    """Tell the time of shape inference apart from that of reading the file."""
    seconds["infer"] = round(model.inferring, 6)
    seconds["load"] = round(seconds["load"] - model.inferring, 6)


@contextlib.contextmanager
def _named(path: Path) -> Iterator[None]:
    """Put the file's name in front of an error that does not have it."""
    try:
        yield
    except GraphfixError as error:
        raise GraphfixError(f"{path}: {error}") from None


def _verify(
    before: Path,
    after: Path,
    dims: Mapping[str, int],
    shapes: Mapping[str, Sequence[int]],
    inputs: Path | None,
    runs: int,
    seed: int,
    atol: float | None,
    rtol: float | None,
    progress: Progress | None,
) -> Verdict:
    from graphfix.verify import verify as judge

    # The import put the room graphfix.verify in the place of the public function of that name.
    sys.modules["graphfix"].verify = verify  # type: ignore[attr-defined]  # see above
    return judge(
        before,
        after,
        bindings=dims,
        shapes=shapes,
        inputs=inputs,
        runs=runs,
        seed=seed,
        atol=atol,
        rtol=rtol,
        progress=progress,
    )

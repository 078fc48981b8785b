"""The Python face: what the command line calls, and what a program may call."""

from __future__ import annotations

import ast
import contextlib
import importlib.util
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from graphfix.engine import request, targets
from graphfix.formats import publish as place
from graphfix.results import GraphfixError, Outcome, Site, Verdict

if TYPE_CHECKING:
    from onnx import ModelProto

    from graphfix.engine.policy import Policy
    from graphfix.engine.run import Report
    from graphfix.formats.onnx import OnnxModel
    from graphfix.formats.tflite.model import TfliteModel
    from graphfix.graph.protocols import Model, Step

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
    rewrites: Sequence[Step] | None = None,
    keep_fusions: bool = False,
    max_expand_bytes: int | None = None,
) -> Outcome:
    """Make the model's implicit broadcasts explicit, in place; `verify` and `model.save` are the next steps."""
    started = time.perf_counter()
    policy = request.options(target, broadcasts, unknown, keep_fusions=keep_fusions)
    request.limit(model, max_expand_bytes)
    report = _run(model, policy, _chosen(target, policy) if rewrites is None else rewrites, "changed", target)
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
    strict_proof: bool = False,
    runs: int = 4,
    seed: int = 0,
    in_place: bool = False,
    progress: Progress | None = None,
) -> Outcome:
    """Fix one file: load, bind, rewrite, verify, and only then let the output appear.

    Nothing is written when the result is found different, or when nothing could be decided, unless `check_result` is
    False or nothing was changed, so that the output is a copy of the file. With `strict_proof` it must be proved.
    Raises GraphfixError.
    """
    source, output = Path(source), Path(output)
    policy = request.options(target, broadcasts, unknown, keep_fusions=keep_fusions)
    chosen = _chosen(target, policy, only, skip)
    place.refuse(source, output, in_place=in_place)
    seconds: dict[str, float] = {}
    with _timed(seconds, "load"):
        model = load(source)
        request.bind(model, source, dims, shapes, defaults=bind_defaults)
        request.limit(model, max_expand_bytes)
        model.refuse_output(output)
        request.demand_static(model, source, target)
        settled = request.settled(model, source, dims, shapes, defaults=bind_defaults)
    _split(seconds, model)
    with _named(source), _timed(seconds, "plan"):
        report = _run(model, policy, chosen, "changed", None if only else target)
    outcome = _outcome("fix", source, model, report, target, seconds)
    if not check_result:
        with _timed(seconds, "write"):
            model.save(output)
        return replace(outcome, output=str(output), verdict=Verdict("skipped"), seconds=seconds)
    with place.scratch(output) as made:
        with _timed(seconds, "write"):
            made.extend(model.save(made[0]))
        with _timed(seconds, "verify"):
            verdict = _verify(source, made[0], *settled, None, runs, seed, None, None, "with", progress)
        _prove_time(seconds, verdict)
        same_file = verdict.status == "undecided" and not model.changed  # the output is a copy, whatever it computes
        enough = ("proved",) if strict_proof else ("equal", "proved")
        if verdict.status not in enough and not (same_file and not strict_proof):
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
    policy = request.options(target, broadcasts, unknown, keep_fusions=keep_fusions)
    chosen = _chosen(target, policy, only, skip)
    seconds: dict[str, float] = {}
    with _timed(seconds, "load"):
        model = load(path)
        request.bind(model, path, dims, shapes, defaults=bind_defaults)
        request.limit(model, max_expand_bytes)
    _split(seconds, model)
    with _named(path), _timed(seconds, "plan"):
        report = _run(model, policy, chosen, "found", None if only else target)
        report.sites[:0] = request.free_sites(model, target)
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
    proof: Literal["with", "only", "without"] = "with",
    progress: Progress | None = None,
) -> Verdict:
    """Whether two files compute the same, by a proof and by runs on the same inputs. Raises GraphfixError.

    With `proof` "only" nothing is run; with "without" the runs alone are asked.
    """
    from graphfix.engine import binding

    numbers, sizes = binding.settled(Path(before), dims, shapes)
    return _verify(Path(before), Path(after), numbers, sizes, inputs, runs, seed, atol, rtol, proof, progress)


def format_of(source: str | Path) -> str:
    """`onnx` or `tflite`, by the file's content. Raises GraphfixError for what can't be read."""
    from graphfix import formats

    return formats.format_of(Path(source))


def show(
    source: str | Path, *, maps: bool = False, broadcasts_only: bool = False, dims: Texts = NONE, shapes: Texts = NONE
) -> Iterator[str]:
    """The model in the notation `y[2,3] = Add(x[2,3], b[3])`, a line a node, with indexing maps where asked."""
    from graphfix.engine import listing

    path = Path(source)
    model = load(path)
    request.bind(model, path, dims, shapes)
    return listing.lines(model, maps=maps, broadcasts_only=broadcasts_only)


def explain(topic: str) -> str:
    """The page of a rewrite or a finding code, as Markdown. Raises GraphfixError for an unknown topic."""
    from graphfix.report import pages

    if topic in targets.RULES:
        spec = importlib.util.find_spec("rewrites")
        folder = (
            Path(next(iter(spec.submodule_search_locations))) if spec and spec.submodule_search_locations else Path()
        )
        page = next(folder.rglob(f"{topic.replace('-', '_')}.py"))
        module = ast.parse(page.read_text(encoding="utf-8"))
        return f"# {topic}\n\n{ast.get_docstring(module)}\n"
    if topic.upper() in pages.codes():
        return pages.page(topic.upper())
    known = ", ".join((*targets.RULES, *pages.codes()))
    raise GraphfixError(f"explain {topic}: no such rule or code; known: {known}")


# --- what the commands share ----------------------------------------------------------------------------------------


def _chosen(target: str, policy: Policy, only: Sequence[str] = (), skip: Sequence[str] = ()) -> tuple[Step, ...]:
    """The rewrites that run: those named, else the target's, without the skipped ones. Raises GraphfixError."""
    from graphfix.graph.protocols import chosen
    from rewrites import ALL

    for name in (*only, *skip):
        if name not in targets.RULES:
            raise GraphfixError(f"{name!r} is no rewrite; known: {', '.join(targets.RULES)}")
    left = {*skip, *(["materialize-broadcasts"] if policy.broadcasts == "keep" else [])}
    return chosen(ALL, set(only or targets.TARGETS[target].rules) - left)


def _run(
    model: Model, policy: Policy, steps: Sequence[Step], done: Literal["changed", "found"], target: str | None
) -> Report:
    """Run the rewrites, and ask what the target can't take; nothing is asked where rewrites were named."""
    from graphfix.engine import limits, run

    asked = limits.of_tosa if target is not None and targets.TARGETS[target].limits else None
    return run.run(model, steps, policy, done, asked)


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


def _prove_time(seconds: dict[str, float], verdict: Verdict) -> None:
    """Tell the time of the proof apart from that of the runs."""
    if verdict.proof is not None:
        seconds["proof"] = float(verdict.proof["seconds"])
        seconds["verify"] = round(max(seconds["verify"] - seconds["proof"], 0.0), 6)


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
    proof: Literal["with", "only", "without"],
    progress: Progress | None,
) -> Verdict:
    from graphfix.checker import verify as judge

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
        proof=proof,
        progress=progress,
    )

"""What graphfix answers about every operator, in models of one node: its shapes, what is rewritten, what is proved.

The models, and the changes of them that are proved equal or not, are those of tests/support/pairs.
"""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import NamedTuple
from zlib import crc32

import graphfix
from graphfix.results import GraphfixError
from graphfix.targets import target as targets
from tests.support.answers import Answers, steady
from tests.support.pairs import onnx_pairs, onnx_seeds, tflite_pairs, tflite_seeds
from tests.support.pairs.onnx_composites import composites
from tests.support.pairs.onnx_run import Runner
from tests.support.proving import prove

Wanted = Callable[[str], bool]
"""Of an operator's name: whether it is asked for."""
SHARE = 24
"""Of the changes of an operator one in so many is proved."""
MOST = 12
"""How many models of an operator are asked about, spread over their list."""


class Operator(NamedTuple):
    """An operator, models of it, and pairs of a model and a changed one."""

    name: str
    models: tuple[bytes, ...]
    """At most `MOST`."""
    pairs: tuple[tuple[bytes, bytes], ...]


def listed(format_: str, part: int = 0, parts: int = 1) -> Iterator[Operator]:
    """Yield the operators of a format, or one of so many parts of them."""
    return (_of_onnx if format_ == "onnx" else _of_tflite)(lambda name: crc32(name.encode()) % parts == part)


def _of_onnx(wanted: Wanted) -> Iterator[Operator]:
    """Yield ONNX's operators in their newest versions, and the composites: bodies, functions, shape arithmetic."""
    newest: dict[str, int] = {}
    for name, _, version in (it.operator.rpartition("-") for it in (*onnx_seeds.more(), *onnx_seeds.of_the_suite())):
        newest[name] = max(newest.get(name, 0), int(version))
    names = {name for name in (f"{name}-{version}" for name, version in newest.items()) if wanted(name)}
    runner = Runner(Path())
    seeds = [*onnx_seeds.seeds(runner, names.__contains__), *(it for it in composites() if wanted(it.operator))]
    runner.close()
    for name, group in onnx_pairs.by_operator(seeds).items():
        pairs = tuple((seed.data, data) for _, seed, data in onnx_pairs.changes(name, group, share=SHARE))
        yield Operator(f"onnx {name}", _spread([it.data for it in group]), pairs)


def _of_tflite(wanted: Wanted) -> Iterator[Operator]:
    """Yield TFLite's operators, and the folders of small models."""
    for name in filter(wanted, tflite_seeds.operators()):
        seeds = tflite_seeds.seeds(name)
        pairs = tuple((pair.before, pair.after) for pair in tflite_pairs.pairs(seeds, share=SHARE))
        yield Operator(f"tflite {name}", _spread([it.file for it in seeds]), pairs)


def _spread(models: Sequence[bytes]) -> tuple[bytes, ...]:
    return tuple(models[:: -(-len(models) // MOST)])


def answers(operator: Operator) -> Answers:
    """Ask about an operator; its models are fixed for the targets in turn."""
    found: dict[str, list[str]] = {"show": [], "fix": [], "prove": []}
    files: list[bytes] = []
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        for number, model in enumerate(operator.models, crc32(operator.name.encode())):
            found["show"].append(_or_refusal(_shown, model))
            target = targets.TARGETS[number % len(targets.TARGETS)]
            found["fix"].append(_or_refusal(_fixed, model, target, files))
        pairs = [(model, file) for model, file in zip(operator.models, files, strict=True) if file not in (b"", model)]
        found["prove"] += [steady(_or_refusal(_proved, *pair, folder), folder) for pair in (*pairs, *operator.pairs)]
    said = {question: "\n\n".join(texts).encode() for question, texts in found.items()}
    return {**said, "files": b"".join(files)}


def _or_refusal(asked: Callable[..., str], *given: object) -> str:
    try:
        return asked(*given)
    except GraphfixError as error:
        return str(error)


def _shown(model: bytes) -> str:
    return "\n".join(graphfix.show(model, maps=True))


def _fixed(model: bytes, target: str, files: list[bytes]) -> str:
    """Return what is said of the sites; the file is appended, an empty one where the model is refused."""
    files.append(b"")
    loaded = graphfix.load(model)
    outcome = graphfix.fix(loaded, target=target)
    files[-1] = loaded.tobytes()
    sites = "\n".join(str(asdict(site)) for site in outcome.sites)
    return f"{dict(outcome.rewrites)} {outcome.assumes} {outcome.notes}\n{sites}"


def _proved(before: bytes, after: bytes, folder: Path) -> str:
    tflite = before[4:8] == b"TFL3"
    paths = folder / "before", folder / "after"
    for path, content in zip(paths, (before, after), strict=True):
        path.write_bytes(content)
    found = prove(*paths, tflite=tflite)
    said = (found.status, found.reason, found.before, found.after, found.assumes, found.notes)
    return "\n".join(map(str, said))

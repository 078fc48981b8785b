"""What lifting and stretching an operand does to each kernel, by element type: measured, and written as a table."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from random import Random
from typing import NamedTuple

import numpy as np
from onnx import ModelProto, helper, numpy_helper

from graphfix.operators import row
from graphfix.operators.row import Exempt
from graphfix.runtimes.onnx import onnxruntime as runtime
from graphfix.runtimes.session import RefusedError
from tests.support.onnx.contrib_calls.drawing import Array, Draw
from tests.support.pairs.onnx_instances import model_of
from tests.support.runtimes.kernel_cases import KERNELS, Case, Kernel
from tests.support.runtimes.one_node import HOST, lifted, same_bits, stretched

SAME, OTHER, REFUSED, SOME_REFUSED, NOTHING = "same bits", "other bits", "refused", "same bits or refused", "-"
TRIALS = 40
"""Of each operator, operand and type for the table in the documentation."""


class Cell(NamedTuple):
    """An operand of a kernel of one element type, and what its lift and its stretch give."""

    kernel: Kernel
    operand: int
    kind: str
    lift: str
    stretch: str
    optimized_lift: str
    """With onnxruntime's optimizations, and all operands but the first constants."""
    optimized_stretch: str


class SpecialDraw(Draw):
    """Draws whose floats contain NaN, infinities, large numbers and zeros of both signs."""

    def numbers(self, shape: Sequence[int], kind: str = "float32") -> Array:
        """Numbers, up to four of which are special ones."""
        made = super().numbers(shape, kind)
        if made.size > 1 and made.dtype.kind == "f":
            special = np.array([np.nan, -np.nan, np.inf, -np.inf, -0.0, 0.0, 3e4], made.dtype)
            places = self.integers(0, made.size, [min(4, made.size)])
            made.reshape(-1)[places] = special[self.integers(0, len(special), places.shape)]
        return made


def measured(trials: int = TRIALS) -> Iterator[Cell]:
    """Ask onnxruntime about every operand of every kernel."""
    for kernel in KERNELS:
        for operand in kernel.operands:
            for kind in kernel.kinds:
                yield _cell(kernel, operand, kind, trials)


def _cell(kernel: Kernel, operand: int, kind: str, trials: int) -> Cell:
    random = Random(f"{kernel.name} {operand} {kind}")  # noqa: S311 -- sizes, no secrets
    told: dict[tuple[bool, str], Counter[str]] = {(o, f): Counter() for o in (False, True) for f in ("lift", "stretch")}
    for trial in range(trials):
        case = kernel.cases(Draw(random) if trial % 2 else SpecialDraw(random), kind, operand)
        for optimized in (False, True):
            plain = _results(kernel, case.operands, case, optimized=optimized)
            for form, operands in _forms(case, operand):
                told[optimized, form][_verdict(kernel, case, plain, operands, optimized=optimized)] += 1
    return Cell(
        kernel, operand, kind, *(_summary(told[o, form]) for o in (False, True) for form in ("lift", "stretch"))
    )


def _forms(case: Case, operand: int) -> Iterator[tuple[str, Sequence[Array | None]]]:
    """The operands with the one in question lifted, or stretched, where that changes it."""
    own = case.operands[operand]
    assert own is not None
    for form, changed in (("lift", lifted(own, len(case.full))), ("stretch", stretched(own, case.full))):
        if changed.shape != own.shape and not (form == "stretch" and changed.size == own.size):
            yield form, [changed if at == operand else each for at, each in enumerate(case.operands)]


def _verdict(
    kernel: Kernel, case: Case, plain: list[Array] | None, operands: Sequence[Array | None], *, optimized: bool
) -> str:
    if plain is None:
        return NOTHING
    found = _results(kernel, operands, case, optimized=optimized)
    return REFUSED if found is None else SAME if same_bits(found, plain) else OTHER


def _results(kernel: Kernel, operands: Sequence[Array | None], case: Case, *, optimized: bool) -> list[Array] | None:
    """What the node returns; None where onnxruntime refuses it."""
    first = 0 if not optimized else 1
    model = _model(kernel, operands, case)
    fed = {f"x{at}": x for at, x in enumerate(operands) if x is not None}
    if first:
        _make_constant(model, {name: x for name, x in fed.items() if name != "x0"})
        fed = {"x0": fed["x0"]}
    try:
        return list(runtime.load(model.SerializeToString(), optimized=optimized).run(fed))  # type: ignore[arg-type]
    except RefusedError:
        return None


def _model(kernel: Kernel, operands: Sequence[Array | None], case: Case) -> ModelProto:
    names = ["" if x is None else f"x{at}" for at, x in enumerate(operands)]
    results = [f"y{at}" for at in range(case.results)]
    node = helper.make_node(kernel.op, names, results, domain=kernel.domain, **case.attributes)
    imports = {kernel.domain: kernel.version} | ({"": HOST} if kernel.domain else {})
    feeds = {f"x{at}": x for at, x in enumerate(operands) if x is not None}
    return model_of([node], feeds, [helper.make_empty_tensor_value_info(name) for name in results], imports)


def _make_constant(model: ModelProto, values: dict[str, Array]) -> None:
    for info in [info for info in model.graph.input if info.name in values]:
        model.graph.input.remove(info)
        model.graph.initializer.append(numpy_helper.from_array(values[info.name], info.name))


def _summary(told: Counter[str]) -> str:
    """One word for all trials: the bits may differ as soon as they did once."""
    asked = told.total() - told[NOTHING]
    if not asked:
        return NOTHING
    if told[OTHER]:
        return OTHER
    return SAME if not told[REFUSED] else REFUSED if told[REFUSED] == asked else SOME_REFUSED


# --- the table in the documentation -----------------------------------------------------------------------------------

HEAD = "| operator | operand | types | lifted | stretched | lifted, packed | stretched, packed | graphfix |"


def rows(cells: Iterable[Cell]) -> list[str]:
    """The table's lines; types of an operand with the same answers share one."""
    types: dict[tuple[str, ...], list[str]] = {}
    for cell in cells:
        types.setdefault((cell.kernel.name, str(cell.operand), *cell[3:], treatment(cell)), []).append(cell.kind)
    lines = [HEAD, re.sub(r"[^|]+", " --- ", HEAD)]
    for (name, operand, *answers, done), kinds in types.items():
        lines.append(f"| {name} | {operand} | {', '.join(kinds)} | {' | '.join([*answers, done])} |")
    return lines


def treatment(cell: Cell) -> str:
    """What the catalogue lets graphfix do to the operand."""
    entry = row(cell.kernel.domain, cell.kernel.op, cell.kernel.version)
    operand = next((each for each in entry.operands if each.index == cell.operand), None) if entry is not None else None
    if operand is None:
        return "no site"
    done = [name for name, exempt in (("lifts", operand.keep_rank), ("stretches", operand.keep_dims)) if exempt is None]
    conditions = [name for name, it in (("lifts", operand.keep_rank), ("stretches", operand.keep_dims)) if _partly(it)]
    return ", ".join([*done, *(f"{name} most" for name in conditions)]) or "leaves"


def _partly(exempt: Exempt | None) -> bool:
    """Whether an exemption holds for some operands alone."""
    while exempt is not None:
        if exempt.when == "always":
            return False
        if exempt.also is None:
            return True
        exempt = exempt.also
    return False


def documented(text: str) -> dict[tuple[str, str, str], list[str]]:
    """By operator, operand and type, the answers in the table of a page."""
    found = {}
    lines = text.splitlines()
    start = lines.index(HEAD) + 2
    for line in lines[start:]:
        if not line.startswith("|"):
            break
        name, operand, kinds, *answers = [part.strip() for part in line.strip("|").split("|")]
        for kind in kinds.split(", "):
            found[name, operand, kind] = answers
    return found

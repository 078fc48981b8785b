"""One question of the small scope: a model of many cases is fixed, proved, and run beside the original."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import product
from pathlib import Path

import onnx
from onnx import ModelProto, helper

from graphfix import api
from tests.support import engine
from tests.support.runtimes.one_node import Array, Key
from tests.support.small_scope.onnx.cases import SIZES, Case, static
from tests.support.small_scope.onnx.models import feeds, made, result_names, value_name
from tests.support.small_scope.onnx.rows import Row
from tests.support.small_scope.onnx.runs import Results, Source, computed

TOGETHER = 1000
"""Nodes that are run in one session: loading one takes longer than in proportion to its nodes."""


@dataclass(frozen=True)
class Question:
    """A row in one version of its operator set, its cases, and which operands are constants."""

    key: Key
    version: int
    row: Row
    cases: Sequence[Case]
    target: str
    constants: frozenset[int] = frozenset()

    def ask(self, folder: Path) -> Answer:
        """Fix and prove; the runs are asked of the answer."""
        model = made(self.key, self.version, self.row.recipe, self.cases, self.constants)
        before, after = folder / "before.onnx", folder / "after.onnx"
        before.write_bytes(model.SerializeToString())
        loaded = engine.load(before)
        engine.fix(loaded, target=self.target)
        loaded.save(after)
        verdict = api.verify(before, after, proof="only")
        fixed = onnx.load(after)
        again = engine.fix(engine.load(after), target=self.target).changed
        return Answer(self, self._source(model), self._source(fixed), verdict.status, str(verdict.proof), again)

    def _source(self, model: ModelProto) -> Source:
        """Make a model ready to run: a node that can be run stands for each that can't."""
        if self.row.stand_in is not None:
            op, kept = self.row.stand_in
            for node in model.graph.node:
                if (node.domain, node.op_type) == self.key[:2]:
                    node.CopyFrom(helper.make_node(op, [node.input[at] for at in kept], node.output, name=node.name))
        return Source(model)


@dataclass(frozen=True)
class Answer:
    """Both models, what the proof says, and what came of the runs."""

    question: Question
    before: Source
    after: Source
    status: str
    proof: str
    again: bool
    """Whether a second run of `fix` changes something."""
    refused: list[tuple[Case, int]] = field(default_factory=list)
    """Cases that meet by the rule, and the original was refused at this N."""
    ran: list[tuple[Case, int]] = field(default_factory=list)

    def fitting(self) -> Mapping[tuple[int, ...], list[int]]:
        """Group the cases by the N at which their operands meet."""
        groups: dict[tuple[int, ...], list[int]] = {}
        for index, case in enumerate(self.question.cases):
            at = tuple(size for size in SIZES if self._runs(case, size))
            if at:
                groups.setdefault(at, []).append(index)
        return groups

    def _runs(self, case: Case, size: int) -> bool:
        row = self.question.row
        return case.meets(row.recipe.rule, size) is not None and row.runs(case.at(size))

    def faults(self) -> Iterator[str]:
        """Run both models wherever the operands meet: what differs, and what still broadcasts."""
        op = self.question.key[1]
        given = {size: feeds(self.before.model, op, size) for size in SIZES}
        for at, indices in self.fitting().items():
            for start in range(0, len(indices), TOGETHER):
                part = indices[start : start + TOGETHER]
                yield from self._compared(part, {size: given[size] for size in at})

    def unmet(self) -> Iterator[str]:
        """Run each case where its operands do not meet: it is refused as it was, or else nothing differs."""
        question, rule = self.question, self.question.row.recipe.rule
        given = {size: feeds(self.before.model, question.key[1], size) for size in SIZES}
        for index, case in enumerate(question.cases):
            at = {size: given[size] for size in SIZES if case.meets(rule, size) is None}
            wanted = {index: result_names(question.row.recipe, index)}
            expected, found = computed(self.before, wanted, at), computed(self.after, wanted, at)
            for size in at:
                one, two = expected.get((index, size)), found.get((index, size))
                if (one is None) != (two is None) or (one and two and not question.row.alike(one, two)):
                    yield f"{case} at {size}: {one} became {two}"

    def _compared(self, indices: Sequence[int], given: Mapping[int, Mapping[str, Array]]) -> Iterator[str]:
        question, recipe = self.question, self.question.row.recipe
        results = {index: result_names(recipe, index) for index in indices}
        expected = self._expected(results, given)
        reads = {index: [*results[index], *self._operands(index)] for index in indices}
        found = computed(self.after, reads, given)
        for index in indices:
            case = question.cases[index]
            for size in given:
                if (index, size) not in expected:
                    self.refused.append((case, size))
                elif (index, size) not in found:
                    yield f"{case} at {size}: onnxruntime does not run it any more"
                else:
                    self.ran.append((case, size))
                    values = found[index, size]
                    if not question.row.alike(expected[index, size], values[: recipe.results]):
                        yield f"{case} at {size}: another result"
                    yield from self._implicit(case, size, values[recipe.results :])

    def _expected(self, results: Mapping[int, Sequence[str]], given: Mapping[int, Mapping[str, Array]]) -> Results:
        """Ask the original, or numpy."""
        row = self.question.row
        if row.expected is None:
            return computed(self.before, results, given)
        found: Results = {}
        for index, size in product(results, given):
            case = self.question.cases[index]
            operands = [given[size][value_name(at, shape)] for at, shape in enumerate(case.shapes)]
            found[index, size] = [row.expected(case, operands)]
        return found

    def _operands(self, index: int) -> list[str]:
        """Name what the case's node reads for each operand of the case that may be changed."""
        node = self.after.named[f"n{index}"]
        places = {read: at for at, read in enumerate(self._reads()) if isinstance(read, int)}
        return [node.input[places[position]] for position in self.question.row.sites]

    def _reads(self) -> list[int | str | Array | None]:
        """What a node reads once another one stands for it."""
        row = self.question.row
        return [row.recipe.reads[at] for at in (row.stand_in[1] if row.stand_in else range(len(row.recipe.reads)))]

    def _implicit(self, case: Case, size: int, operands: Sequence[Array]) -> Iterator[str]:
        """What the target promises and the node's operands do not have."""
        question = self.question
        whole = case.meets(question.row.recipe.rule, size)
        assert whole is not None
        for position, operand in zip(question.row.sites, operands, strict=True):
            held = position in question.constants and static(case.shapes[position])
            if operand.ndim != len(whole) and not question.row.keeps_rank(case, position, held):
                yield f"{case} at {size}: operand {position} has rank {operand.ndim} of {len(whole)}"
            if (
                question.target == "explicit"
                and operand.shape != whole
                and not question.row.keeps_sizes(case, position, held)
            ):
                yield f"{case} at {size}: operand {position} is {operand.shape} under {whole}"

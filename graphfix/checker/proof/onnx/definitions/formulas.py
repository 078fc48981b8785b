"""Operators of the first file that the second file may decompose into their formulas, which round differently."""

from __future__ import annotations

import math
from collections import defaultdict
from typing import TYPE_CHECKING

from onnx import TensorProto

from graphfix.checker.proof.onnx.closed_world.validate import loads
from graphfix.checker.proof.onnx.definitions.attention_formulas import attention_formula, rotary_formula
from graphfix.checker.proof.onnx.definitions.formula_builder import Formula
from graphfix.checker.proof.onnx.definitions.normalization_formulas import by_group, rms_normalization_formula
from graphfix.checker.proof.onnx.definitions.recurrence_formulas import GATES, PLAIN, formula_of
from graphfix.checker.proof.onnx.reading.types import dtype
from graphfix.checker.proof.onnx.reading.versions import CURRENT_SET
from graphfix.results import InexactSite
from graphfix.results.records import dataclass, field

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from graphfix.checker.proof.core.terms import ProofValue
    from graphfix.checker.proof.onnx.definitions.formula_builder import Found
    from graphfix.checker.proof.onnx.reading.operands import Call, NodesReader

_GELU_CUBE, _GELU_SUM = 0.044715, math.sqrt(2 / math.pi)
"""The factors of the cube and of the sum, in the approximation by a hyperbolic tangent."""


def _gelu(call: Call) -> Found | None:
    """Return a float32 Gelu (since 20) with the tanh approximation as nodes of its formula; None for any other Gelu.

    The formula is x / 2 * (1 + tanh(sqrt(2 / pi) * (x + 0.044715 * x * x * x))).
    """
    data = call.operand(0)
    if data is None or dtype(data.core) != TensorProto.FLOAT or call.text("approximate") != b"tanh":
        return None
    formula = Formula()
    add, number = formula.add, formula.floats
    cube = add("Mul", add("Mul", "X", "X"), "X")
    inner = add("Add", "X", add("Mul", cube, number(_GELU_CUBE)))
    bent = add("Tanh", add("Mul", inner, number(_GELU_SUM)))
    result = add("Mul", add("Mul", "X", number(0.5)), add("Add", bent, number(1.0)))
    return formula, [result], {"X": data}


FORMULAS: Mapping[str, Callable[[Call], Found | None]] = {
    "LSTM": formula_of, "GRU": formula_of, "RNN": formula_of, "Gelu": _gelu,
    "RMSNormalization": rms_normalization_formula, "GroupNormalization": by_group,
    "Attention": attention_formula, "RotaryEmbedding": rotary_formula,
}  # fmt: skip

READ: Mapping[str, frozenset[str]] = defaultdict(
    frozenset,
    {
        **dict.fromkeys(GATES, PLAIN),
        "Gelu": frozenset({"approximate"}),
        "RMSNormalization": frozenset({"axis", "epsilon", "stash_type"}),
        "GroupNormalization": frozenset({"epsilon", "num_groups", "stash_type"}),
        "Attention": frozenset(
            "is_causal q_num_heads kv_num_heads scale softcap softmax_precision qk_matmul_output_mode".split()
        ),
        "RotaryEmbedding": frozenset({"interleaved", "num_heads", "rotary_embedding_dim"}),
    },
)
"""The attributes that the formula of an operator reads, by operator.

A later operator set may add others, such as a window.
"""


@dataclass(frozen=True, slots=True)
class Defined:
    """A result that the first file computes by an operator, while the second file may compute it by the formula."""

    view: ProofValue
    operator: str
    name: str
    inside: bool
    """Whether the node is in a body, where runs can't compare the values."""


@dataclass(slots=True, eq=False)
class Definitions:
    """The formulas of the first file's operators, and the places where the second file uses the formulas."""

    defined: dict[ProofValue, Defined] = field(default_factory=dict)
    """The first file's results, by the value that their formula computes."""
    sites: dict[InexactSite, None] = field(default_factory=dict)

    def enter(self, call: Call, results: Sequence[ProofValue | None], among: NodesReader, *, inside: bool) -> None:
        """Record the formula of an operator of the first file, if the operator has one, with one entry for each result.

        `results` are the operator's results. `among` reads the formula's nodes. `inside` is True if the node is in a
        body.
        """
        rule = FORMULAS.get(call.op) if not call.domain and call.attributes.keys() <= READ[call.op] else None
        found = rule(call) if rule is not None and loads(call) else None
        if found is None:
            return
        formula, names, values = found
        version = max(call.version, CURRENT_SET)
        given = {name: at for at, name in enumerate(names) if at < len(results) and call.result_names[at]}
        memo_key = dict(values)
        for node in formula.nodes:
            view, name = among([node], version, memo_key), node.output[0]
            result = results[given[name]] if name in given else None
            if result is not None and view not in self.defined:
                self.defined[view] = Defined(result, call.description, call.result_names[given[name]], inside)
            memo_key[name] = self.defined[view].view if view in self.defined else view

    def replaced(
        self, call: Call, results: Sequence[ProofValue | None], *, inside: bool
    ) -> Sequence[ProofValue | None]:
        """Return a node's results, in which a formula's result is replaced by the first file's result of the operator.

        This is called for nodes of the second file. Each replacement is recorded in `sites`.
        """
        found = self.defined.get(results[0]) if len(results) == 1 and results[0] is not None else None
        if found is None:
            return results
        self.sites[InexactSite(found.operator, found.name, call.result_names[0], inside=inside or found.inside)] = None
        return [found.view]

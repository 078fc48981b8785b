"""A node that is read as one before it makes the same terms as by the rules, and enters all else that they do."""

from __future__ import annotations

from pathlib import Path
from random import Random
from typing import TYPE_CHECKING

import numpy as np
import onnx
import onnx.parser
import pytest
from onnx import ModelProto, NodeProto, TensorProto, helper, numpy_helper

from graphfix.checker.proof.onnx import compare
from graphfix.checker.proof.onnx.operators.elementwise import POWERS_ARE_PRODUCTS
from graphfix.checker.proof.onnx.reading import node_memo
from graphfix.results import GraphfixError
from tests.support import engine
from tests.support.proved import unproved
from tests.support.proving import prove

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from graphfix.checker.proof import Proof
    from graphfix.checker.proof.core.terms import TermTable

NODES = 60
INPUTS = {
    **dict.fromkeys(("x", "v"), (TensorProto.FLOAT, ["N", 1, 3])),
    **dict.fromkeys(("y", "w"), (TensorProto.FLOAT, ["N", 4, 3])),
    "s": (TensorProto.FLOAT, []), "e": (TensorProto.FLOAT, [0, 4, 3]),
    **dict.fromkeys(("f", "g"), (TensorProto.BOOL, ["N", 4, 1])),
    **dict.fromkeys(("i", "j"), (TensorProto.INT64, ["N", 4, 1])),
    **dict.fromkeys(("t", "u"), (TensorProto.INT64, [3])),
    "q": (TensorProto.UINT8, [4, 3]),
}  # fmt: skip
CONSTANTS = {
    "one": np.float32(1), "nought": np.float32(0), "below": np.float32(-0.0), "ones": np.ones((4, 3), np.float32),
    "a": np.float32([1, 2, 3]), "b": np.float32([1, 2, 4]), "true": np.array(True),
    "two": np.int64(2), "three": np.int64(3), "k": np.uint8([1, 2, 3]), "l": np.uint8([5, 6, 7]),
    "m": np.uint8([8, 9, 10]), "first": np.int64([0]), "last": np.int64([-1]), "flat": np.int64([1, 1, 3]),
    "wide": np.int64([1, 1, 1, 3]), "open": np.int64([-1, 4, 3]), "copied": np.int64([0, 0, 3]),
    "none": np.zeros(0, np.int64),
}  # fmt: skip
ALIKE = "x v", "y w", "f g", "i j", "t u", "a b", "k l m", "one nought below", "two three", "first last"
"""Values of one type and one shape."""
NAMES = {
    "float": "x y s e one a ones".split(), "bool": "f true".split(), "int": "i two".split(), "byte": "q k l m".split(),
    "target": "t flat".split(),
}  # fmt: skip
PAIRS = {
    "float": "Add Sub Mul Div Mul Add Sum Max Pow".split(), "bool": "And Or Xor Or".split(),
    "int": "Add Sub Mul BitwiseAnd Mod".split(), "byte": "Mod Mod Add".split(),
}  # fmt: skip
SINGLE = {
    "float": "Neg Abs Relu Tanh Identity Odd".split(), "bool": "Not Identity".split(), "int": "Neg Identity".split(),
    "byte": ["Identity"],
}  # fmt: skip
COMPARED = "Equal Less Greater".split()
MOVED = {
    "Expand": ("flat", "wide"), "Reshape": ("flat", "wide", "open", "copied", "last"),
    "Unsqueeze": ("first", "last"), "Squeeze": ("first", "last", "none"),
}  # fmt: skip


class Draft:
    """Nodes one after another, most of them like one before, on values like its own."""

    def __init__(self, seed: int) -> None:
        self.random = Random(seed)  # noqa: S311 -- no secret
        self.nodes: list[NodeProto] = []
        self.names = {kind: [*names] for kind, names in NAMES.items()}
        self.alike = {name: [name] for name in (*INPUTS, *CONSTANTS)}
        for names in ALIKE:
            self.alike |= dict.fromkeys(names.split(), names.split())

    def add(self) -> None:
        """Add a node of some kind, or one like another."""
        if self.nodes and self.random.random() < 0.75:
            like = self.random.choice(self.nodes)
            operands = [self.random.choice(self.alike.get(name, [name])) for name in like.input]
            self._node(like.op_type, operands, "", self.alike[like.output[0]])
            return
        pick = self.random.choice
        kind = pick(["float", "float", "float", "bool", "int", "byte"])
        what = self.random.random()
        if what < 0.4:
            self._node(pick(PAIRS[kind]), [self._some(kind), self._some(kind)], kind)
        elif what < 0.5:
            self._node(pick(SINGLE[kind]), [self._some(kind)], kind)
        elif what < 0.6:
            self._node(pick(COMPARED), [self._some(kind), self._some(kind)], "bool")
        elif what < 0.7:
            self._node("Shape", [self._some(pick(["float", "float", "target"]))], "target")
        elif what < 0.75:
            self._node(pick(["Add", "Mul"]), [self._some("target"), self._some("target")], "target")
        elif what < 0.85:
            self._node(pick(["Expand", "Reshape"]), [self._some(kind), self._some("target")], kind)
        else:
            op = pick(list(MOVED))
            self._node(op, [self._some(kind), pick(MOVED[op])], kind)

    def _some(self, kind: str) -> str:
        """Return a value of a kind, rather a late one."""
        names = self.names[kind]
        return self.random.choice(names[-4:] if self.random.random() < 0.3 else names)

    def _node(self, op: str, operands: Sequence[str], kind: str, alike: list[str] | None = None) -> None:
        name = f"v{len(self.nodes)}"
        domain = "its.own" if op == "Odd" else ""
        self.nodes.append(helper.make_node(op, operands, [name], self.random.choice(["", f"n{name}"]), domain=domain))
        self.alike[name] = [] if alike is None else alike
        self.alike[name].append(name)
        if kind:
            self.names[kind].append(name)

    def model(self) -> ModelProto:
        """Return the model, each fourth value of which is an output."""
        inputs = [helper.make_tensor_value_info(name, kind, dims) for name, (kind, dims) in INPUTS.items()]
        tensors = [numpy_helper.from_array(np.asarray(each), name) for name, each in CONSTANTS.items()]
        outputs = [onnx.ValueInfoProto(name=name) for node in self.nodes[::4] for name in node.output]
        told = [
            helper.make_tensor_value_info(
                node.output[0], self.random.choice([TensorProto.FLOAT, TensorProto.INT64]), None
            )
            for node in self.nodes
            if self.random.random() < 0.1
        ]
        graph = helper.make_graph(self.nodes, "g", inputs, outputs, tensors, value_info=told)
        imports = [helper.make_opsetid("", self.random.choice([13, 18])), helper.make_opsetid("its.own", 1)]
        return helper.make_model(graph, ir_version=8, opset_imports=imports)


def drafted(seed: int) -> ModelProto:
    draft = Draft(seed)
    for _ in range(NODES):
        draft.add()
    return draft.model()


def _again_in(_: Random, node: NodeProto, nodes: list[NodeProto]) -> None:
    copy = NodeProto()
    copy.CopyFrom(node)
    copy.output[0] += "_twice"
    nodes.append(copy)


CHANGES: Sequence[Callable[[Random, NodeProto, list[NodeProto]], object]] = (
    lambda random, node, _: setattr(node, "op_type", random.choice([*PAIRS["float"], *SINGLE["float"], "Shape"])),
    lambda random, node, nodes: node.input.__setitem__(-1, random.choice([*random.choice(nodes).input, *INPUTS])),
    lambda _, node, __: node.input.reverse(),
    lambda random, node, nodes: node.output.__setitem__(0, random.choice(["", random.choice(nodes).output[0]])),
    lambda _, node, __: node.attribute.append(helper.make_attribute("axis", 1)),
    _again_in,
    lambda random, node, _: setattr(
        node, *random.choice([("domain", "ai.onnx"), ("domain", "its.own"), ("overload", "other")])
    ),
    lambda _, node, __: node.device_configurations.add(configuration_id="none"),
)
"""An operator, an operand, their order, a result, an attribute, the node twice, its domain, its device."""


def changed(model: ModelProto, seed: int) -> ModelProto:
    """Change a few nodes."""
    made, random = ModelProto(), Random(seed)  # noqa: S311 -- no secret
    made.CopyFrom(model)
    nodes = list(made.graph.node)
    for _ in range(random.randrange(1, 4)):
        random.choice(CHANGES)(random, random.choice(nodes), nodes)
    del made.graph.node[:]
    made.graph.node.extend(nodes)
    return made


def kept(table: TermTable) -> object:
    """Print all that a proof has entered."""
    cores = [
        (core.description, repr(core.sizes), core.dtype, core.matched, len(core.places), repr(core.content))
        for core in table.cores.values()
    ]
    algebra = table.algebra
    checks = list(map(repr, algebra.checks)), list(map(repr, algebra.second_checks)), len(table.checks)
    kept = (
        len(table.unmatched),
        len(table.product_ops),
        len(table.routines),
        list(table.assumptions),
        list(table.objections),
    )
    return cores, checks, kept


def proved(before: Path, after: Path, monkeypatch: pytest.MonkeyPatch, *, by_rules: bool) -> tuple[Proof, object, int]:
    """Prove two files; return what was entered too, and how many nodes were read as one before."""
    seen: list[object] = []
    again = [0]

    def concluded(table: TermTable, *rest: object) -> Proof:
        seen.append(kept(table))
        return compare_concluded(table, *rest)  # type: ignore[arg-type]  # as it is called

    def counted(self: node_memo.NodeMemo, *rest: object) -> bool:
        done = read_again(self, *rest)  # type: ignore[arg-type]  # as it is called
        again[0] += done
        return done

    compare_concluded, read_again = compare.conclusion, node_memo.NodeMemo._from_memo
    with monkeypatch.context() as patch:
        patch.setattr(compare, "conclusion", concluded)
        patch.setattr(node_memo.NodeMemo, "_from_memo", counted)
        if by_rules:
            patch.setattr(node_memo, "_REPEATED", frozenset())
        proof = prove(before, after)
    return proof, (proof.document(0), proof.cores, seen), again[0]


SEEDS = (
    range(10),
    pytest.param(range(10, 30), marks=pytest.mark.ci),
    pytest.param(range(30, 1000), marks=pytest.mark.full),
)


@pytest.mark.parametrize("seeds", SEEDS, ids=len)
def test_what_is_read_as_a_node_before_is_what_the_rules_make_of_it(
    seeds: range, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    again, statuses = 0, set()
    one, two = tmp_path / "one.onnx", tmp_path / "two.onnx"
    for seed in seeds:
        made = drafted(seed)
        one.write_bytes(made.SerializeToString())
        results = [changed(made, seed * 3 + at) for at in range(3)]
        fixed = engine.load(made)
        try:
            engine.fix(fixed, target="explicit")
        except GraphfixError:
            pass  # sizes that do not meet
        else:
            results += [onnx.load_from_string(fixed.tobytes()), changed(onnx.load_from_string(fixed.tobytes()), seed)]
        for result in results:
            two.write_bytes(result.SerializeToString())
            quick, slow = (proved(one, two, monkeypatch, by_rules=each) for each in (False, True))
            assert quick[1] == slow[1], seed
            assert not slow[2]
            again += quick[2]
            statuses.add(quick[0].status)
    assert again > len(seeds) * NODES
    assert statuses == {"proved", "not proved"}


UNEQUAL = {
    "another constant of one element": ("a = Mul(x, one) b = Mul(v, half)", "a = Mul(x, one) b = Identity(v)"),
    "elements that are computed": ("a = Mod(k, l) b = Mod(m, l)", "a = Mod(k, l) b = Identity(m)"),
    "a value and itself": ("a = Or(f, f) b = Or(f, g)", "a = Or(f, f) b = Identity(f)"),
    "another computed shape": ("a = Expand(x, t) b = Expand(x, u)", "a = Expand(x, t) b = Expand(x, t)"),
    "another target": ("a = Reshape(x, t) b = Reshape(x, u)", "a = Reshape(x, t) b = Reshape(x, t)"),
}


@pytest.mark.parametrize("graphs", UNEQUAL.values(), ids=UNEQUAL)
def test_of_nodes_that_only_seem_alike_each_is_read_by_the_rules(graphs: tuple[str, str]) -> None:
    held = {"one": np.float32(1), "half": np.float32(0.5)} | {name: CONSTANTS[name] for name in "klm"}
    models = []
    for nodes in graphs:
        inputs = "float[N,1,3] x, float[N,1,3] v, bool[N,4,1] f, bool[N,4,1] g, int64[3] t, int64[3] u"
        text = f'<ir_version: 8, opset_import: ["" : 18]> g ({inputs}) => (a, b) {{ {nodes} }}'
        made = onnx.parser.parse_model(text)
        made.graph.initializer.extend(numpy_helper.from_array(np.asarray(each), name) for name, each in held.items())
        models.append(made.SerializeToString())
    assert unproved(models[0], models[0]) is None
    assert unproved(models[0], models[1]) is not None


def test_a_product_that_another_operator_is_beside_is_read_by_the_rules(tmp_path: Path) -> None:
    written = "k = GreaterOrEqual(x, nought) f = Where(k, one, s) b = Mul(x, f)"
    paths = []
    for at, nodes in enumerate(("b = PRelu(x, s)", written)):
        text = (
            '<ir_version: 8, opset_import: ["" : 18]> g (float[N,4,3] x, float[N,4,3] v, float[3] s) => (a, b)'
            f"<float one = {{1}}, float nought = {{0}}> {{ a = Mul(x, v) {nodes} }}"
        )
        paths.append(tmp_path / f"{at}.onnx")
        paths[-1].write_bytes(onnx.parser.parse_model(text).SerializeToString())
    assert POWERS_ARE_PRODUCTS in prove(*paths).assumes

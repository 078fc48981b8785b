"""Which outputs follow from a variable that nothing has written before it is read: no runtime is loaded."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from graphfix.checker.files.tflite.graphs import read_graphs
from graphfix.checker.runs.comparing.unwritten_variables import reads_variables, unwritten_outputs
from graphfix.runtimes.session import ModelDetails, TensorDetails
from models.builders.tflite.text import Signature
from models.builders.tflite.text import model as tflite

Saved = Callable[[bytes], Path]


@pytest.fixture
def saved(tmp_path: Path) -> Saved:
    def save(data: bytes) -> Path:
        path = tmp_path / "m.tflite"
        path.write_bytes(data)
        return path

    return save


def handle(name: str = "state", tensor: str = "h") -> str:
    return f"{tensor}:resource[] = VAR_HANDLE(container='', shared_name='{name}')"


def loaded(path: Path, subgraph: int = 0, signatures: tuple[tuple[str, int], ...] = ()) -> ModelDetails:
    """What LiteRT says of the outputs of a subgraph."""
    graph = read_graphs(path)[subgraph]
    outputs = tuple(TensorDetails(graph.names[at], at, "float32", (3,), (3,)) for at in graph.outputs)
    return ModelDetails((), outputs, signatures)


READ = f"{handle()}\nv[3] = READ_VARIABLE(h)"
YES, NO = "subgraph yes:\n", "subgraph no:\n"
WRITE = f"{handle()}\nASSIGN_VARIABLE(h, p[3])\nt[3] = NEG(p)"
SAME = "t[3] = NEG(p[3])"
IF = "u[3] = IF(c:bool[], x[3], then=yes, else=no)"
LOOP = "i2:int32[], u[3] = WHILE(i:int32[], x[3], cond=test, body=step)"
TEST = "subgraph test(k:int32[], p[3]):\n{}c:bool[] = LESS(k, q:const:int32[]{{3}})"
STEP = "subgraph step(k:int32[], p[3]):\n{}m:int32[] = ADD(k, o:const:int32[]{{1}})\nr[3] = {}"
WRITES = f"{handle()}\nASSIGN_VARIABLE(h, p)\n"
READS = f"{handle()}\nw[3] = READ_VARIABLE(h)\n"
AGAIN = f"{WRITES}w[3] = READ_VARIABLE(h)\n"

CASES: dict[str, tuple[str, str, str]] = {
    "read alone": (f"{READ}\ny[3] = ADD(x[3], v)\nz[3] = NEG(x)", "y", "READ_VARIABLE#1"),
    "the second operand": (f"{READ}\ny[3] = ADD(v, x[3])\nz[3] = NEG(v)", "y z", "READ_VARIABLE#1"),
    "through another operator": (f"{READ}\na[3] = ABS(v)\ny[3] = ADD(x[3], a)", "y", "READ_VARIABLE#1"),
    "written before": (f"{handle()}\nASSIGN_VARIABLE(h, x[3])\nv[3] = READ_VARIABLE(h)\ny[3] = NEG(v)", "", ""),
    "written with what nothing wrote": (f"{READ}\nASSIGN_VARIABLE(h, v)\na[3] = READ_VARIABLE(h)\ny[3] = ABS(a)", "y",
                                        "READ_VARIABLE#1"),
    "written again": (
        f"{READ}\nASSIGN_VARIABLE(h, v)\nASSIGN_VARIABLE(h, x[3])\na[3] = READ_VARIABLE(h)\ny[3] = ABS(a)", "", ""),
    "a second handle": (
        f"{handle()}\n{handle(tensor='g')}\nASSIGN_VARIABLE(g, x[3])\nv[3] = READ_VARIABLE(h)\ny[3] = ABS(v)", "", ""),
    "another variable is written": (
        f"{handle()}\n{handle('other', 'g')}\nASSIGN_VARIABLE(g, x[3])\nv[3] = READ_VARIABLE(h)\ny[3] = ABS(v)", "y",
        "READ_VARIABLE#3"),
    "a branch reads": (f"{IF}\ny[3] = NEG(u)\n{YES}{READ}\nt[3] = ADD(p[3], v)\n{NO}{SAME}", "y",
                       "READ_VARIABLE#1 of subgraph 1"),
    "the other branch reads": (
        f"{IF}\ny[3] = NEG(u)\n{YES}{SAME}\n{NO}{READ}\nt[3] = ADD(p[3], v)", "y",
        "READ_VARIABLE#1 of subgraph 2"),
    "a branch is given what nothing wrote": (
        f"{READ}\nu[3] = IF(c:bool[], v, then=yes, else=no)\ny[3] = NEG(u)\n{YES}{SAME}\n{NO}{SAME}",
        "y", "READ_VARIABLE#1"),
    "both branches write": (f"{IF}\n{READ}\ny[3] = ADD(u, v)\n{YES}{WRITE}\n{NO}{WRITE}", "", ""),
    "the first branch writes": (f"{IF}\n{READ}\ny[3] = ADD(u, v)\n{YES}{WRITE}\n{NO}{SAME}", "y",
                                "READ_VARIABLE#2"),
    "the second branch writes": (f"{IF}\n{READ}\ny[3] = ADD(u, v)\n{YES}{SAME}\n{NO}{WRITE}", "y",
                                 "READ_VARIABLE#2"),
    "a branch writes what nothing wrote": (
        (f"{READ}\nASSIGN_VARIABLE(h, x[3])\nu[3] = IF(c:bool[], v, then=yes, else=no)\na[3] = READ_VARIABLE(h)\n"
        f"y[3] = ABS(a)\n{YES}{WRITE}\n{NO}{SAME}"), "y", "READ_VARIABLE#1"),
    "a condition writes": (
        f"{LOOP}\n{READ}\ny[3] = ADD(u, v)\n{TEST.format(WRITES)}\n{STEP.format('', 'ABS(p)')}", "", ""),
    "a turn writes": (f"{LOOP}\n{READ}\ny[3] = ADD(u, v)\n{TEST.format('')}\n{STEP.format(WRITES, 'ABS(p)')}", "y",
                      "READ_VARIABLE#2"),
    "a condition writes for the first turn": (
        f"{LOOP}\ny[3] = ABS(u)\n{TEST.format(WRITES)}\n{STEP.format(READS, 'ADD(p, w)')}", "", ""),
    "a turn reads what it writes": (
        f"{LOOP}\ny[3] = ABS(u)\n{TEST.format('')}\n{STEP.format(AGAIN, 'ADD(p, w)')}",
        "", ""),
    "a turn reads what the one before wrote": (
        f"{handle('g', 'g')}\nASSIGN_VARIABLE(g, x[3])\n{LOOP}\ny[3] = ABS(u)\n{TEST.format('')}\n"
        + STEP.format(f"{handle('g', 'g')}\na[3] = READ_VARIABLE(g)\n{READ}\nASSIGN_VARIABLE(g, v)\n", "ADD(p, a)"),
        "y", "READ_VARIABLE#3 of subgraph 2"),
    "an initialization writes": (
        (f"CALL_ONCE(init=setup)\n{READ}\ny[3] = ADD(x[3], v)\nsubgraph setup:\n{handle()}\n"
        "ASSIGN_VARIABLE(h, z:const[3]{0.,0.,0.})"), "", ""),
    "an initialization of another variable": (
        (f"CALL_ONCE(init=setup)\n{READ}\ny[3] = ADD(x[3], v)\nsubgraph setup:\n{handle('other')}\n"
        "ASSIGN_VARIABLE(h, z:const[3]{0.,0.,0.})"), "y", "READ_VARIABLE#2"),
}  # fmt: skip


@pytest.mark.parametrize(("text", "names", "site"), CASES.values(), ids=CASES)
def test_outputs_that_follow_from_a_variable_that_nothing_wrote(saved: Saved, text: str, names: str, site: str) -> None:
    path = saved(tflite(text, outputs=["y", "z"] if "z[3] =" in text else ["y"]))
    found = unwritten_outputs(path, loaded(path))
    assert sorted(found) == names.split()
    assert {why.site for why in found.values()} == ({site} if names else set())
    for why in found.values():
        assert why.cause == f"the first model reads the variable 'state', which nothing has written ({site})"


def test_the_subgraph_of_a_signature_is_followed(saved: Saved) -> None:
    text = f"y[3] = NEG(x[3])\nsubgraph reading:\n{READ}\nq[3] = ADD(p[3], v)"
    signatures = {"one": Signature("main"), "two": Signature("reading")}
    path = saved(tflite(text, outputs=["y"], signatures=signatures))
    keys = (("one", 0), ("two", 1))
    assert unwritten_outputs(path, loaded(path, 0, keys), "one") == {}
    assert list(unwritten_outputs(path, loaded(path, 1, keys), "two")) == ["q"]
    assert unwritten_outputs(path, loaded(path, 0, keys)) == {}


def test_a_file_without_such_an_operator_is_not_read(saved: Saved) -> None:
    assert not reads_variables(saved(tflite("y[3] = NEG(x[3])")))
    assert reads_variables(saved(tflite(f"{READ}\ny[3] = NEG(v)")))
    for data in (b"x", b"\xff" * 64, bytes(16)):
        assert not reads_variables(saved(data))

"""The names by which callers ask for inputs and sizes of TFLite files, and the subgraphs of a signature."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest

from graphfix.checker.files.binding_error import BindingError
from graphfix.checker.files.tflite.file import read
from graphfix.checker.files.tflite.names import input_names, own_names, renamed, selected
from graphfix.checker.files.tflite.records import Model
from models.builders.tflite.text import Signature
from models.builders.tflite.text import model as tflite

TEXT = """subgraph main(x[N,4], c:bool[]):
y[N,4] = IF(c, x, then=yes, else=no)
subgraph yes:
t[N,4] = NEG(p[N,4])
subgraph no:
u[N,4] = ABS(q[N,4])
subgraph other(a[N,4], d:bool[]):
b[N,4] = IF(d, a, then=no, else=yes)"""
SIGNATURES = {
    "serve": Signature("main", {"image": "x", "flag": "c"}, {"out": "y"}),
    "again": Signature("main", {"picture": "x", "x": "c"}, {"out": "y"}),
    "other": Signature("other", {"in": "a", "way": "d"}, {"out": "b"}),
}


@pytest.fixture
def path(tmp_path: Path) -> Path:
    found = tmp_path / "m.tflite"
    found.write_bytes(tflite(TEXT, signatures=SIGNATURES))
    return found


@pytest.fixture
def model(path: Path) -> Iterator[Model]:
    with ExitStack() as stack:
        yield read(path, stack)[0]


def test_an_input_has_its_own_name_and_those_of_the_signatures(model: Model) -> None:
    own = {name: at for at, name in own_names(model).items()}
    assert list(own) == ["x", "c"]
    x, c = own["x"], own["c"]
    assert input_names(model) == {"x": x, "c": c, "image": x, "flag": c, "picture": x}
    assert list(input_names(selected(model, "other"))) == ["a", "d", "in", "way"]


@pytest.mark.parametrize(
    ("bindings", "shapes", "signature", "expected"),
    [
        ({}, {}, None, ({}, {})),
        ({"x[0]": 3}, {}, None, ({"x[0]": 3}, {})),
        ({"image[0]": 3, "N": 4}, {"picture": (1, 4)}, None, ({"x[0]": 3, "N": 4}, {"x": (1, 4)})),
        ({"in[0]": 3}, {}, None, ({"in[0]": 3}, {})),
        ({"in[0]": 3}, {"way": ()}, "other", ({"a[0]": 3}, {"d": ()})),
        ({"unknown[1]": 3}, {"nothing": (1,)}, None, ({"unknown[1]": 3}, {"nothing": (1,)})),
    ],
)
def test_sizes_are_those_of_the_own_names(
    path: Path,
    bindings: dict[str, int],
    shapes: dict[str, tuple[int, ...]],
    signature: str | None,
    expected: tuple[dict[str, int], dict[str, tuple[int, ...]]],
) -> None:
    assert renamed(path, bindings, shapes, signature) == expected


def test_a_signature_has_the_subgraphs_that_it_runs(model: Model) -> None:
    assert selected(model, None) is model
    assert [len(selected(model, key).subgraphs) for key in ("serve", "other")] == [3, 3]
    other = selected(model, "other")
    assert [[op.name for op in graph.operators] for graph in other.subgraphs[:1]] == [["IF"]]
    bodies = [other.subgraphs[at].operators[0].name for _, at in other.subgraphs[0].operators[0].bodies]
    before = [model.subgraphs[at].operators[0].name for _, at in model.subgraphs[3].operators[0].bodies]
    assert bodies == before
    assert [(name, at) for name, at, *_ in other.signatures] == [("other", 0)]
    assert [(name, at) for name, at, *_ in selected(model, "serve").signatures] == [("serve", 0), ("again", 0)]


def test_a_signature_that_is_not_there_is_refused_with_those_that_are(path: Path, model: Model, tmp_path: Path) -> None:
    with pytest.raises(BindingError, match="--signature none: no such signature; signatures: serve, again, other"):
        selected(model, "none")
    with pytest.raises(BindingError, match="no such signature"):
        renamed(path, {}, {}, "none")
    plain = tmp_path / "plain.tflite"
    plain.write_bytes(tflite("y[2] = NEG(x[2])"))
    with pytest.raises(BindingError, match="signatures: none"):
        renamed(plain, {}, {}, "serve")


def test_tensors_that_share_a_name_or_have_none_are_called_by_their_index(tmp_path: Path) -> None:
    import ai_edge_litert.schema_py_generated as schema
    import flatbuffers

    made = schema.ModelT.InitFromPackedBuf(tflite("t3[2] = ADD(x[2], y[2])\nz[2] = ADD(t3, w[2])"), 0)
    tensors = made.subgraphs[0].tensors
    names = {bytes(each.name).decode(): each for each in tensors}
    at = {name: tensors.index(each) for name, each in names.items()}
    names["x"].name = names["y"].name = b"same"
    names["w"].name = b""
    names["t3"].name = f"t{at['w']}".encode()
    builder = flatbuffers.Builder(1024)
    builder.Finish(made.Pack(builder), b"TFL3")
    path = tmp_path / "named.tflite"
    path.write_bytes(bytes(builder.Output()))
    with ExitStack() as stack:
        found = own_names(read(path, stack)[0])
    assert found == {at["x"]: f"t{at['x']}", at["y"]: f"t{at['y']}", at["w"]: f"t{at['w']}_"}

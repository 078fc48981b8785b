"""Every function takes every source, leaves it as it is, and names it in errors and results."""

from __future__ import annotations

import io
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import onnx_ir
import pytest

import graphfix
from graphfix import GraphfixError
from graphfix.batch import batch_files
from models.builders.tflite.text import model as tflite_model
from tests.support.notation import model

ADD = "y[2,3] = Add(x[2,3], b[3])"
FREE = "y[N,3] = Add(x[N,3], b[N,3])"
TWICE = "v[2,3] = Add(x[2,3], b:const[3])\ny[2,3] = Mul(v, w:const[2,3])"
MADE: dict[str, Callable[[Path], Any]] = {
    "a path": lambda path: path,
    "a text": str,
    "bytes": lambda path: path.read_bytes(),
    "a bytearray": lambda path: bytearray(path.read_bytes()),
    "a memoryview": lambda path: memoryview(path.read_bytes()),
    "a buffer": lambda path: io.BytesIO(path.read_bytes()),
    "a ModelProto": onnx.load,
    "an onnx_ir.Model": onnx_ir.load,
    "a loaded Model": graphfix.load,
    "a Model of bytes": lambda path: graphfix.load(path.read_bytes()),
}
NAMED = {
    "bytes": "<bytes>",
    "a bytearray": "<bytes>",
    "a memoryview": "<bytes>",
    "a buffer": "<file>",
    "a ModelProto": "<ModelProto>",
    "an onnx_ir.Model": "<onnx_ir.Model>",
    "a Model of bytes": "<bytes>",
}
"""The sources that are not files, and how they are called."""
OF_TFLITE = sorted(set(MADE) - {"a ModelProto", "an onnx_ir.Model"})


@pytest.fixture
def path(tmp_path: Path) -> Path:
    made = tmp_path / "m.onnx"
    made.write_bytes(model(ADD).SerializeToString())
    return made


def is_rewound(source: Any) -> Any:  # noqa: ANN401 -- any source
    if isinstance(source, io.BytesIO):
        source.seek(0)
    return source


def operators(loaded: graphfix.Model) -> list[str]:
    """The operators of the file that the model is saved as."""
    return [node.op for node in graphfix.load(loaded.tobytes()).graphs[0].nodes]


def name_of(kind: str, path: Path) -> str:
    return NAMED.get(kind, str(path))


@pytest.mark.parametrize("kind", MADE)
def test_every_function_takes_it_and_says_its_name(kind: str, path: Path) -> None:
    source, before = MADE[kind](path), {each.name for each in path.parent.iterdir()}
    checked = graphfix.check(is_rewound(source))
    assert [site.code for site in checked.sites if site.status == "found"] == ["GF101", "GF102"]
    assert (checked.source, checked.model) == (name_of(kind, path), None)
    assert any("Add(x[2,3], b[3])" in line for line in graphfix.show(is_rewound(source)))
    outcome = graphfix.fix(is_rewound(source))
    assert (outcome.source, outcome.format) == (name_of(kind, path), "onnx")
    assert operators(outcome.model) == ["Reshape", "Expand", "Add"]
    assert graphfix.verify(is_rewound(source), outcome.model, runs=1).status == "proved"
    assert {each.name for each in path.parent.iterdir()} == before


@pytest.mark.parametrize("kind", OF_TFLITE)
def test_so_it_is_for_tflite(kind: str, tmp_path: Path) -> None:
    path = tmp_path / "m.tflite"
    path.write_bytes(tflite_model("y[2,3] = ADD(x[2,3], b[3])"))
    source = MADE[kind](path)
    assert graphfix.check(is_rewound(source)).source == name_of(kind, path)
    outcome = graphfix.fix(is_rewound(source), target="ranks")
    assert operators(outcome.model) == ["RESHAPE", "ADD"]
    assert graphfix.verify(is_rewound(source), outcome.model, runs=1).status == "proved"
    assert any("RESHAPE" in line for line in graphfix.show(outcome.model))


@pytest.mark.parametrize("kind", sorted(set(MADE) - {"a loaded Model", "a Model of bytes"}))
def test_fix_of_what_is_not_loaded_leaves_the_source_as_it_is(kind: str, path: Path) -> None:
    stored, source = path.read_bytes(), MADE[kind](path)
    outcome = graphfix.fix(source)
    assert outcome.model.tobytes() != stored
    again = is_rewound(source)
    assert path.read_bytes() == stored
    assert [node.op for node in graphfix.load(again).graphs[0].nodes] == ["Add"]


def test_fix_of_a_loaded_model_changes_that_model(path: Path) -> None:
    loaded = graphfix.load(path)
    outcome = graphfix.fix(loaded, target="ranks")
    assert outcome.model is loaded
    assert graphfix.load(loaded) is loaded
    assert graphfix.verify(path, loaded, runs=1).status == "proved"
    assert graphfix.verify(loaded, path, proof="only").status == "proved"
    assert not any(site.status == "found" for site in graphfix.check(loaded, target="ranks").sites)


def test_an_open_file_is_read_from_where_it_is_and_has_its_own_name(path: Path) -> None:
    with path.open("rb") as file:
        assert graphfix.check(file).source == str(path)
        assert file.read() == b""
        with pytest.raises(GraphfixError, match=r"m\.onnx: the file is empty"):
            graphfix.check(file)


def test_a_difference_is_found_in_memory(path: Path) -> None:
    other = onnx.load(path)
    other.graph.node[0].op_type = "Sub"
    verdict = graphfix.verify(path, other, runs=1)
    assert verdict.status == "different"
    assert "/graphfix-" not in repr((verdict.proof, verdict.reason, verdict.first_difference, verdict.load))


BAD = {
    "check": graphfix.check,
    "fix": graphfix.fix,
    "show": lambda source: list(graphfix.show(source)),
    "verify": lambda source: graphfix.verify(source, source),
    "load": graphfix.load,
}


@pytest.mark.parametrize("function", BAD)
@pytest.mark.parametrize("data", [b"", b"no model", b"TFL3TFL3" * 9, b"\x08\7\x12"], ids="empty text cut onnx".split())
def test_errors_name_bytes_and_never_a_temporary_file(function: str, data: bytes) -> None:
    with pytest.raises(GraphfixError) as caught:
        BAD[function](data)
    assert str(caught.value).startswith("<bytes>: ")
    assert "graphfix-" not in str(caught.value)
    assert "\n" not in str(caught.value)


def test_an_error_of_a_binding_names_the_message(path: Path) -> None:
    for call in (graphfix.check, graphfix.fix, lambda *a, **k: list(graphfix.show(*a, **k))):
        with pytest.raises(GraphfixError) as caught:
            call(onnx.load(path), dims={"K": 2})
        assert "--dim K: no input has a dim of that name" in str(caught.value)
        assert "graphfix-" not in str(caught.value)


def test_a_model_of_several_functions_is_a_finding_by_its_name() -> None:
    root = Path(__file__).parents[2]
    data = next(root.glob("models/**/signatures*.tflite")).read_bytes()
    sites = graphfix.check(data, target="tosa").sites
    assert sites[0].node == "<bytes>" or all(site.op != "model" for site in sites)


# --- external data ---------------------------------------------------------------------------------------------------


@pytest.fixture
def external(tmp_path: Path) -> Path:
    """A model whose weights lie in `w.bin` beside it."""
    proto = model(TWICE)
    for tensor in proto.graph.initializer:  # onnx moves raw data only
        tensor.CopyFrom(onnx.numpy_helper.from_array(onnx.numpy_helper.to_array(tensor), tensor.name))
    onnx.save(proto, tmp_path / "m.onnx", save_as_external_data=True, location="w.bin", size_threshold=0)
    return tmp_path / "m.onnx"


def test_the_folder_says_where_the_data_of_a_message_lies(external: Path, tmp_path: Path) -> None:
    proto, folder = onnx.load(external, load_external_data=False), external.parent
    with pytest.raises(GraphfixError, match=r"<ModelProto>: .* can't be found"):
        graphfix.load(proto)
    outcome = graphfix.fix(proto, folder=folder)
    assert graphfix.verify(proto, outcome.model, folder=folder, runs=1).status == "proved"
    assert graphfix.check(proto.SerializeToString(), folder=str(folder)).sites
    assert list(graphfix.show(proto, folder=folder))
    there = tmp_path / "there"
    there.mkdir()
    assert outcome.model.save(there / "f.onnx") == [there / "f.onnx.data"]
    assert graphfix.verify(external, there / "f.onnx", runs=1).status == "proved"
    assert {each.name for each in folder.iterdir()} == {"m.onnx", "w.bin", "there"}


def test_an_open_file_and_a_message_of_onnx_ir_know_their_folder(external: Path) -> None:
    with external.open("rb") as file:
        assert graphfix.fix(file, target="ranks").changed
    ir = onnx_ir.load(external)
    outcome = graphfix.fix(ir)
    assert graphfix.verify(ir, outcome.model, runs=1).status == "proved"
    made = outcome.model.to_ir().graph.initializers["w"].const_value
    assert isinstance(made, onnx_ir.ExternalTensor)
    assert made.numpy().shape == (2, 3)


# --- typed values ----------------------------------------------------------------------------------------------------


def test_sizes_and_values_are_numbers_pairs_and_arrays(tmp_path: Path) -> None:
    path = tmp_path / "m.onnx"
    path.write_bytes(model("y[N,3] = Mul(x[N,3], k[1])").SerializeToString())
    shown = list(graphfix.show(path, dims={"N": np.int64(4)}, values={"k": np.array([2.5], np.float32)}))
    assert any("Mul(x[4,3], k" in line for line in shown)
    assert any("x[4,3]" in line for line in graphfix.show(path, shapes={"x": [4, 3]}))
    assert any("x[N,3]" in line for line in graphfix.show(path, shapes={"x": (None, 3)}))
    assert graphfix.fix(path, dims={"N": (2, 64)}).model.inputs[0].shape.dims[1] == 3


def test_inputs_are_arrays_by_name(path: Path) -> None:
    arrays = {"x": np.arange(6, dtype=np.float32).reshape(2, 3), "b": np.ones(3, np.float32)}
    verdict = graphfix.verify(path, path.read_bytes(), inputs=arrays, proof="without")
    assert (verdict.status, {run.status for run in verdict.runs}) == ("equal", {"equal"})
    with pytest.raises(GraphfixError, match=r"^inputs: no value for the input 'b'"):
        graphfix.verify(path, path, inputs={"x": arrays["x"]})
    with pytest.raises(GraphfixError, match=r"inputs 'x' is .*; give the name of an input, and an array"):
        graphfix.verify(path, path, inputs={"x": object()})  # type: ignore[dict-item] -- wrong on purpose


TEXTS = {
    "dims": ({"dims": {"N": "2..64"}}, "write dims={'N': (2, 64)}"),
    "a mixture": ({"dims": {"N": "4", "M": 5}}, "write dims={'M': 5, 'N': 4}"),
    "shapes": ({"shapes": {"x": "?,3"}}, "write shapes={'x': (None, 3)}"),
    "same": ({"same": ["x[0]=b[0]"]}, "write same=[('x[0]', 'b[0]')]"),
    "values": ({"values": {"b": "[1,2]"}}, "write values={'b': (1, 2)}"),
}


@pytest.mark.parametrize("case", TEXTS)
def test_a_text_warns_once_with_what_to_write_in_place_of_it(case: str, tmp_path: Path) -> None:
    path = tmp_path / "m.onnx"
    path.write_bytes(model("y[N,3] = Add(x[N,3], b[N,3])\nz[M] = Neg(c[M])").SerializeToString())
    asked, how = TEXTS[case]
    with pytest.warns(DeprecationWarning, match="which the next minor version refuses") as caught:
        list(graphfix.show(path, **asked)) if case != "values" else refused(path, asked)
    assert [str(each.message).endswith(how) for each in caught] == [True]
    assert caught[0].filename == __file__


def refused(path: Path, asked: dict[str, Any]) -> None:
    with pytest.raises(GraphfixError, match="--set b"):
        graphfix.check(path, **asked)


@pytest.mark.ci
def test_typed_values_do_not_warn_and_a_batch_takes_them(tmp_path: Path) -> None:
    path = tmp_path / "m.onnx"
    path.write_bytes(model(FREE).SerializeToString())
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        (entry,) = batch_files([path], tmp_path / "out", jobs=1, dims={"N": 4}, command="check")
    assert entry.source == str(path)
    with pytest.warns(DeprecationWarning, match="write dims={'N': 4}"):
        batch_files([path], tmp_path / "out", jobs=1, dims={"N": "4"}, command="check")  # type: ignore[dict-item] -- a text


# --- the class -------------------------------------------------------------------------------------------------------

OWN = {"format", "graphs", "inputs", "outputs", "bind", "set_inputs", "save", "tobytes", "to_proto", "to_ir"}


def test_a_loaded_model_shows_its_own_names_only(path: Path) -> None:
    assert {name for name in dir(graphfix.load(path)) if not name.startswith("_")} == OWN


def test_inputs_and_outputs_are_in_the_order_of_the_file() -> None:
    loaded = graphfix.load(model("z[2] = Neg(b[2])\ny[2] = Neg(a[2])"))
    assert [value.name for value in loaded.inputs] == ["b", "a"]
    assert [value.name for value in loaded.outputs] == ["z", "y"]


def test_a_message_is_made_anew(path: Path) -> None:
    loaded = graphfix.load(path)
    first = loaded.to_proto()
    assert isinstance(first, onnx.ModelProto)
    assert isinstance(loaded.to_ir(), onnx_ir.Model)
    first.graph.node[0].op_type = "Sub"
    assert loaded.to_proto().graph.node[0].op_type == "Add"
    with pytest.raises(GraphfixError, match="to_proto is for ONNX models"):
        graphfix.load(tflite_model("y[2] = NEG(x[2])")).to_proto()
    with pytest.raises(GraphfixError, match="to_ir is for ONNX models"):
        graphfix.load(tflite_model("y[2] = NEG(x[2])")).to_ir()


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda loaded: loaded.bind({"N": "4"}), "dims 'N' is '4'; give a size such as 4"),
        (lambda loaded: loaded.bind(["N"]), "dims is ['N']; give a mapping of names"),
        (lambda loaded: loaded.bind(shapes={"x": 4}), "shapes 'x' is 4; give sizes"),
        (lambda loaded: loaded.bind(same=["x[0]"]), "same is ['x[0]']; give groups of names"),
        (lambda loaded: loaded.bind({"K": 4}), "--dim K: no input has a dim of that name"),
        (lambda loaded: loaded.set_inputs({"x": None}), "values 'x' is None; give a number"),
        (lambda loaded: loaded.set_inputs({"x": 1}, drop="yes"), "drop_set_inputs is 'yes'; give True or False"),
        (lambda loaded: loaded.save(3), "save takes the paths of files, not int"),
    ],
)
def test_a_wrong_argument_of_a_method_is_one_line(call: Callable[[graphfix.Model], object], message: str) -> None:
    with pytest.raises(GraphfixError) as caught:
        call(graphfix.load(model(FREE)))
    assert message in str(caught.value)
    assert "\n" not in str(caught.value)


def test_reprs_are_one_line_with_the_counts(path: Path) -> None:
    outcome = graphfix.fix(path, target="ranks")
    assert repr(outcome) == f"<Outcome: fix {path} for ranks: 1 changed>"
    assert repr(outcome.sites[0]) == "<Site: GF101 changed, Add 'Add#0' operand 1: [3] -> [1,3]>"
    verdict = graphfix.verify(path, outcome.model, runs=1)
    assert repr(verdict).startswith("<Verdict: proved, ")
    assert "equal" in repr(verdict)
    assert repr(graphfix.check(path.read_bytes())) == "<Outcome: check <bytes> for explicit: 2 found>"
    assert repr(graphfix.verify(path, path, proof="only")).startswith("<Verdict: proved")


def test_a_notebook_shows_the_report_in_a_frame(path: Path) -> None:
    outcome = graphfix.check(path)
    for shown in (outcome, graphfix.verify(path, path, runs=1)):
        html = shown._repr_html_()  # type: ignore[attr-defined] -- api adds it
        assert html.startswith('<iframe title="graphfix" sandbox="allow-scripts"')
        assert html.endswith("</iframe>")
        assert html.count("<") == 2
    many = [outcome.sites[0]] * 1200
    from dataclasses import replace

    long = replace(outcome, sites=many)._repr_html_()  # type: ignore[attr-defined] -- as above
    assert "1,000 sites are listed here, and 200 more are not" in long

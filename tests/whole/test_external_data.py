"""External data belongs to the model's folder: in every command, whatever the working folder is, behind any links."""

from __future__ import annotations

import json
import os
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper

import graphfix
from graphfix.batch import batch_files
from graphfix.cli import commands
from graphfix.engine.request import Request
from graphfix.results import GraphfixError, Outcome
from graphfix.tosa.command import tosa_file
from tests.support.notation import model as text_model
from tests.support.onnx.broken import external
from tests.support.onnx.layouts import DATA, OTHER, READ, REFUSED, laid_out

Capture = pytest.CaptureFixture[str]
READERS = {
    "check": (1, "2 findings for target explicit"),
    "show": (0, "y[2,3] = Add(x[2,3], b[3])"),
    "verify --proof-only": (0, "proved for all inputs and sizes"),
    "fix --no-verify": (0, "operand 1  [3] -> [1,3] -> [2,3]"),
}
"""Command -> its status and a part of its answer; none of these starts a runtime."""


def ask(capsys: Capture, *words: object) -> tuple[int, str, str]:
    """Run a command line; return its status, standard output and standard error."""
    capsys.readouterr()
    status = commands.main([*map(str, words)])
    printed = capsys.readouterr()
    return status, printed.out, printed.err


def command(name: str, model: Path, out: Path) -> list[object]:
    """A command line for a model; what is written goes to `out`."""
    verb, *options = name.split()
    files: Sequence[object] = {"verify": (model, model), "fix": (model, "-o", out)}.get(verb, (model,))
    return [verb, *files, *options]


# --- the layouts ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", READERS)
@pytest.mark.parametrize("layout", READ)
def test_every_command_reads_a_layout_that_people_have(tmp_path: Path, capsys: Capture, layout: str, name: str) -> None:
    path = laid_out(tmp_path, layout)
    (tmp_path / "out").mkdir()
    status, out, err = ask(capsys, *command(name, path, tmp_path / "out" / "o.onnx"))
    assert (status, err) == (READERS[name][0], "")
    assert READERS[name][1] in out


@pytest.mark.parametrize("name", READERS)
@pytest.mark.parametrize("layout", REFUSED)
def test_every_command_refuses_data_that_leaves_and_names_the_option_that_allows_it(
    tmp_path: Path, capsys: Capture, layout: str, name: str
) -> None:
    path = laid_out(tmp_path, layout)
    (tmp_path / "out").mkdir()
    asked = command(name, path, tmp_path / "out" / "o.onnx")
    status, out, err = ask(capsys, *asked)
    assert (status, out) == (2, "")
    assert err.startswith(f"graphfix: {path}: the ")
    place = tmp_path / "blobs" if "hub" in layout else tmp_path
    assert err.endswith(f"--data-root {place}\n")
    assert list((tmp_path / "out").iterdir()) == []
    status, out, err = ask(capsys, *asked, "--data-root", place)
    assert (status, err) == (READERS[name][0], "")
    assert READERS[name][1] in out


@pytest.mark.ci
@pytest.mark.parametrize("layout", ["hub", "hard links", "two dots"])
def test_fix_verifies_and_copies_the_data_into_another_folder(tmp_path: Path, capsys: Capture, layout: str) -> None:
    path = laid_out(tmp_path / "there", layout)
    (tmp_path / "out").mkdir()
    out = tmp_path / "out" / "o.onnx"
    root = ["--data-root", tmp_path] if layout in REFUSED else []
    status, answer, err = ask(capsys, "fix", path, "-o", out, "--runs", 1, *root)
    assert (status, err) == (0, "")
    assert "proved for all inputs and sizes; 1 output bit-equal over 1 run (onnxruntime" in answer
    (copy,) = (each for each in (tmp_path / "out").iterdir() if each != out)
    assert (copy.name, copy.read_bytes()) == ("o.onnx.data", DATA)
    assert (copy.is_symlink(), copy.stat().st_nlink) == (False, 1)
    assert ask(capsys, "check", out)[0] == 0
    onnx.load(out)


@pytest.mark.parametrize("layout", ["hard links", "link below", "two dots"])
def test_beside_the_model_the_reference_is_kept(tmp_path: Path, capsys: Capture, layout: str) -> None:
    path = laid_out(tmp_path, layout)
    before = sorted(path.parent.iterdir())
    out = path.parent / "o.onnx"
    root = ["--data-root", tmp_path] if layout in REFUSED else []
    assert ask(capsys, "fix", path, "-o", out, "--no-verify", *root)[0] == 0
    assert sorted(path.parent.iterdir()) == sorted([*before, out])
    assert ask(capsys, "check", out, *root)[0] == 0
    status, answer, _ = ask(capsys, "verify", path, out, "--runs", 1, *root)
    assert (status, "1 output bit-equal over 1 run" in answer) == (0, True)


def test_beside_the_links_of_a_hub_nothing_is_written_that_no_command_reads(tmp_path: Path, capsys: Capture) -> None:
    path = laid_out(tmp_path, "hub")
    out = path.parent / "o.onnx"
    status, _, err = ask(capsys, "fix", path, "-o", out)
    assert status == 2
    assert "its data 'w.bin' would be a link out of its folder; write it into another folder" in err
    assert err.endswith(f"--data-root {tmp_path / 'blobs'}\n")
    assert not out.exists()
    assert ask(capsys, "fix", path, "--in-place")[0] == 2
    assert path.is_symlink()
    root = ("--data-root", tmp_path / "blobs")
    assert ask(capsys, "fix", path, "-o", out, "--no-verify", *root)[0] == 0
    assert ask(capsys, "check", out, *root)[0] == 0


def test_a_copy_beside_a_link_is_not_proved_by_the_link_s_right_to_its_data(tmp_path: Path, capsys: Capture) -> None:
    path = laid_out(tmp_path, "hub")
    copy = path.parent / "copy.onnx"
    copy.write_bytes(path.read_bytes())
    status, _, err = ask(capsys, "verify", path, copy, "--proof-only")
    assert status == 2
    assert err.startswith(f"graphfix: {copy}: the data of 'b' lies at 'w.bin', out of the model's folder")


@pytest.mark.ci
@pytest.mark.parametrize("layout", ["hub", "hard links", "folder link below", "link that leaves", "two dots"])
def test_a_batch_reads_and_refuses_the_same_layouts(tmp_path: Path, layout: str) -> None:
    path = laid_out(tmp_path / "there", layout)
    for again in range(2):  # the second answer is told from the record, or made anew
        root = tmp_path if layout in REFUSED else ()
        (entry,) = batch_files([path], tmp_path / "out", jobs=1, runs=1, data_root=root)
        assert isinstance(entry, Outcome), entry.error
        assert entry.verdict is not None
        assert (entry.verdict.status, again) == ("proved", again)
        assert (tmp_path / "out" / "m.onnx.data").read_bytes() == DATA
    if layout in REFUSED:
        (entry,) = batch_files([path], tmp_path / "out", jobs=1, runs=1)
        assert not isinstance(entry, Outcome)
        assert "--data-root" in entry.error


@pytest.mark.ci
@pytest.mark.tosa
@pytest.mark.parametrize("layout", ["hub", "hard links", "two dots"])
def test_a_conversion_reads_and_refuses_the_same_layouts(tmp_path: Path, layout: str) -> None:
    path = laid_out(tmp_path, layout)
    (tmp_path / "out").mkdir()
    root: Path | tuple[()] = ()
    if layout in REFUSED:
        with pytest.raises(GraphfixError, match="--data-root"):
            tosa_file(path, tmp_path / "out" / "o.tosa")
        root = tmp_path
    outcome = tosa_file(path, tmp_path / "out" / "o.tosa", run=True, data_root=root)
    assert outcome.conversion is not None
    assert outcome.conversion.status == "agrees"


# --- several models ---------------------------------------------------------------------------------------------------


def of_data(path: Path, data: bytes, location: str = "model.onnx.data") -> Path:
    """Write y[2,3] = Add(x[2,3], b[3]), whose b is in a data file with these bytes."""
    path.parent.mkdir(parents=True, exist_ok=True)
    external(path, location)
    (path.parent / location).write_bytes(data)
    return path


def constant(path: Path) -> bytes:
    """The constant of such a model, as onnx's own loader reads it."""
    (tensor,) = (each for each in onnx.load(path).graph.initializer if each.data_type == TensorProto.FLOAT)
    return bytes(tensor.raw_data)


@pytest.mark.ci
def test_variants_whose_data_has_one_name_are_fixed_into_one_folder(tmp_path: Path, capsys: Capture) -> None:
    (tmp_path / "out").mkdir()
    for name, data in (("int4", DATA), ("fp16", OTHER)):
        path, out = of_data(tmp_path / name / "model.onnx", data), tmp_path / "out" / f"{name}.onnx"
        assert ask(capsys, "fix", path, "-o", out, "--runs", 1)[0] == 0
        assert ask(capsys, "verify", path, out, "--proof-only")[0] == 0
    assert sorted(path.name for path in (tmp_path / "out").iterdir()) == [
        "fp16.onnx",
        "fp16.onnx.data",
        "int4.onnx",
        "int4.onnx.data",
    ]
    assert [constant(tmp_path / "out" / f"{name}.onnx") for name in ("int4", "fp16")] == [DATA, OTHER]


@pytest.mark.ci
def test_a_pair_beside_each_other_is_fixed_in_place_with_its_data(tmp_path: Path, capsys: Capture) -> None:
    names = {"encoder_model.onnx": DATA, "decoder_model.onnx": OTHER}
    paths = [of_data(tmp_path / name, data, f"{name}_data") for name, data in names.items()]
    before = sorted(tmp_path.iterdir())
    for path in paths:
        assert ask(capsys, "fix", path, "--in-place", "--runs", 1)[0] == 0
    assert sorted(tmp_path.iterdir()) == before
    assert [constant(path) for path in paths] == [DATA, OTHER]


@pytest.mark.ci
def test_models_of_a_pipeline_keep_their_folders_in_a_batch(tmp_path: Path) -> None:
    parts = {"text_encoder": DATA, "unet": OTHER, "vae_decoder": DATA[::-1]}
    for name, data in parts.items():
        of_data(tmp_path / "in" / name / "model.onnx", data)
    entries = list(batch_files([tmp_path / "in"], tmp_path / "out", jobs=1, runs=1))
    assert [isinstance(entry, Outcome) for entry in entries] == [True] * 3
    assert {name: constant(tmp_path / "out" / name / "model.onnx") for name in parts} == parts


def test_a_second_fix_replaces_the_model_and_keeps_the_same_data(tmp_path: Path, capsys: Capture) -> None:
    path, out = of_data(tmp_path / "in" / "model.onnx", DATA), tmp_path / "out" / "o.onnx"
    out.parent.mkdir()
    for _ in range(2):
        assert ask(capsys, "fix", path, "-o", out, "--no-verify")[0] == 0
    path.with_name("model.onnx.data").write_bytes(OTHER)
    status, _, err = ask(capsys, "fix", path, "-o", out, "--no-verify")
    assert (status, err) == (
        2,
        f"graphfix: {out}.data: something else of this name exists and is kept; remove it, or choose another name\n",
    )


# --- the working folder ---------------------------------------------------------------------------------------------


def split(path: Path, text: str, array: np.ndarray, *, opset: int = 17) -> Path:
    """A model in the project's notation, whose one constant has these elements in `m.data` beside it."""
    proto = text_model(text, opset=opset)
    (tensor,) = proto.graph.initializer
    tensor.CopyFrom(TensorProto(name=tensor.name, dims=array.shape, data_type=tensor.data_type))
    tensor.data_location = TensorProto.EXTERNAL
    tensor.external_data.add(key="location", value="m.data")
    path.parent.mkdir(parents=True)
    path.write_bytes(proto.SerializeToString())
    (path.parent / "m.data").write_bytes(array.tobytes())
    return path


WHERE = ("a folder with another file of that name", "/")


@pytest.fixture(params=WHERE)
def elsewhere(request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Work in the root folder, or in one that holds another `m.data` and another `w.bin`."""
    decoy = tmp_path / "decoy"
    decoy.mkdir()
    for name in ("m.data", "w.bin"):
        (decoy / name).write_bytes(OTHER * 64)
    monkeypatch.chdir("/" if request.param == "/" else decoy)


@pytest.mark.ci
@pytest.mark.usefixtures("elsewhere")
@pytest.mark.parametrize("target", ["compact", "explicit", "tosa"])
def test_fix_from_elsewhere_writes_the_bytes_that_it_writes_at_home(
    tmp_path: Path, capsys: Capture, monkeypatch: pytest.MonkeyPatch, target: str
) -> None:
    same = np.float32([[1, 2, 3, 4]] * 3)
    path = split(tmp_path / "home" / "m.onnx", "y[2,3,4] = Add(x[2,3,4], c:const[3,4])", same)
    made = []
    for place in (Path.cwd(), path.parent):
        monkeypatch.chdir(place)
        out = tmp_path / f"out{len(made)}"
        out.mkdir()
        source = os.path.relpath(path) if made else path
        status, answer, err = ask(capsys, "fix", source, "-o", out / "o.onnx", "--target", target, "--runs", 1)
        assert (status, err) == (0, ""), answer
        made.append((out / "o.onnx").read_bytes())
    assert made[0] == made[1]


@pytest.mark.usefixtures("elsewhere")
@pytest.mark.parametrize("name", READERS)
def test_every_command_reads_the_data_of_the_model_from_elsewhere(tmp_path: Path, capsys: Capture, name: str) -> None:
    path = laid_out(tmp_path / "home", "plain")
    (tmp_path / "out").mkdir()
    status, out, err = ask(capsys, *command(name, path, tmp_path / "out" / "o.onnx"))
    assert (status, err) == (READERS[name][0], "")
    assert READERS[name][1] in out


@pytest.mark.usefixtures("elsewhere")
def test_the_runs_of_verify_read_the_data_of_both_models_from_elsewhere(tmp_path: Path, capsys: Capture) -> None:
    path = laid_out(tmp_path / "home", "plain")
    (tmp_path / "out").mkdir()
    fixed = tmp_path / "out" / "o.onnx"
    assert ask(capsys, "fix", path, "-o", fixed, "--no-verify")[0] == 0
    status, out, err = ask(capsys, "verify", path, fixed, "--runs", 1)
    assert (status, err, "1 output bit-equal over 1 run" in out) == (0, "", True)


@pytest.mark.usefixtures("elsewhere")
def test_an_upgrade_of_the_opset_reads_the_scales_of_the_model(tmp_path: Path) -> None:
    text, scales = "y[1,1,4,4] = Resize(x[1,1,2,2], s:const[4])", np.float32([1, 1, 2, 2])
    model = graphfix.load(split(tmp_path / "home" / "m.onnx", text, scales, opset=10))
    assert graphfix.fix(model, target="tosa").rewrites["upgrade-opset"] == 1


@pytest.mark.usefixtures("elsewhere")
def test_a_loaded_model_keeps_its_folder_when_the_working_folder_changes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = laid_out(tmp_path / "home", "plain")
    elsewhere = Path.cwd()
    monkeypatch.chdir(path.parent)
    model = graphfix.load("m.onnx")
    monkeypatch.chdir(elsewhere)
    graphfix.fix(model)
    (tmp_path / "out").mkdir()
    model.save(tmp_path / "out" / "o.onnx")
    assert (tmp_path / "out" / "o.onnx.data").read_bytes() == DATA


@pytest.mark.usefixtures("elsewhere")
def test_test_inputs_whose_values_lie_in_another_file_are_refused(tmp_path: Path, capsys: Capture) -> None:
    path = laid_out(tmp_path / "home", "plain")
    tensor = TensorProto(name="x", data_type=1, dims=[2, 3], data_location=TensorProto.EXTERNAL)
    tensor.external_data.add(key="location", value="w.bin")
    (tmp_path / "set").mkdir()
    (tmp_path / "set" / "input_0.pb").write_bytes(tensor.SerializeToString())
    status, _, err = ask(capsys, "verify", path, path, "--inputs", tmp_path / "set")
    assert status == 2
    assert err == (
        f"graphfix: {tmp_path / 'set' / 'input_0.pb'}: its values lie in another file; "
        "write it again with the values inside\n"
    )


# --- what is run without onnxruntime ----------------------------------------------------------------------------------


def test_onnx_s_evaluator_reads_hard_links_which_its_own_loader_refuses(tmp_path: Path) -> None:
    path = laid_out(tmp_path, "hard links")
    proto = onnx.load(path, load_external_data=False)
    proto.opset_import[0].version, proto.ir_version = 6, 3
    proto.graph.node[0].attribute.append(helper.make_attribute("broadcast", 1))
    proto.graph.input.append(helper.make_tensor_value_info("b", TensorProto.FLOAT, [3]))
    proto.graph.node.add(op_type="Selu", input=["y"], output=["z"])
    path.unlink()
    path.write_bytes(proto.SerializeToString())
    verdict = graphfix.verify(path, path, runs=1, proof="without")
    assert (verdict.status, "onnx.reference" in verdict.versions) == ("equal", True)


# --- data files that are cut short ------------------------------------------------------------------------------------


def data_fault(path: Path, **entries: str | None) -> None:
    """Change the entries of the data file of the model's only constant; None removes an entry."""
    model = onnx.load(path, load_external_data=False)
    (tensor,) = model.graph.initializer
    kept = {each.key: each.value for each in tensor.external_data} | entries
    del tensor.external_data[:]
    for key, value in kept.items():
        if value is not None:
            tensor.external_data.add(key=key, value=value)
    path.write_bytes(model.SerializeToString())


@pytest.mark.parametrize("name", READERS)
@pytest.mark.parametrize("length", [None, "0"], ids=["no length", "length 0"])
def test_every_command_refuses_a_data_file_that_ends_before_the_bytes_of_the_shape(
    tmp_path: Path, capsys: Capture, length: str | None, name: str
) -> None:
    path = laid_out(tmp_path, "plain")
    data_fault(path, length=length, offset="0")
    path.with_name("w.bin").write_bytes(DATA[:-1])
    status, out, err = ask(capsys, *command(name, path, tmp_path / "o.onnx"))
    assert (status, out) == (2, "")
    assert err.endswith("; restore the whole file\n")
    assert err.count("\n") == 1
    assert "12" in err


@pytest.mark.parametrize("name", READERS)
def test_every_command_refuses_external_data_without_a_location(tmp_path: Path, capsys: Capture, name: str) -> None:
    path = laid_out(tmp_path, "plain")
    data_fault(path, location=None, offset=None, length=None)
    status, out, err = ask(capsys, *command(name, path, tmp_path / "o.onnx"))
    assert (status, out) == (2, "")
    assert err.endswith("; save the model again with its data\n")


@pytest.mark.parametrize("name", ["check", "show", "fix --no-verify"])
def test_a_length_that_is_not_that_of_the_shape_is_refused(tmp_path: Path, capsys: Capture, name: str) -> None:
    path = laid_out(tmp_path, "plain")
    data_fault(path, length="11", offset="0")
    status, out, err = ask(capsys, *command(name, path, tmp_path / "o.onnx"))
    assert (status, out) == (2, "")
    assert err.endswith("the initializer 'b' holds 11 bytes, its shape [3] asks for 12; export it again\n")


# --- the option -----------------------------------------------------------------------------------------------------


def test_a_data_root_that_is_no_folder_is_refused(tmp_path: Path, capsys: Capture) -> None:
    path = laid_out(tmp_path, "plain")
    for root in (tmp_path / "nowhere", path, "a" * 300):
        status, _, err = ask(capsys, "check", path, "--data-root", root)
        what = "no such folder; name the folder that holds the data files"
        assert (status, err) == (2, f"graphfix: --data-root {root}: {what}\n")


def test_a_configuration_names_data_roots_from_its_own_folder(
    tmp_path: Path, capsys: Capture, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = laid_out(tmp_path / "there", "link that leaves")
    (tmp_path / "graphfix.toml").write_text('data-root = ["there"]\n')
    monkeypatch.chdir(path.parent)
    assert ask(capsys, "check", path)[0] == 1
    _, out, _ = ask(capsys, "config", "--json")
    (root,) = json.loads(out)["options"]["data-root"]["value"]
    assert Path(root).samefile(tmp_path / "there")


def test_a_data_root_is_one_folder_or_several() -> None:
    assert Request(data_root="tests").data_roots == (Path("tests"),)
    assert Request(data_root=["tests", Path("docs")]).data_roots == (Path("tests"), Path("docs"))
    with pytest.raises(GraphfixError, match="no such folder"):
        Request(data_root="")

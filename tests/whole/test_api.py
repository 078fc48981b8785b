"""The Python functions over files: what is written where, what is refused, and that nothing is left behind."""

from __future__ import annotations

import inspect
import io
import os
import re
import stat
from collections.abc import Callable
from dataclasses import fields
from pathlib import Path
from types import ModuleType

import numpy as np
import onnx
import pytest

import graphfix
import graphfix.api.typing
from graphfix.api import pipeline
from graphfix.batch import batch_files
from graphfix.engine.request import Request
from graphfix.report import pages
from graphfix.results import GraphfixError, Verdict
from graphfix.results.progress import Notice
from graphfix.targets import registry
from graphfix.targets.target import page as target_page
from graphfix.tosa import tosa_file
from models.builders.tflite.text import model as tflite_model
from tests.support.notation import model, parsed
from tests.support.onnx.fixing import initializer

ADD = "y[2,3] = Add(x[2,3], b:const[3])"
FREE = "y[N,3] = Add(x[N,3], b[N,3])"


def write(path: Path, text: str = ADD) -> Path:
    path.write_bytes(model(text).SerializeToString())
    return path


def names(folder: Path) -> set[str]:
    return {path.name for path in folder.iterdir()}


def operands(path: Path) -> list[tuple[int, ...]]:
    return [tuple(tensor.dims) for tensor in onnx.load(path).graph.initializer]


def test_a_path_a_files_bytes_and_a_message_are_one_model(tmp_path: Path) -> None:
    proto = model(ADD)
    path = write(tmp_path / "m.onnx")
    for source in (path, str(path), proto.SerializeToString(), proto):
        assert [str(node) for node in graphfix.load(source).graphs[0].nodes] == ["y[2,3] = Add(x[2,3], b[3])"]


def test_a_model_in_memory_is_fixed_in_place_and_saved(tmp_path: Path) -> None:
    opened = graphfix.load(model(ADD))
    outcome = graphfix.fix(opened, target="ranks")
    assert (outcome.command, outcome.changed, outcome.target, outcome.format) == (
        "fix",
        True,
        "ranks",
        "onnx",
    )
    assert list(opened.save(tmp_path / "out.onnx")) == []
    assert operands(tmp_path / "out.onnx") == [(1, 3)]


@pytest.mark.parametrize("check_result", [True, False], ids=["verified", "not verified"])
def test_a_file_is_fixed(tmp_path: Path, check_result: bool) -> None:
    source, output = write(tmp_path / "m.onnx"), tmp_path / "f.onnx"
    before = source.read_bytes()
    outcome = graphfix.fix_file(source, output, target="ranks", check_result=check_result)
    assert operands(output) == [(1, 3)]
    assert outcome.output == str(output)
    assert outcome.verdict is not None
    assert outcome.verdict.status == ("proved" if check_result else "skipped")
    assert source.read_bytes() == before
    assert names(tmp_path) == {"m.onnx", "f.onnx"}
    assert set(outcome.seconds) >= {"load", "plan", "write"}


def test_nothing_to_do_is_a_copy_byte_for_byte(tmp_path: Path) -> None:
    source, output = tmp_path / "m.onnx", tmp_path / "f.onnx"
    # a field that no onnx release knows, and an order that protobuf would not write
    source.write_bytes(b"\xfa\x3f\x03abc" + model("y[2,3] = Add(x[2,3], b[2,3])").SerializeToString())
    outcome = graphfix.fix_file(source, output)
    assert not outcome.changed
    assert output.read_bytes() == source.read_bytes()


@pytest.mark.ci
def test_binding_is_a_change(tmp_path: Path) -> None:
    source, output = write(tmp_path / "m.onnx", FREE), tmp_path / "f.onnx"
    outcome = graphfix.fix_file(source, output, dims={"N": 4})
    assert outcome.changed
    assert [dim.dim_value for dim in onnx.load(output).graph.output[0].type.tensor_type.shape.dim] == [4, 3]


def test_a_range_is_no_change(tmp_path: Path) -> None:
    source, output = write(tmp_path / "m.onnx", FREE), tmp_path / "f.onnx"
    assert not graphfix.fix_file(source, output, dims={"N": (2, 64)}).changed
    assert output.read_bytes() == source.read_bytes()


@pytest.mark.ci
def test_the_output_replaces_a_file_and_keeps_its_mode(tmp_path: Path) -> None:
    source, output = write(tmp_path / "m.onnx"), tmp_path / "f.onnx"
    for check_result in (True, False):
        output.write_bytes(b"old")
        output.chmod(0o640)
        graphfix.fix_file(source, output, target="ranks", check_result=check_result)
        assert operands(output) == [(1, 3)]
        assert stat.S_IMODE(output.stat().st_mode) == 0o640


@pytest.mark.parametrize("check_result", [True, False])
def test_in_place(tmp_path: Path, check_result: bool) -> None:
    source = write(tmp_path / "m.onnx")
    graphfix.fix_file(source, source, target="ranks", in_place=True, check_result=check_result)
    assert operands(source) == [(1, 3)]
    assert names(tmp_path) == {"m.onnx"}


def aliases(source: Path) -> dict[str, Path]:
    link, hard = source.parent / "link.onnx", source.parent / "hard.onnx"
    link.symlink_to(source)
    os.link(source, hard)
    return {
        "itself": source,
        "another spelling": source.parent / "." / source.name,
        "a symlink": link,
        "a hard link": hard,
    }


@pytest.mark.parametrize("alias", ["itself", "another spelling", "a symlink", "a hard link"])
def test_the_input_is_never_overwritten_unasked(tmp_path: Path, alias: str) -> None:
    source = write(tmp_path / "m.onnx")
    before, output = source.read_bytes(), aliases(source)[alias]
    with pytest.raises(GraphfixError, match=r"the output is the input; .* --in-place"):
        graphfix.fix_file(source, output)
    assert source.read_bytes() == before


REFUSED = {
    "an unknown target": ({"target": "moon"}, "target 'moon' is not one of explicit, ranks"),
    "unknown broadcasts": (
        {"broadcasts": "some"},
        "broadcasts 'some' is not one of keep, two-sided, explicit",
    ),
    "broadcasts for a target that makes none": (
        {"target": "compact", "broadcasts": "explicit"},
        "broadcasts 'explicit': target compact takes stretches out and makes none; leave it out",
    ),
    "unknown unknown": ({"unknown": "guess"}, "unknown 'guess' is not one of expand, keep, assume, error"),
    "an unknown rewrite": ({"only": ["tidy"]}, "'tidy' is not a rewrite; `graphfix explain` lists them"),
    "an unknown rewrite to skip": ({"skip": ["tidy"]}, "'tidy' is not a rewrite"),
    "a size that is no number": (
        {"dims": {"N": "four"}},
        "--dim N=four: give a number such as 4, or a range",
    ),
    "a range upside down": ({"dims": {"N": "8..2"}}, "--dim N=8..2"),
    "a dim that is not there": ({"dims": {"K": 2}}, "--dim K: no input has a dim of that name; free: N"),
    "a shape that is none": ({"shapes": {"x": "2,N"}}, "--shape x=2,N: give sizes such as"),
    "a shape of no input": ({"shapes": {"q": (2,)}}, "--shape q: there is no input 'q'; inputs: x, b"),
}


@pytest.mark.parametrize(("options", "message"), REFUSED.values(), ids=REFUSED)
def test_a_request_that_makes_no_sense_writes_nothing(tmp_path: Path, options: dict[str, object], message: str) -> None:
    source = write(tmp_path / "m.onnx", FREE)
    with pytest.raises(GraphfixError) as caught:
        graphfix.fix_file(source, tmp_path / "f.onnx", **options)  # type: ignore[arg-type] -- wrong on purpose
    assert message in str(caught.value)
    assert "\n" not in str(caught.value)
    assert names(tmp_path) == {"m.onnx"}


WRONG = {
    "fix of a number": (lambda _: graphfix.fix(3), "fix takes a path, bytes, a binary file object, an onnx.ModelProto"),  # type: ignore[arg-type] -- wrong on purpose
    "fix of a graph": (
        lambda path: graphfix.fix(onnx.load(path).graph),  # type: ignore[arg-type] -- as above
        "an onnx_ir.Model or a graphfix.Model, not GraphProto",
    ),
    "load of nothing": (lambda _: graphfix.load(None), "load takes a path, bytes"),  # type: ignore[arg-type] -- as above
    "load of a text file": (
        lambda path: graphfix.load(io.StringIO(path.name)),  # type: ignore[arg-type] -- as above
        "load takes files that are open in binary mode: open(path, 'rb')",
    ),
    "check of nothing": (lambda _: graphfix.check(None), "check takes a path, bytes"),  # type: ignore[arg-type] -- as above
    "show of nothing": (lambda _: list(graphfix.show(None)), "show takes a path, bytes"),  # type: ignore[arg-type] -- as above
    "verify of no model": (lambda path: graphfix.verify(path, b"x"), "<bytes>: a text file: give the path of an ONNX"),
    "verify of nothing": (lambda path: graphfix.verify(path, None), "verify takes a path, bytes"),  # type: ignore[arg-type] -- as above
    "a folder of a path": (
        lambda path: graphfix.check(path, folder="."),
        "folder is '.'; leave it out",
    ),
    "no folder": (lambda path: graphfix.check(path.read_bytes(), folder="none"), "folder is 'none': no such folder"),
    "a folder that is a number": (lambda path: graphfix.check(path.read_bytes(), folder=3), "check takes the paths of"),  # type: ignore[arg-type] -- as above
    "fix_file to nothing": (lambda path: graphfix.fix_file(path, None), "fix_file takes the paths of files"),  # type: ignore[arg-type] -- as above
    "a URL to load": (
        lambda _: graphfix.load("https://host/m.onnx"),
        "load: https://host/m.onnx: a URL, ",
    ),
    "explain of a number": (lambda _: graphfix.explain(3), "explain takes a rewrite"),  # type: ignore[arg-type] -- as above
    "no target file": (
        lambda path: graphfix.check(path, target_file=""),
        "target_file is an empty text; give the path",
    ),
    "a shape that is a number": (
        lambda path: graphfix.check(path, shapes={"x": 2}),  # type: ignore[dict-item] -- as above
        "shapes 'x' is 2; give sizes such as (1, 3, 224, 224), with None for a free one",
    ),
    "a shape of fractions": (lambda path: graphfix.check(path, shapes={"x": (1, 2.5)}), "shapes 'x' is (1, 2.5); give"),  # type: ignore[dict-item] -- as above
    "a size that is a fraction": (
        lambda path: graphfix.check(path, dims={"N": 4.5}),  # type: ignore[dict-item] -- as above
        "dims 'N' is 4.5; give a size such as 4, or the ends of a range such as (2, 64)",
    ),
    "a size that is True": (lambda path: graphfix.check(path, dims={"N": True}), "dims 'N' is True; give a size"),
    "a size below 0": (lambda path: graphfix.check(path, dims={"N": -1}), "dims 'N' is -1; give a size"),
    "a range that is upside down": (lambda path: graphfix.check(path, dims={"N": (8, 2)}), "dims 'N' is (8, 2); give"),
    "a name that is a number": (lambda path: graphfix.check(path, dims={3: 4}), "dims is {3: 4}; give a mapping"),  # type: ignore[dict-item] -- as above
    "a value that is an object": (
        lambda path: graphfix.check(path, values={"x": {}}),  # type: ignore[dict-item] -- as above
        "values 'x' is {}; give a number, True or False, or a flat list such as [1, 2, 3]",
    ),
    "a group of one size": (
        lambda path: graphfix.check(path, same=[("a",)]),
        "same is [('a',)]; give groups of names, such as [('ids[0]', 'mask[0]')]",
    ),
    "one text of equal sizes": (lambda path: graphfix.check(path, same="a=b"), "same is 'a=b'; give groups of names"),  # type: ignore[arg-type] -- as above
    "one rewrite": (
        lambda path: graphfix.check(path, only="equalize-ranks"),
        "only is 'equalize-ranks'; give a list of texts, such as ['equalize-ranks']",
    ),
    "a target that is a list": (lambda path: graphfix.check(path, target=["tosa"]), "target is ['tosa']; give a text"),  # type: ignore[arg-type] -- as above
    "a target file that is a mapping": (
        lambda path: graphfix.check(path, target_file={}),  # type: ignore[arg-type] -- as above
        "target_file is {}; give the path of a file",
    ),
    "a size of bytes that is a text": (
        lambda path: graphfix.check(path, max_expand_bytes="1M"),  # type: ignore[arg-type] -- as above
        "max_expand_bytes is '1M'; give a whole number below 2^63, or None",
    ),
    "too many runs": (lambda path: graphfix.verify(path, path, runs=10**30), "give a whole number below 2^63, or None"),
    "a tolerance that is no number": (
        lambda path: graphfix.verify(path, path, atol=float("nan")),
        "a tolerance is at least 0, and atol is nan",
    ),
    "a tolerance that is a text": (
        lambda path: graphfix.verify(path, path, atol="0.1"),  # type: ignore[arg-type] -- as above
        "atol is '0.1'; give a number, or None",
    ),
    "inputs that are a list": (
        lambda path: graphfix.verify(path, path, inputs=[1.0]),  # type: ignore[arg-type] -- as above
        "inputs is [1.0]; give the path of a file, a mapping of names to arrays, or None",
    ),
    "no broadcasts": (
        lambda path: graphfix.check(path, broadcasts=""),
        "broadcasts '' is not one of keep, two-sided, explicit",
    ),
    "a proof that is an array": (
        lambda path: graphfix.verify(path, path, proof=np.zeros(3)),  # type: ignore[arg-type] -- as above
        "proof is array([0., 0., 0.]); give with, only or without",
    ),
    "progress that is a number": (
        lambda path: graphfix.verify(path, path, progress=3),  # type: ignore[arg-type] -- as above
        "progress is 3; give a function that takes a text",
    ),
    "another proof": (
        lambda path: graphfix.verify(path, path, proof="never"),  # type: ignore[arg-type] -- as above
        "proof is 'never'; give with, only or without",
    ),
    "nodes that are a list": (
        lambda path: list(graphfix.show(path, nodes=["Add"])),  # type: ignore[arg-type] -- as above
        "nodes is ['Add']; give a text with a pattern, or None",
    ),
    "around a name alone": (
        lambda path: list(graphfix.show(path, around="add")),  # type: ignore[arg-type] -- as above
        "around is 'add'; give a node's name and a number, such as ('add', 2)",
    ),
    "save to nothing": (
        lambda path: graphfix.load(path).save(None),  # type: ignore[arg-type] -- as above
        "save takes the paths of files, not NoneType",
    ),
    "save of a TFLite model to a number": (
        lambda _: graphfix.load(tflite_model("y[2,3] = ADD(x[2,3], b[3])")).save(3),  # type: ignore[arg-type] -- as above
        "save takes the paths of files, not int",
    ),
    "tosa_file of a number": (
        lambda path: tosa_file(3, path),  # type: ignore[arg-type] -- as above
        "tosa_file takes the paths of files, not int",
    ),
    "tosa_file to a number": (
        lambda path: tosa_file(path, 3),  # type: ignore[arg-type] -- as above
        "tosa_file takes the paths of files, not int",
    ),
    "explain of a file that is a number": (
        lambda _: graphfix.explain(target_file=3),  # type: ignore[arg-type] -- as above
        "explain takes the paths of files, not int",
    ),
    "a client that is a number": (
        lambda path: batch_files([path], path.parent / "out", client=3),
        "client is 3; give a Client of Dask's distributed, or None",
    ),
    "retries that are a text": (
        lambda path: batch_files([path], path.parent / "out", retries="2"),  # type: ignore[arg-type] -- as above
        "retries is '2'; give a whole number from 0 on",
    ),
    "again as a number": (
        lambda path: batch_files([path], path.parent / "out", again=1),  # type: ignore[arg-type] -- as above
        "again is 1; give True or False",
    ),
    "a choice that is a text": (
        lambda path: graphfix.fix_file(path, path.parent / "f.onnx", in_place="q"),  # type: ignore[arg-type] -- as above
        "in_place is 'q'; give True or False",
    ),
    "another choice that is a text": (
        lambda path: graphfix.check(path, keep_fusions="yes"),  # type: ignore[arg-type] -- as above
        "keep_fusions is 'yes'; give True or False",
    ),
    "a choice that is a number": (
        lambda path: graphfix.check(path, trust_stored=1),  # type: ignore[arg-type] -- as above
        "trust_stored is 1; give True or False",
    ),
    "maps as a text": (
        lambda path: list(graphfix.show(path, maps="x")),  # type: ignore[arg-type] -- as above
        "maps is 'x'; give True or False",
    ),
    "True runs": (
        lambda path: graphfix.verify(path, path, runs=True),
        "runs is True; give a whole number below 2^63, or None",
    ),
    "a tolerance that is True": (
        lambda path: graphfix.verify(path, path, atol=True),
        "atol is True; give a number, or None",
    ),
    "a tolerance without end": (
        lambda path: graphfix.verify(path, path, rtol=float("inf")),
        "a tolerance is finite, and rtol is inf; give 0 for bit equality",
    ),
    "no name of a file": (lambda _: graphfix.check("a\0b"), "no file has the name 'a\\x00b'"),
    "models that are one text": (
        lambda path: batch_files(str(path), "out"),
        "give a list of paths, such as ['models']",
    ),
    "sizes of a batch that are a list": (
        lambda path: batch_files([path], "out", dims=["N=4"]),  # type: ignore[arg-type] -- as above
        "dims is ['N=4']; give a mapping of names, such as {'batch': 4, 'seq': (2, 64)}",
    ),
    "a list of sizes": (
        lambda path: graphfix.check(path, dims=["N=4"]),
        "dims is ['N=4']; give a mapping of names, such as {'batch': 4, 'seq': (2, 64)}",
    ),  # type: ignore[arg-type] -- as above
}


@pytest.mark.parametrize("case", WRONG)
def test_a_value_of_another_type_is_one_line(case: str, tmp_path: Path) -> None:
    source = write(tmp_path / "m.onnx", FREE)
    call, message = WRONG[case]
    with pytest.raises(GraphfixError) as caught:
        call(source)
    assert message in str(caught.value)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("kind", [str, Path])
def test_the_inputs_of_verify_are_a_text_or_a_path(tmp_path: Path, kind: type) -> None:
    source = write(tmp_path / "m.onnx", "y[2] = Neg(x[2])")
    np.savez(tmp_path / "x.npz", x=np.array([1, -2], np.float32))
    verdict = graphfix.verify(source, source, inputs=kind(tmp_path / "x.npz"), proof="without")
    assert (verdict.status, [run.status for run in verdict.runs][:1]) == ("equal", ["equal"])


def test_free_sizes_are_sites_of_a_loaded_model_and_end_a_file_s_fix(tmp_path: Path) -> None:
    source = write(tmp_path / "m.onnx", FREE)
    outcome = graphfix.fix(graphfix.load(source), target="ethos-u")
    assert "GF302" in {site.code for site in outcome.sites}
    with pytest.raises(GraphfixError, match="target ethos-u needs sizes"):
        graphfix.fix_file(source, tmp_path / "f.onnx", target="ethos-u")


def test_incompatible_shapes_name_the_file_the_operator_and_all_shapes(tmp_path: Path) -> None:
    source = tmp_path / "m.onnx"
    proto = parsed("main (float[2,3] x, float[4,3] b, float[3] c) => (float[] y) { [head] y = Sum(x, b, c) }")
    proto.graph.output[0].type.tensor_type.ClearField("shape")
    source.write_bytes(proto.SerializeToString())
    for call in (lambda: graphfix.fix_file(source, tmp_path / "f.onnx"), lambda: graphfix.check(source)):
        with pytest.raises(GraphfixError) as caught:
            call()
        assert str(caught.value) == f"{source}: Sum 'head': [2, 3], [4, 3] and [3] do not broadcast (GF105)"
    assert names(tmp_path) == {"m.onnx"}


def test_error_for_an_unknown_size_writes_nothing(tmp_path: Path) -> None:
    source = write(tmp_path / "m.onnx", "y[?] = Add(x[N], b[M])")
    with pytest.raises(GraphfixError, match=r"m\.onnx: Add 'Add#0': operand 0 x\[N\] may be stretched"):
        graphfix.fix_file(source, tmp_path / "f.onnx", unknown="error")
    assert names(tmp_path) == {"m.onnx"}


@pytest.mark.parametrize("status", ["different", "undecided"])
def test_a_result_that_is_not_equal_is_not_written(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, status: str
) -> None:
    source, output = write(tmp_path / "m.onnx"), tmp_path / "f.onnx"
    output.write_bytes(b"old")
    monkeypatch.setattr("graphfix.checker.verify", lambda *_, **__: Verdict(status))  # type: ignore[arg-type] -- two of its words
    outcome = graphfix.fix_file(source, output)
    assert outcome.output is None
    assert outcome.verdict == Verdict(status)  # type: ignore[arg-type] -- as above
    assert output.read_bytes() == b"old"
    assert names(tmp_path) == {"m.onnx", "f.onnx"}


def test_an_interrupt_leaves_nothing_behind(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupted(*_: object, **__: object) -> Verdict:
        raise KeyboardInterrupt

    source = write(tmp_path / "m.onnx")
    monkeypatch.setattr("graphfix.checker.verify", interrupted)
    with pytest.raises(KeyboardInterrupt):
        graphfix.fix_file(source, tmp_path / "f.onnx")
    assert names(tmp_path) == {"m.onnx"}


@pytest.mark.parametrize("output", ["missing/f.onnx", "."])
def test_an_output_that_can_not_be_is_refused_before_anything_is_done(tmp_path: Path, output: str) -> None:
    source = write(tmp_path / "m.onnx")
    with pytest.raises(GraphfixError, match="folder"):
        graphfix.fix_file(source, tmp_path / output)
    assert names(tmp_path) == {"m.onnx"}


# --- external data ---------------------------------------------------------------------------------------------------


def external(folder: Path) -> Path:
    """A model whose bias [3] and weight [2,3] lie in `w.bin` beside it."""
    proto = model("v[2,3] = Add(x[2,3], b:const[3])\ny[2,3] = Mul(v, w:const[2,3])")
    for tensor in proto.graph.initializer:
        array = onnx.numpy_helper.to_array(tensor)
        tensor.CopyFrom(onnx.numpy_helper.from_array(array, tensor.name))
    onnx.save(proto, folder / "m.onnx", save_as_external_data=True, location="w.bin", size_threshold=0)
    return folder / "m.onnx"


@pytest.mark.ci
def test_external_data_in_the_same_folder_is_shared(tmp_path: Path) -> None:
    source = external(tmp_path)
    data = (tmp_path / "w.bin").read_bytes()
    outcome = graphfix.fix_file(source, tmp_path / "f.onnx", target="ranks")
    assert outcome.verdict is not None
    assert outcome.verdict.status == "proved"
    assert names(tmp_path) == {"m.onnx", "w.bin", "f.onnx"}
    assert (tmp_path / "w.bin").read_bytes() == data
    fixed = onnx.load(tmp_path / "f.onnx")
    assert initializer(fixed, "b").shape == (1, 3)
    assert np.array_equal(initializer(fixed, "b")[0], initializer(onnx.load(source), "b"))


@pytest.mark.ci
def test_external_data_goes_along_to_another_folder(tmp_path: Path) -> None:
    source, there = external(tmp_path), tmp_path / "there"
    there.mkdir()
    graphfix.fix_file(source, there / "f.onnx", target="ranks")
    assert names(there) == {"f.onnx", "f.onnx.data"}
    assert (there / "f.onnx.data").read_bytes() == (tmp_path / "w.bin").read_bytes()
    assert initializer(onnx.load(there / "f.onnx"), "b").shape == (1, 3)


def test_data_that_was_copied_goes_again_on_failure(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    source, there = external(tmp_path), tmp_path / "there"
    there.mkdir()
    monkeypatch.setattr("graphfix.checker.verify", lambda *_, **__: Verdict("different"))
    graphfix.fix_file(source, there / "f.onnx", target="ranks")
    assert names(there) == set()


@pytest.mark.parametrize("check_result", [True, False])
def test_an_output_that_is_the_models_data_file_is_refused(tmp_path: Path, check_result: bool) -> None:
    source = external(tmp_path)
    data = (tmp_path / "w.bin").read_bytes()
    with pytest.raises(GraphfixError, match="the model's own data file"):
        graphfix.fix_file(source, tmp_path / "w.bin", target="ranks", check_result=check_result)
    assert (tmp_path / "w.bin").read_bytes() == data
    assert names(tmp_path) == {"m.onnx", "w.bin"}


def test_in_place_with_external_data(tmp_path: Path) -> None:
    source = external(tmp_path)
    data = (tmp_path / "w.bin").read_bytes()
    graphfix.fix_file(source, source, target="ranks", in_place=True)
    assert names(tmp_path) == {"m.onnx", "w.bin"}
    assert (tmp_path / "w.bin").read_bytes() == data
    assert initializer(onnx.load(source), "b").shape == (1, 3)


# --- check, verify, show, explain ------------------------------------------------------------------------------------


def test_check_finds_and_writes_nothing(tmp_path: Path) -> None:
    source = write(tmp_path / "m.onnx", "v[2,3] = Add(x[2,3], b[3])\ny[2,3] = Pow(v, e:const[1,1]{2.0})")
    before = source.read_bytes()
    outcome = graphfix.check(source)
    assert [(site.code, site.node, site.operand, site.status) for site in outcome.sites] == [
        ("GF101", "Add#0", 1, "found"),
        ("GF102", "Add#0", 1, "found"),
        ("GF102", "Pow#1", 1, "exempt"),
    ]
    assert not outcome.changed
    assert source.read_bytes() == before
    assert names(tmp_path) == {"m.onnx"}


def test_only_and_skip_choose_rewrites(tmp_path: Path) -> None:
    source = write(tmp_path / "m.onnx", "y[2,3] = Add(x[2,3], b[3])")
    assert set(graphfix.check(source, only=["equalize-ranks"]).rewrites) == {"equalize-ranks"}
    assert "equalize-ranks" not in graphfix.check(source, skip=["equalize-ranks"]).rewrites


def test_verify_after_fix(tmp_path: Path) -> None:
    source, output = write(tmp_path / "m.onnx"), tmp_path / "f.onnx"
    graphfix.fix_file(source, output, check_result=False)
    assert graphfix.verify(source, output, runs=1).status == "proved"
    assert callable(graphfix.verify)


def test_show_gives_lines(tmp_path: Path) -> None:
    source = write(tmp_path / "m.onnx", FREE)
    assert "    y[4,3] = Add(x[4,3], b[4,3])" in list(graphfix.show(source, dims={"N": 4}))


@pytest.mark.parametrize(
    "rule", ["upgrade-legacy-broadcast", "normalize-expand", "equalize-ranks", "materialize-broadcasts"]
)
def test_every_rewrite_has_a_page(rule: str) -> None:
    page = graphfix.explain(rule)
    assert page.startswith(f"# {rule}\n")
    assert "->" in page


@pytest.mark.parametrize("code", ["GF101", "gf105", "GF204"])
def test_every_code_has_a_page(code: str) -> None:
    assert code.upper() in graphfix.explain(code)


@pytest.mark.parametrize("code", pages.codes())
def test_the_name_of_a_code_explains_it_too(code: str) -> None:
    name = pages.title(code).split()[1]
    assert graphfix.explain(name) == graphfix.explain(name.upper()) == graphfix.explain(code)


@pytest.mark.parametrize(
    ("topic", "how"),
    [
        ("GF999", "`graphfix explain` lists them"),
        ("equalise-ranks", "did you mean 'equalize-ranks'"),
        ("rank-mismach", "did you mean 'rank-mismatch'"),
        ("ethos-u55", "did you mean 'ethos-u'"),
        ("npu.toml", "a target file is shown by --target-file"),
    ],
)
def test_an_unknown_topic_says_where_the_known_ones_are(topic: str, how: str) -> None:
    with pytest.raises(
        GraphfixError, match=rf"explain {topic}: no such rewrite, finding code or target; {how}"
    ) as raised:
        graphfix.explain(topic)
    assert len(str(raised.value)) < 200


def test_an_if_that_an_input_decides_names_the_option_that_makes_a_constant_of_the_input(tmp_path: Path) -> None:
    branches = "then_branch = t () => (float[2] a) { a = Neg(x) }, else_branch = e () => (float[2] b) { b = Abs(x) }"
    graph = f"g (bool c, float[2] x) => (float[2] y) {{ y = If (c) <{branches}> }}"
    path = tmp_path / "if.onnx"
    onnx.save(onnx.parser.parse_model(f'<ir_version: 8, opset_import: ["" : 17]> {graph}'), path)
    (site,) = (site for site in graphfix.check(path, target="tosa").sites if site.op == "If")
    assert site.code == "GF305"
    assert "--set NAME=VALUE" in str(site.reason)
    assert {site.code for site in graphfix.check(path, target="tosa", values={"c": True}).sites} == {"GF303"}


def test_the_text_of_a_loaded_model_has_its_format_its_file_and_the_number_of_nodes(tmp_path: Path) -> None:
    one = model("y[2,3] = Add(x[2,3], b[3])")
    path = tmp_path / "m.onnx"
    onnx.save(one, path)
    assert repr(graphfix.load(path)) == f"<Model: {path}, onnx, 1 node>"
    assert repr(graphfix.load(one)) == "<Model: <ModelProto>, onnx, 1 node>"
    stored = tflite_model("y[2,3] = ADD(x[2,3], x)\nz[2,3] = ADD(y, x)")
    assert repr(graphfix.load(stored)) == "<Model: <bytes>, tflite, 2 nodes>"


@pytest.mark.parametrize("order", [(0, 1), (1, 0)])
def test_a_size_that_one_file_states_and_the_other_leaves_free_names_the_options(
    tmp_path: Path, order: tuple[int, int]
) -> None:
    paths = [tmp_path / "free.onnx", tmp_path / "four.onnx"]
    for path, size in zip(paths, ("N", "4"), strict=True):
        onnx.save(model(f"y[{size},3] = Neg(x[{size},3])"), path)
    before, after = (paths[number] for number in order)
    verdict = graphfix.verify(before, after, proof="only")
    assert "takes other shapes; compare them at one size: --shape x=4,3, or --dim" in str(verdict.proof)
    assert graphfix.verify(before, after, proof="only", shapes={"x": (4, 3)}).status == "proved"


@pytest.mark.parametrize("order", [(0, 1), (1, 0)])
def test_a_size_of_tflite_that_one_file_states_and_the_other_leaves_free_names_the_options(
    tmp_path: Path, order: tuple[int, int]
) -> None:
    paths = [tmp_path / "free.tflite", tmp_path / "four.tflite"]
    for path, size in zip(paths, ("N", "4"), strict=True):
        path.write_bytes(tflite_model(f"y[{size},3] = NEG(x[{size},3])"))
    before, after = (paths[number] for number in order)
    verdict = graphfix.verify(before, after, proof="only")
    assert "another declared shape; compare them at one size: --shape x=4,3, or --dim" in str(verdict.proof)
    assert graphfix.verify(before, after, proof="only", shapes={"x": (4, 3)}).status == "proved"


def test_sizes_that_both_files_state_name_no_options(tmp_path: Path) -> None:
    one, two = tmp_path / "four.tflite", tmp_path / "five.tflite"
    for path, size in ((one, 4), (two, 5)):
        path.write_bytes(tflite_model(f"y[{size},3] = NEG(x[{size},3])"))
    proof = str(graphfix.verify(one, two, proof="only").proof)
    assert "has another declared shape" in proof
    assert "compare them" not in proof


def test_explain_without_a_topic_lists_every_topic_with_a_line() -> None:
    lines = [line.split(maxsplit=1) for line in graphfix.explain().splitlines() if line.startswith("  ")]
    assert [name for name, _ in lines] == [*pages.codes(), *registry.REWRITES, *registry.TARGETS]
    assert ["GF101", "rank-mismatch"] in lines
    assert [
        "equalize-ranks",
        "Lift the operands of a broadcasting operator to one rank, by leading axes of size 1.",
    ] in lines


def test_only_public_names_are_listed() -> None:
    assert dir(graphfix) == sorted(["__version__", *graphfix.__all__])
    assert graphfix.__all__ == sorted(graphfix.__all__)


def test_every_public_name_can_be_imported() -> None:
    for name in graphfix.__all__:
        assert getattr(graphfix, name) is not None
    with pytest.raises(AttributeError, match="no attribute 'fixx'"):
        _ = graphfix.fixx  # type: ignore[attr-defined] -- it is not there


@pytest.mark.parametrize("name", ["fix", "fix_file", "check", "verify", "show", "load", "explain"])
def test_every_class_in_the_signature_of_a_public_function_is_public(name: str) -> None:
    signature = inspect.signature(getattr(graphfix, name))
    texts = [str(each.annotation) for each in signature.parameters.values()] + [str(signature.return_annotation)]
    words = {word for text in texts for word in re.findall(r"[A-Za-z]\w+", text)}
    assert words <= {*graphfix.__all__, *graphfix.api.typing.__all__, *PLAIN}, words


PLAIN = {
    *("str", "Path", "bool", "int", "float", "None", "ModuleType", "ArrayLike"),
    *("Sequence", "Mapping", "Iterator", "Literal", "tuple", "with", "only", "without"),
}
"""Names of Python and numpy."""


# --- keywords and the record that they become -----------------------------------------------------------------------


BESIDE = {"rewrites", "folder", "inputs", "maps", "broadcasts_only", "nodes", "around", "graphs"}
"""What a call takes beside what the record holds."""
RENAMED = {(tosa_file, "inputs"): "run_on"}
"""A keyword that means something else in one function."""


@pytest.mark.parametrize(
    "function", [graphfix.fix, graphfix.fix_file, graphfix.check, graphfix.verify, graphfix.show, tosa_file]
)
def test_every_keyword_is_a_field_of_the_record_of_its_type_and_default(function: Callable[..., object]) -> None:
    nothing = Request()
    known = {field.name: (field.type, getattr(nothing, field.name)) for field in fields(Request)}
    known["progress"] = ("Progress | None", None)
    keywords = [each for each in inspect.signature(function).parameters.values() if each.kind is each.KEYWORD_ONLY]
    assert len(keywords) > 3
    for each in keywords:
        if each.name not in BESIDE:
            assert (each.annotation, each.default) == known[RENAMED.get((function, each.name), each.name)], each.name


def test_show_prints_every_node_and_no_maps_unless_it_is_asked() -> None:
    text = "t[2,3] = Neg(x[2,3])\ny[2,3] = Add(t, b:const[3])"
    plain = list(graphfix.show(model(text)))
    assert [line.split(" = ")[1].partition("(")[0] for line in plain if " = " in line] == ["Neg", "Add"]
    assert plain == list(graphfix.show(model(text), maps=False, broadcasts_only=False))
    assert len(list(graphfix.show(model(text), maps=True))) > len(plain)
    assert not any("Neg" in line for line in graphfix.show(model(text), broadcasts_only=True) if " = " in line)


@pytest.mark.parametrize(("drop", "inputs"), [(None, ["x", "k"]), (False, ["x", "k"]), (True, ["x"])])
def test_an_input_that_is_set_stays_in_a_loaded_model_unless_it_is_to_be_dropped(
    tmp_path: Path, drop: bool | None, inputs: list[str]
) -> None:
    loaded = graphfix.load(model("y[2,3] = Mul(x[2,3], k[])"))
    loaded.set_inputs({"k": 2.0}, **({} if drop is None else {"drop": drop}))
    loaded.save(tmp_path / "out.onnx")
    assert [each.name for each in onnx.load(tmp_path / "out.onnx").graph.input] == inputs


@pytest.mark.parametrize("status", ["proved", "equal", "undecided", "different"])
@pytest.mark.parametrize("changed", [False, True])
def test_a_strict_proof_writes_what_is_proved_alone(status: str, changed: bool) -> None:
    asked = [
        pipeline._good_enough(Verdict(status), Request(strict_proof=strict), changed=changed)  # type: ignore[arg-type]
        for strict in (True, False)
    ]
    enough = status in ("equal", "proved") or (status == "undecided" and not changed)
    assert asked == [status == "proved", enough]


def test_the_list_of_topics_is_three_tables_with_their_texts_in_one_column() -> None:
    own = ModuleType("mine", "Do something\n    of my own.\n\n    More of it.\n")
    vars(own).update({"ON": frozenset({("", "Mul")}), "CODE": "MY101", "plan": lambda _: ()})
    *parts, last = graphfix.explain(rewrites=[own]).split("\n\n")
    assert last == "Words of this project, such as site, lift, stretch and exempt, are explained in docs/glossary.md.\n"
    tables = [table.splitlines() for table in parts]
    assert [first for first, *_ in tables] == ["codes", "rewrites", "targets"]
    longest = max(map(len, (*pages.codes(), *registry.REWRITES, *registry.TARGETS)))
    found: dict[str, str] = {}
    for line in (line for _, *lines in tables for line in lines):
        name, text = line[2 : 2 + longest], line[2 + longest :]
        assert (line[:2], text[:2], text[2:].strip()) == ("  ", "  ", text[2:]), line
        found[name.rstrip()] = text[2:]
    assert list(found) == [*pages.codes(), *registry.REWRITES, "mine", *registry.TARGETS]
    assert all(found.values())
    assert found["mine"] == "Do something of my own."
    assert [found["GF102"], found["ranks"]] == [
        pages.title("GF102").removeprefix("GF102 "),
        " ".join(target_page("ranks").split("\n", 2)[2].split("\n\n")[0].split()),
    ]
    assert [len(table) - 1 for table in tables] == [
        len(pages.codes()),
        len(registry.REWRITES) + 1,
        len(registry.TARGETS),
    ]


@pytest.mark.parametrize("name", ["m.tflite", "m.onnx", "m"])
def test_a_name_of_the_other_format_is_a_notice_among_the_steps(tmp_path: Path, name: str) -> None:
    told: list[str] = []
    source = write(tmp_path / name)
    graphfix.fix_file(source, tmp_path / "f.onnx", check_result=False, progress=lambda text, *_: told.append(text))
    notices = [text for text in told if isinstance(text, Notice)]
    said = "holds an ONNX model, although its name ends with .tflite: its content counts"
    assert notices == ([f"{name} {said}"] if name == "m.tflite" else [])
    assert told[0] == "reading the model"
    assert not isinstance(told[0], Notice)


def test_an_output_in_place_of_the_target_file_is_refused_before_the_model_is_read(tmp_path: Path) -> None:
    table = tmp_path / "mine.toml"
    table.write_text('name = "mine"\n')
    for source in (tmp_path / "none.onnx", write(tmp_path / "m.onnx")):
        with pytest.raises(GraphfixError, match="the output is the target file"):
            graphfix.fix_file(source, table, target_file=table, check_result=False)
    assert table.read_text() == 'name = "mine"\n'

"""The data files of an ONNX model: which are read, how much of them, and the model that runtimes get in their place."""

from __future__ import annotations

from contextlib import ExitStack
from pathlib import Path

import numpy as np
import onnx
import pytest
from onnx import ModelProto, TensorProto, helper, numpy_helper

from graphfix.checker.files.onnx.external_data import checked, is_external, may_have_external, tensors
from graphfix.checker.files.onnx.file import Source
from graphfix.results import GraphfixError

NUMBERS = np.arange(6, dtype=np.float32)


def external(name: str, kind: int = TensorProto.FLOAT, dims: tuple[int, ...] = (2,), **entries: str) -> TensorProto:
    tensor = TensorProto(name=name, data_type=kind, dims=dims, data_location=TensorProto.EXTERNAL)
    for key, value in entries.items():
        tensor.external_data.add(key=key, value=value)
    return tensor


def saved(folder: Path, *held: TensorProto, data: bytes = NUMBERS.tobytes()) -> tuple[Path, ModelProto]:
    """Save a model of these constants, and the data file that they read."""
    folder.mkdir(exist_ok=True, parents=True)
    made = helper.make_model(helper.make_graph([], "g", [], [], held))
    (folder / "w.bin").write_bytes(data)
    (folder / "m.onnx").write_bytes(made.SerializeToString())
    return folder / "m.onnx", made


def test_a_whole_model_holds_its_data_and_names_no_file(tmp_path: Path) -> None:
    own = numpy_helper.from_array(np.ones(3, np.float32), "own")
    path, made = saved(
        tmp_path,
        external("a", location="w.bin"),
        external("b", location="w.bin", offset="8"),
        own,
        external("c", location="w.bin", offset="4", length="8"),
    )
    a, b, kept, c = checked(path, made).model_with_data().graph.initializer
    assert a.raw_data == NUMBERS.tobytes()  # without a length, all that is left
    assert b.raw_data == NUMBERS[2:].tobytes()
    assert c.raw_data == NUMBERS[1:3].tobytes()
    assert kept == own
    for tensor in (a, b, c):
        assert not tensor.external_data
        assert tensor.data_location == TensorProto.DEFAULT
    assert onnx.load(path, load_external_data=False) == made


def test_a_model_without_data_files_is_read_as_it_is(tmp_path: Path) -> None:
    path, made = saved(tmp_path, numpy_helper.from_array(NUMBERS, "a"))
    data = checked(path, made)
    assert data.model_with_data() == made
    assert data.runnable() == path
    assert data.folder is None
    data.relocate(made)
    assert made == onnx.load(path)


# the entries of a tensor of 8 bytes, in a file of 24 -> its place, or what is said
SPANS: dict[str, tuple[dict[str, str], tuple[int, int] | str]] = {
    "all": ({}, (0, 24)),
    "the last": ({"offset": "16"}, (16, 8)),
    "too little": ({"offset": "17"}, "w.bin: holds 7 bytes from 17 on, 'a' needs 8; restore the whole file"),
    "nothing": ({"offset": "25"}, "w.bin: holds 0 bytes from 25 on, 'a' needs 8; restore the whole file"),
    "a length": ({"length": "24"}, (0, 24)),
    "a length that is too great": ({"length": "25"}, "w.bin: holds 24 bytes from 0 on, 'a' needs 25"),
    "a length below the shape": ({"offset": "20", "length": "4"}, (20, 4)),
    "a length of 0": ({"offset": "16", "length": "0"}, (16, 0)),
    "a length of 0 without the bytes of the shape": ({"offset": "20", "length": "0"}, "from 20 on, 'a' needs 8"),
    "20 digits": ({"offset": "0" * 18 + "16"}, (16, 8)),
    "21 digits": ({"offset": "0" * 19 + "16"}, "m.onnx: 'a' states '000000000000000000016' as a place in its file"),
    "no digits": ({"offset": ""}, "m.onnx: 'a' states '' as a place in its file; give a number of bytes"),
    "other digits": ({"length": "\u0664"}, "as a place in its file; give a number of bytes"),
    "a sign": ({"length": "-1"}, "m.onnx: 'a' states '-1' as a place in its file; give a number of bytes"),
}


@pytest.mark.parametrize("name", SPANS)
def test_the_place_of_a_tensor_lies_in_its_file(name: str, tmp_path: Path) -> None:
    entries, expected = SPANS[name]
    tensor = external("a", location="w.bin", **entries)
    path, made = saved(tmp_path, tensor)
    if isinstance(expected, tuple):
        assert checked(path, made).span(tensor, 24) == expected
        return
    with pytest.raises(GraphfixError) as error:
        checked(path, made)
    assert expected in str(error.value)


def test_a_tensor_without_elements_needs_no_bytes(tmp_path: Path) -> None:
    path, made = saved(tmp_path, external("a", dims=(0, 3), location="w.bin", offset="24"))
    (whole,) = checked(path, made).model_with_data().graph.initializer
    assert whole.raw_data == b""


# location -> what is said of it
REFUSED = {
    "": "which names no file; save the model again with its data",
    "w.bin\0": "which names no file",
    "*/_ORT_MEM_ADDR_/*": "onnxruntime reads memory there; save the model again with its data",
    "absent.bin": "which can't be read: No such file or directory; restore the file",
    "folder": "which is not a file; put the data file there",
    "../other/w.bin": "out of the model's folder; copy it into the folder, or allow its place: --data-root ",
    "sub/../w.bin": "out of the model's folder",
    "C:\\w.bin": "out of the model's folder",
}


@pytest.mark.parametrize("location", REFUSED, ids=repr)
def test_a_location_is_refused_with_what_to_do(location: str, tmp_path: Path) -> None:
    saved(tmp_path / "other")
    path, made = saved(tmp_path / "home", external("a", location=location))
    (path.parent / "folder").mkdir()
    with pytest.raises(GraphfixError) as error:
        checked(path, made)
    assert str(error.value).startswith(f"{path}: the data of 'a' lies at {location!r}")
    assert REFUSED[location] in str(error.value)


def test_a_place_that_is_allowed_may_hold_data_by_any_name(tmp_path: Path) -> None:
    """A path with `..` is never below the model's folder, even where it leads back."""
    other = saved(tmp_path / "other")[0].parent
    for location in ("../other/w.bin", str(other / "w.bin")):
        path, made = saved(tmp_path / "home", external("a", location=location))
        assert checked(path, made, [other]).files == {location: (other / "w.bin").resolve()}
    path, made = saved(tmp_path / "home", external("a", location="../home/w.bin"))
    with pytest.raises(GraphfixError, match="out of the model's folder"):
        checked(path, made, [other])
    assert checked(path, made, [other, path.parent]).files


def test_a_linked_model_has_its_data_in_its_own_folder_or_in_that_of_the_link(tmp_path: Path) -> None:
    path, made = saved(tmp_path / "blobs", external("a", location="w.bin"))
    link = tmp_path / "links" / "m.onnx"
    link.parent.mkdir()
    link.symlink_to(path)
    (link.parent / "w.bin").symlink_to(path.parent / "w.bin")
    data = checked(link, made)
    assert data.files == {"w.bin": (path.parent / "w.bin").resolve()}
    (link.parent / "w.bin").unlink()
    (link.parent / "w.bin").write_bytes(NUMBERS.tobytes())
    assert checked(link, made).files == {"w.bin": (link.parent / "w.bin").resolve()}
    (link.parent / "w.bin").unlink()
    (tmp_path / "elsewhere").write_bytes(NUMBERS.tobytes())
    (link.parent / "w.bin").symlink_to(tmp_path / "elsewhere")
    with pytest.raises(GraphfixError, match="out of the model's folder"):
        checked(link, made)


def test_a_runtime_gets_the_resolved_files_below_one_folder(tmp_path: Path) -> None:
    home, other = tmp_path / "home", saved(tmp_path / "other")[0].parent
    own = numpy_helper.from_array(NUMBERS, "own")
    path, made = saved(home, external("a", location="link", offset="4"), external("b", location="../other/w.bin"), own)
    (home / "link").symlink_to(home / "w.bin")
    data = checked(path, made, [other])
    assert data.folder == tmp_path.resolve()
    runnable = data.runnable()
    assert isinstance(runnable, bytes)
    a, b, c = ModelProto.FromString(runnable).graph.initializer
    assert [(each.key, each.value) for each in a.external_data] == [("location", "home/w.bin"), ("offset", "4")]
    assert [(each.key, each.value) for each in b.external_data] == [("location", "other/w.bin")]
    assert c == own


def test_files_of_one_folder_have_their_names_alone(tmp_path: Path) -> None:
    path, made = saved(tmp_path, external("a", location="w.bin"))
    data = checked(path, made)
    assert data.folder == tmp_path.resolve()
    data.relocate(made)
    assert made.graph.initializer[0].external_data[0].value == "w.bin"


def test_locations_are_numbered_in_the_order_of_the_tensors(tmp_path: Path) -> None:
    (tmp_path / "v.bin").write_bytes(NUMBERS.tobytes())
    own = numpy_helper.from_array(NUMBERS, "own")
    given = external("a", location="w.bin", offset="4"), external("b", location="v.bin"), own
    path, made = saved(tmp_path, *given, external("c", location="w.bin"))
    assert checked(path, made).number(made)
    entries = [[(each.key, each.value) for each in tensor.external_data] for tensor in made.graph.initializer]
    assert entries == [[("location", "0"), ("offset", "4")], [("location", "1")], [], [("location", "0")]]


def test_an_odd_location_keeps_all_of_them(tmp_path: Path) -> None:
    path, made = saved(tmp_path, external("a", location="w.bin"), external("b", location=str(tmp_path / "w.bin")))
    before = made.SerializeToString()
    assert not checked(path, made, [tmp_path]).number(made)
    assert made.SerializeToString() == before


def test_memory_counts_each_file_once_and_halves_twice(tmp_path: Path) -> None:
    given = external("a", location="w.bin"), external("b", TensorProto.FLOAT16, (3,), location="w.bin")
    own = numpy_helper.from_array(np.ones(4, np.float16), "own")
    path, made = saved(tmp_path, *given, external("c", TensorProto.BFLOAT16, (5,), location="./w.bin"), own)
    inside = path.stat().st_size
    assert checked(path, made).bytes_of(made) == (inside + 24, 2 * inside + 2 * (6 + 10))


def test_tensors_are_found_at_any_depth_in_the_order_of_the_file() -> None:
    def constant(name: str) -> TensorProto:
        return helper.make_tensor(name, TensorProto.FLOAT, [1], [1.0])

    body = helper.make_graph(
        [helper.make_node("Constant", [], ["u"], value=constant("in"))], "b", [], [], [constant("held")]
    )
    nodes = [
        helper.make_node("Constant", [], ["v"], value=constant("first")),
        helper.make_node("If", ["c"], ["w"], then_branch=body),
        helper.make_node("Own", [], ["z"], domain="own", many=[constant("one"), constant("two")]),
    ]
    made = helper.make_model(helper.make_graph(nodes, "g", [], [], [constant("last")]))
    sparse = helper.make_sparse_tensor(constant("values"), helper.make_tensor("at", TensorProto.INT64, [1], [0]), [3])
    made.graph.sparse_initializer.append(sparse)
    names = [tensor.name for tensor in tensors(made)]
    assert names == ["first", "in", "held", "one", "two", "last", "values", "at"]


def test_a_model_that_may_have_external_data_shows_it_in_its_bytes() -> None:
    plain = numpy_helper.from_array(NUMBERS, "a")
    told = external("a", location="w.bin")
    bare = TensorProto(name="a", data_location=TensorProto.EXTERNAL)
    assert [is_external(each) for each in (plain, told, bare)] == [False, True, True]
    assert [may_have_external(each.SerializeToString()) for each in (plain, told, bare)] == [False, True, True]
    assert may_have_external(bytearray(b"..location.."))


def test_a_data_file_of_a_tensor_that_no_node_reads_is_looked_at_too(tmp_path: Path) -> None:
    path, _ = saved(tmp_path, external("a", location="w.bin"), external("b", location="none.bin"))
    with ExitStack() as stack, pytest.raises(GraphfixError, match=r"none\.bin"):
        Source(path, stack).read([])
    (tmp_path / "none.bin").write_bytes(NUMBERS.tobytes())
    with ExitStack() as stack:
        assert [each.name for each in Source(path, stack).read([]).graph.initializer] == ["a", "b"]

"""External data: never opened beside its model, copied whole to another folder, refused where it leaves the model's."""

from __future__ import annotations

import os
import shutil
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
import onnx
import pytest
from onnx import ModelProto, TensorProto

from graphfix.formats.neutral.files import Staging
from graphfix.formats.onnx.file.container import read
from graphfix.formats.onnx.file.external import copy_beside
from graphfix.results import GraphfixError
from tests.support.onnx.files import constant, graph, model

DATA = np.random.default_rng(7).bytes(10_000)


def outside(name: str, location: str | None, **entries: str | int) -> TensorProto:
    tensor = TensorProto(name=name, data_type=TensorProto.UINT8, dims=[4000], data_location=TensorProto.EXTERNAL)
    for key, value in ({"location": location} if location is not None else {}).items() | entries.items():
        tensor.external_data.add(key=key, value=str(value))
    return tensor


def tree(folder: Path) -> dict[str, bytes | str]:
    """Every file below the folder with its bytes, and every folder."""
    return {
        str(path.relative_to(folder)): path.read_bytes() if path.is_file() else "folder" for path in folder.rglob("*")
    }


@pytest.fixture
def home(tmp_path: Path) -> Path:
    """A folder with the data files `w.bin` and `sub/v.bin`."""
    (tmp_path / "home" / "sub").mkdir(parents=True)
    (tmp_path / "home" / "w.bin").write_bytes(DATA)
    (tmp_path / "home" / "sub" / "v.bin").write_bytes(DATA[::-1])
    return tmp_path / "home"


def written(home: Path, proto: ModelProto) -> Path:
    (home / "m.onnx").write_bytes(proto.SerializeToString())
    return home / "m.onnx"


def usual(home: Path) -> Path:
    proto = model(
        outside("a", "w.bin", offset=0, length=4000),
        outside("b", "w.bin", offset=4000, length=4000),
        nodes=[constant(outside("c", "sub/v.bin", length=4000))],
    )
    proto.functions.add(name="F", domain="own").node.append(constant(outside("d", "./w.bin", offset=6000)))
    return written(home, proto)


@pytest.fixture
def opened() -> Iterator[Callable[[], list[str]]]:
    """The names of the files that are opened from here on."""
    names: list[str] = []
    listening = True

    def hook(event: str, arguments: tuple[object, ...]) -> None:
        if listening and event == "open":
            names.append(str(arguments[0]))

    sys.addaudithook(hook)
    yield lambda: names
    listening = False  # a hook can't be taken away


@pytest.mark.parametrize("changed", [True, False])
def test_in_its_own_folder_the_data_is_not_opened(home: Path, changed: bool, opened: Callable[[], list[str]]) -> None:
    container = read(usual(home))
    container.save(home / "out.onnx", changed=changed)
    assert any("m.onnx" in name for name in opened())
    assert not any(".bin" in name for name in opened())
    assert (home / "out.onnx").read_bytes() == (home / "m.onnx").read_bytes()


def test_in_its_own_folder_a_model_is_saved_without_its_data(home: Path) -> None:
    container = read(usual(home))
    shutil.rmtree(home / "sub")
    (home / "w.bin").unlink()
    container.save(home / "m.onnx")
    assert set(tree(home)) == {"m.onnx"}


@pytest.mark.parametrize("changed", [True, False])
def test_to_another_folder_each_data_file_is_copied_once_and_called_after_the_model(
    home: Path, tmp_path: Path, changed: bool
) -> None:
    source = usual(home)
    (tmp_path / "other").mkdir()
    out = tmp_path / "other" / "o.onnx"
    read(source).save(out, changed=changed)
    copies: dict[str, bytes | str] = {"o.onnx.data": DATA[::-1], "o.onnx-2.data": DATA}
    assert tree(tmp_path / "other") == {"o.onnx": out.read_bytes(), **copies}
    for name in copies:
        copy = tmp_path / "other" / name
        assert not copy.is_symlink()
        assert copy.stat().st_nlink == 1
    assert bytes_without_data(out) == bytes_without_data(source)


def bytes_without_data(path: Path) -> bytes:
    """A model with its data files inside: what is left to compare is all but their names."""
    return bytes(onnx.load(path).SerializeToString(deterministic=True))


def test_only_the_location_changes(home: Path, tmp_path: Path) -> None:
    source = written(home, model(outside("a", "w.bin", offset=6000, length=4000)))
    (tmp_path / "other").mkdir()
    out = tmp_path / "other" / "o.onnx"
    read(source).save(out, changed=False)
    after = onnx.load(out, load_external_data=False)
    (location,) = (each for each in after.graph.initializer[0].external_data if each.key == "location")
    assert location.value == "o.onnx.data"
    location.value = "w.bin"
    assert after.SerializeToString() == source.read_bytes()


def test_a_location_that_is_the_output_s_already_is_copied_with_the_same_bytes_of_the_model(
    home: Path, tmp_path: Path
) -> None:
    (home / "w.bin").rename(home / "m.onnx.data")
    source = written(home, model(outside("a", "m.onnx.data", length=4000)))
    (tmp_path / "other").mkdir()
    read(source).save(tmp_path / "other" / "m.onnx", changed=False)
    assert tree(tmp_path / "other") == {"m.onnx": source.read_bytes(), "m.onnx.data": DATA}


def test_two_models_whose_data_has_one_name_are_written_into_one_folder(home: Path, tmp_path: Path) -> None:
    (tmp_path / "other").mkdir()
    for name, data in (("text.onnx", DATA), ("image.onnx", DATA[::-1])):
        (home / "w.bin").write_bytes(data)
        read(written(home, model(outside("a", "w.bin", length=4000)))).save(tmp_path / "other" / name)
    for name, data in (("text.onnx", DATA), ("image.onnx", DATA[::-1])):
        assert onnx.load(tmp_path / "other" / name).graph.initializer[0].raw_data == data[:4000]


def test_nothing_is_copied_where_the_location_is_the_same_file_already(home: Path) -> None:
    (home / "inner").mkdir()
    (home / "inner" / "sub").symlink_to(home / "sub")
    source = written(home, model(outside("a", "sub/v.bin", length=4000))).rename(home / "inner" / "i.onnx")
    read(source, [home]).save(home / "o.onnx", changed=False)
    assert (home / "o.onnx").read_bytes() == source.read_bytes()
    assert {path.name for path in home.iterdir()} == {"w.bin", "sub", "inner", "o.onnx"}


def test_data_behind_a_link_that_leaves_the_new_folder_is_copied(home: Path, tmp_path: Path) -> None:
    (tmp_path / "other").mkdir()
    (tmp_path / "other" / "sub").symlink_to(home / "sub")
    read(written(home, model(outside("a", "sub/v.bin", length=4000)))).save(tmp_path / "other" / "o.onnx")
    assert (tmp_path / "other" / "o.onnx.data").read_bytes() == DATA[::-1]


@pytest.mark.parametrize("name", ["C:m.onnx", "a\\m.onnx", "*m.onnx", "m\udcff.onnx"])
def test_a_name_that_data_can_t_be_called_after_is_refused(home: Path, tmp_path: Path, name: str) -> None:
    (tmp_path / "other").mkdir()
    with pytest.raises(GraphfixError, match="not a plain file name on every system; choose another name"):
        read(usual(home)).save(tmp_path / "other" / name)
    assert tree(tmp_path / "other") == {}


@pytest.mark.parametrize("marker", ["*/_ORT_MEM_ADDR_/*", "*/_ORT_NATIVE_ENDIAN_MEM_ADDR_/*"])
def test_a_location_that_onnxruntime_takes_for_an_address_is_refused(home: Path, marker: str) -> None:
    (home / marker).parent.mkdir(parents=True)
    (home / marker).write_bytes(DATA)
    with pytest.raises(GraphfixError, match="would be read from memory by onnxruntime"):
        read(written(home, model(outside("a", marker, length=4000))))


def test_only_what_the_edited_model_still_needs_is_copied(home: Path, tmp_path: Path) -> None:
    container = read(usual(home))
    del container.proto.graph.node[:]
    (tmp_path / "other").mkdir()
    container.save(tmp_path / "other" / "m.onnx")
    assert set(tree(tmp_path / "other")) == {"m.onnx", "m.onnx-2.data"}


def test_an_empty_data_file_is_copied(home: Path, tmp_path: Path) -> None:
    (home / "none.bin").touch()
    empty = outside("a", "none.bin", length=0)
    empty.dims[:] = [0]
    source = written(home, model(empty))
    (tmp_path / "other").mkdir()
    read(source).save(tmp_path / "other" / "m.onnx")
    assert tree(tmp_path / "other")["m.onnx.data"] == b""


def test_data_that_is_there_already_is_kept_untouched(home: Path, tmp_path: Path) -> None:
    other = tmp_path / "other"
    other.mkdir()
    shutil.copy(home / "w.bin", other / "m.onnx-2.data")
    os.utime(other / "m.onnx-2.data", (1, 1))
    read(usual(home)).save(other / "m.onnx")
    assert (other / "m.onnx-2.data").stat().st_mtime == 1
    assert (other / "m.onnx-2.data").read_bytes() == DATA


@pytest.mark.parametrize("there", [DATA[:-1], DATA[:-1] + b"!"], ids=["shorter", "other bytes"])
def test_different_data_of_the_same_name_is_never_overwritten(home: Path, tmp_path: Path, there: bytes) -> None:
    other = tmp_path / "other"
    other.mkdir()
    (other / "m.onnx.data").write_bytes(there)
    with pytest.raises(GraphfixError, match=r"m\.onnx\.data: something else of this name exists"):
        read(usual(home)).save(other / "m.onnx")
    assert tree(other) == {"m.onnx.data": there}


def test_data_is_not_written_through_a_symlink_of_the_new_folder(home: Path, tmp_path: Path) -> None:
    (tmp_path / "other").mkdir()
    (tmp_path / "far").write_bytes(DATA[::-1])
    (tmp_path / "other" / "m.onnx.data").symlink_to(tmp_path / "far")
    with pytest.raises(GraphfixError, match="something else of this name exists"):
        read(usual(home)).save(tmp_path / "other" / "m.onnx")
    assert set(tree(tmp_path / "other")) == {"m.onnx.data"}


@pytest.mark.parametrize("name", ["home/w.bin", "home/sub/../w.bin"])
def test_the_model_never_takes_the_name_of_its_data(home: Path, tmp_path: Path, name: str) -> None:
    source = usual(home)
    (tmp_path / "other").mkdir()
    before = tree(tmp_path)
    with pytest.raises(GraphfixError, match="the model's own data file"):
        read(source).save(tmp_path / name)
    assert tree(tmp_path) == before


@pytest.mark.parametrize(
    ("location", "reason"),
    [
        ("../w.bin", "leaves the model's folder"),
        ("sub/../../w.bin", "leaves the model's folder"),
        ("..", "leaves the model's folder"),
        ("/etc/hostname", "is an absolute path"),
        ("C:\\w.bin", "is an absolute path"),
        ("\\\\host\\share\\w.bin", "is an absolute path"),
        ("", "has no file name"),
        (None, "has no file name"),
        ("w\0.bin", "has no file name"),
        (".", "is not a regular file"),
        ("sub", "is not a regular file"),
        ("sub/../w.bin", "leaves the model's folder by '..'"),
        ("link.bin", "is a link out of the model's folder"),
        ("way/f.bin", "is a link out of the model's folder"),
        ("sub/way/f.bin", "can't be used: no such file"),
        ("missing.bin", "can't be used: no such file"),
        ("w.bin/x", "can't be used: not a directory"),
        ("x" * 5000, "can't be used: file name too long"),
    ],
)
def test_a_location_that_is_no_file_of_the_models_folder_is_refused(
    home: Path, tmp_path: Path, location: str | None, reason: str
) -> None:
    (tmp_path / "w.bin").write_bytes(DATA)
    (tmp_path / "far").mkdir()
    (tmp_path / "far" / "f.bin").write_bytes(DATA)
    (home / "link.bin").symlink_to(tmp_path / "w.bin")
    (home / "way").symlink_to(tmp_path / "far")
    path = written(home, model(outside("the tensor", location)))
    with pytest.raises(GraphfixError, match=reason) as caught:
        read(path)
    text = str(caught.value)
    assert text.startswith(f"{path}: the external data of tensor 'the tensor' at {(location or '')!r} ")
    assert "\n" not in text


@pytest.mark.parametrize("location", ["way/v.bin", "inner.bin", "hard.bin"])
def test_a_link_that_stays_in_the_models_folder_and_a_hard_link_are_read(
    home: Path, tmp_path: Path, location: str
) -> None:
    (home / "way").symlink_to(home / "sub")
    (home / "inner.bin").symlink_to(home / "w.bin")
    (tmp_path / "cache").write_bytes(DATA)
    os.link(tmp_path / "cache", home / "hard.bin")
    container = read(written(home, model(outside("a", location, length=4000))))
    expected = DATA[::-1] if location == "way/v.bin" else DATA
    array = container.elements(container.proto.graph.initializer[0])
    assert array is not None
    assert array.tobytes() == expected[:4000]


@pytest.mark.parametrize(
    ("entries", "reason"),
    [
        ({"offset": 10_001}, "ends at byte 14001, but the file has 10000 bytes"),
        ({"length": 10_001}, "ends at byte 10001, but"),
        ({"offset": 6001, "length": 4000}, "ends at byte 10001, but"),
        ({"offset": "-1"}, "has the offset '-1'"),
        ({"length": "many"}, "has the length 'many'"),
        ({"length": "٣"}, "has the length"),
        ({"length": ""}, "has the length ''"),
        ({"offset": "9" * 5000}, r"has the offset '9+ \.\.; it must be a number of bytes"),
        ({"length": "9" * 21}, "has the length '999"),
    ],
)
def test_a_range_that_is_not_in_the_file_is_refused(home: Path, entries: dict[str, str | int], reason: str) -> None:
    with pytest.raises(GraphfixError, match=reason):
        read(written(home, model(outside("a", "w.bin", **entries))))
    assert read(written(home, model(outside("a", "w.bin", offset=6000, length=4000)))).has_external


def test_bytes_have_no_folder_for_external_data(home: Path) -> None:
    with pytest.raises(GraphfixError, match="<bytes>: the external data of tensor 'c' can't be found"):
        read(usual(home).read_bytes())


@pytest.mark.parametrize("place", ["branch", "training", "sparse"])
def test_external_data_is_checked_wherever_a_tensor_can_be(home: Path, place: str) -> None:
    proto, bad = model(), outside("deep", "../w.bin")
    if place == "branch":
        node = proto.graph.node.add(op_type="If")
        node.attribute.add(name="then_branch", g=graph(nodes=[constant(bad)]), type=onnx.AttributeProto.GRAPH)
    elif place == "training":
        proto.training_info.add().algorithm.CopyFrom(graph(bad))
    else:
        proto.graph.sparse_initializer.add().values.CopyFrom(bad)
    with pytest.raises(GraphfixError, match=r"'deep' at '\.\./w\.bin' leaves"):
        read(written(home, proto))


def test_data_that_is_missing_when_it_is_to_be_copied_leaves_nothing_behind(home: Path, tmp_path: Path) -> None:
    container = read(usual(home))
    (home / "sub" / "v.bin").unlink()
    (tmp_path / "other").mkdir()
    with pytest.raises(GraphfixError, match="no such file"):
        container.save(tmp_path / "other" / "m.onnx")
    assert tree(tmp_path / "other") == {}


def test_data_that_became_a_symlink_since_the_model_was_read_is_not_copied(home: Path, tmp_path: Path) -> None:
    container = read(usual(home))
    (home / "sub" / "v.bin").rename(tmp_path / "v.bin")
    (home / "sub" / "v.bin").symlink_to(tmp_path / "v.bin")
    (tmp_path / "other").mkdir()
    with pytest.raises(GraphfixError, match="is a link out of the model's folder"):
        container.save(tmp_path / "other" / "m.onnx")
    assert tree(tmp_path / "other") == {}


def test_a_copy_that_is_the_data_file_itself_is_there_already(home: Path) -> None:
    (home / "linked").hardlink_to(home / "w.bin")
    staging = Staging()
    copy_beside({home / "linked": home / "w.bin", home / "w.bin": home / "w.bin"}, staging)
    assert staging.written == []
    (home / "same").write_bytes(DATA)
    copy_beside({home / "same": home / "w.bin"}, staging)
    assert staging.written == []

"""The models of `check`'s sources: files, folders and patterns, each model once, in an order that stays."""

from __future__ import annotations

from pathlib import Path

import pytest

from graphfix.batch.globs import Glob
from graphfix.batch.local_search import models
from graphfix.results import GraphfixError

TREE = (
    "a.onnx",
    "B.TFLITE",
    "notes.txt",
    "a.onnx.data",
    "sub/deep/x.onnx",
    "sub/z.tflite",
    "sub-b/y.onnx",
    ".git/hidden.onnx",
    "sub/._z.tflite",
)


@pytest.fixture
def tree(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    for name in TREE:
        path = tmp_path / "m" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.touch()
    monkeypatch.chdir(tmp_path)
    return tmp_path / "m"


def found(*sources: str, exclude: tuple[str, ...] = ()) -> list[str]:
    return [path.as_posix() for path in models([Path(source) for source in sources], [Glob(each) for each in exclude])]


@pytest.mark.usefixtures("tree")
def test_a_folder_is_searched_for_models_and_what_is_hidden_is_left_out() -> None:
    assert found("m") == ["m/B.TFLITE", "m/a.onnx", "m/sub/deep/x.onnx", "m/sub/z.tflite", "m/sub-b/y.onnx"]
    assert found("m/.git") == ["m/.git/hidden.onnx"]


@pytest.mark.usefixtures("tree")
@pytest.mark.parametrize(
    ("pattern", "names"),
    [
        ("m/*.onnx", ["m/a.onnx"]),
        ("m/*", ["m/B.TFLITE", "m/a.onnx"]),
        ("m/*.data", ["m/a.onnx.data"]),
        ("m/**/*.onnx", ["m/a.onnx", "m/sub/deep/x.onnx", "m/sub-b/y.onnx"]),
        ("**/z.*", ["m/sub/z.tflite"]),
        ("m/sub*/*.onnx", ["m/sub-b/y.onnx"]),
        ("m/sub/**", ["m/sub/deep/x.onnx", "m/sub/z.tflite"]),
        ("m/[!b].onnx", ["m/a.onnx"]),
        ("m/sub?b/[x-z].onnx", ["m/sub-b/y.onnx"]),
    ],
)
def test_a_pattern_names_files(pattern: str, names: list[str]) -> None:
    assert found(pattern) == names


@pytest.mark.usefixtures("tree")
def test_the_order_of_the_sources_is_kept_and_no_model_comes_twice() -> None:
    assert found("m/sub", "m/a.onnx", "./m/../m/a.onnx", "m/*.onnx") == [
        "m/sub/deep/x.onnx",
        "m/sub/z.tflite",
        "m/a.onnx",
    ]


def test_links_in_a_circle_end_and_a_real_folder_comes_before_a_link_to_it(tree: Path) -> None:
    (tree / "sub" / "up").symlink_to(tree, target_is_directory=True)
    (tree / "a-link").symlink_to(tree / "sub", target_is_directory=True)
    (tree / "self").symlink_to(tree / "self")
    (tree / "again.onnx").symlink_to(tree / "a.onnx")
    assert found("m") == ["m/B.TFLITE", "m/a.onnx", "m/sub/deep/x.onnx", "m/sub/z.tflite", "m/sub-b/y.onnx"]
    other = tree.parent / "other"
    other.mkdir()
    (other / "o.onnx").touch()
    (tree / "to-other").symlink_to(other, target_is_directory=True)
    assert found("m")[-1] == "m/to-other/o.onnx"


def test_a_name_with_letters_of_patterns_that_is_there_is_a_file(tree: Path) -> None:
    (tree / "m[1].onnx").touch()
    assert found("m/m[1].onnx") == ["m/m[1].onnx"]


@pytest.mark.usefixtures("tree")
def test_a_file_that_is_not_there_stays_and_fails_for_itself() -> None:
    assert found("m/none.onnx", "m/a.onnx") == ["m/none.onnx", "m/a.onnx"]


@pytest.mark.usefixtures("tree")
@pytest.mark.parametrize(
    ("exclude", "left"),
    [
        ("sub", ["m/B.TFLITE", "m/a.onnx", "m/sub-b/y.onnx"]),
        ("*.tflite", ["m/B.TFLITE", "m/a.onnx", "m/sub/deep/x.onnx", "m/sub-b/y.onnx"]),
        ("m/sub", ["m/B.TFLITE", "m/a.onnx", "m/sub-b/y.onnx"]),
        ("m/sub/", ["m/B.TFLITE", "m/a.onnx", "m/sub-b/y.onnx"]),
        ("./m/sub/**", ["m/B.TFLITE", "m/a.onnx", "m/sub-b/y.onnx"]),
        ("**/deep/*.onnx", ["m/B.TFLITE", "m/a.onnx", "m/sub/z.tflite", "m/sub-b/y.onnx"]),
        ("sub/deep", ["m/B.TFLITE", "m/a.onnx", "m/sub/deep/x.onnx", "m/sub/z.tflite", "m/sub-b/y.onnx"]),
    ],
)
def test_what_is_excluded_is_left_out(exclude: str, left: list[str]) -> None:
    assert found("m", exclude=(exclude,)) == left


@pytest.mark.usefixtures("tree")
def test_a_file_that_is_named_and_excluded_is_left_out_too() -> None:
    assert found("m/a.onnx", "m/sub/z.tflite", exclude=("sub",)) == ["m/a.onnx"]
    assert found("m/a.onnx", exclude=("*.onnx",)) == []


def test_a_pattern_is_read_from_its_folder(tree: Path) -> None:
    pattern = Glob("sub/*.onnx", Path(".."))
    assert not pattern.names(Path("m/sub/a.onnx"))
    assert pattern.under(tree).names(Path("m/sub/a.onnx"))
    assert pattern.under(tree).names(tree / "sub" / "a.onnx")


def test_what_names_no_model_is_an_error(tree: Path) -> None:
    (tree / "empty").mkdir()
    for source, exclude, said in (
        ("m/empty", (), "m/empty: the folder has no model"),
        ("m/*.pb", (), "m/*.pb: the pattern names no model"),
        ("none/*.onnx", (), "none/*.onnx: the pattern names no model"),
        ("m/[z-a]/*.onnx", (), "a bad range of letters"),
        ("m", ("m",), "m: all of the 5 models here are excluded"),
    ):
        with pytest.raises(GraphfixError) as refused:
            found(source, exclude=exclude)
        assert said in str(refused.value)

"""The models of a batch and the names of their outputs, from sources here and behind URLs."""

from __future__ import annotations

from pathlib import Path

import pytest

from graphfix.batch.globs import Glob
from graphfix.batch.jobs.job import Command, output_name
from graphfix.batch.sources import _is_below, _named, models
from graphfix.batch.stores import addresses
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


def fill(folder: str, names: tuple[str, ...] = TREE) -> str:
    for name in names:
        addresses.store(folder).write_text(name, "model")
    return folder


@pytest.fixture
def tree(folder: str) -> str:
    """A folder with models, of each kind of store."""
    return fill(f"{folder}/m")


@pytest.fixture
def out(tmp_path: Path) -> str:
    return str(tmp_path / "out")


def named(found: list[tuple[str, str]]) -> list[str]:
    return [name for _, name in found]


def of(tree: str, *below: str, out: str, exclude: tuple[str, ...] = (), command: Command = "fix") -> list[str]:
    """The names; each place is that of its name."""
    given = [f"{tree}/{each}".rstrip("/") for each in below]
    found = models(given, [Glob(each) for each in exclude], out, command)
    for place, name in found:
        store, own = addresses.parted(place)
        assert store.identity(own) is not None
        assert place.endswith(name)
    return named(found)


def test_a_folder_is_searched_and_what_is_hidden_is_left_out(tree: str, out: str) -> None:
    assert of(tree, "", out=out) == ["B.TFLITE", "a.onnx", "sub/deep/x.onnx", "sub/z.tflite", "sub-b/y.onnx"]
    assert of(tree, "sub", out=out) == ["deep/x.onnx", "z.tflite"]


@pytest.mark.parametrize(
    ("pattern", "names"),
    [
        ("*.onnx", ["a.onnx"]),
        ("*", ["B.TFLITE", "a.onnx"]),
        ("*.data", ["a.onnx.data"]),
        ("**/*.onnx", ["a.onnx", "sub/deep/x.onnx", "sub-b/y.onnx"]),
        ("sub*/*.onnx", ["sub-b/y.onnx"]),
        ("sub/**", ["deep/x.onnx", "z.tflite"]),
        ("sub/*/x.onnx", ["deep/x.onnx"]),
        ("[!b].onnx", ["a.onnx"]),
        ("sub?b/[x-z].onnx", ["sub-b/y.onnx"]),
    ],
)
def test_a_pattern_names_files_from_its_first_wildcard_on(tree: str, out: str, pattern: str, names: list[str]) -> None:
    assert of(tree, pattern, out=out) == names


def test_a_file_has_its_own_name_and_the_first_source_of_it_counts(tree: str, out: str) -> None:
    assert of(tree, "sub/deep/x.onnx", out=out) == ["x.onnx"]
    assert of(tree, "sub/deep/x.onnx", "sub", out=out) == ["x.onnx", "z.tflite"]
    assert of(tree, "sub", "sub/deep/x.onnx", out=out) == ["deep/x.onnx", "z.tflite"]


@pytest.mark.parametrize("name", ["m[1].onnx", "m*.onnx"])
def test_a_name_with_letters_of_patterns_that_is_there_is_a_file(tree: str, out: str, name: str) -> None:
    fill(tree, (name, "m1.onnx"))
    assert of(tree, name, out=out) == [name]


def test_a_file_that_is_not_there_stays_among_others_and_fails_for_itself(tree: str, out: str) -> None:
    fill(tree, ("a.onnx",))
    found = models([f"{tree}/none.onnx", f"{tree}/a.onnx"], [], out, "fix")
    assert [name for _, name in found] == ["none.onnx", "a.onnx"]


def test_files_none_of_which_is_there_are_refused(tmp_path: Path) -> None:
    with pytest.raises(
        GraphfixError, match=r"one\.onnx: no such file or folder; give the path of a model or of a folder"
    ):
        models([str(tmp_path / "one.onnx"), str(tmp_path / "two.onnx")], [], str(tmp_path / "out"), "fix")


@pytest.mark.parametrize(
    ("exclude", "left"),
    [
        ("deep", ["B.TFLITE", "a.onnx", "sub/z.tflite", "sub-b/y.onnx"]),
        ("*.tflite", ["B.TFLITE", "a.onnx", "sub/deep/x.onnx", "sub-b/y.onnx"]),
        ("TREE/sub/", ["B.TFLITE", "a.onnx", "sub-b/y.onnx"]),
        ("TREE/sub/**", ["B.TFLITE", "a.onnx", "sub-b/y.onnx"]),
        ("**/deep/*.onnx", ["B.TFLITE", "a.onnx", "sub/z.tflite", "sub-b/y.onnx"]),
    ],
)
def test_what_is_excluded_is_left_out(
    tree: str, out: str, exclude: str, left: list[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.chdir(tmp_path)
    place = tree if addresses.is_url(tree) else str(addresses.local_path(tree).relative_to(tmp_path))
    assert of(tree, "", out=out, exclude=(exclude.replace("TREE", place),)) == left


def test_a_url_is_excluded_from_its_source_on(memory: str, out: str) -> None:
    fill(f"{memory}/m")
    assert of(f"{memory}/m", "", out=out, exclude=("sub/*/*.onnx", "a.onnx")) == [
        "B.TFLITE",
        "sub/z.tflite",
        "sub-b/y.onnx",
    ]
    assert of(f"{memory}/m", "a.onnx", out=out, exclude=("*.onnx",)) == []


@pytest.mark.parametrize(
    ("below", "exclude", "said"),
    [
        ("empty", (), "the folder has no model"),
        ("*.pb", (), "the pattern names no model"),
        ("none/*.onnx", (), "the pattern names no model"),
        ("[z-a]/*.onnx", (), "a bad range of letters"),
        ("", ("*.onnx", "*.tflite", "*.TFLITE"), "all of the 5 models here are excluded"),
    ],
)
def test_what_names_no_model_is_an_error(tree: str, out: str, below: str, exclude: tuple[str, ...], said: str) -> None:
    fill(f"{tree}/empty", ("notes.txt",))
    with pytest.raises(GraphfixError, match=said):
        of(tree, below, out=out, exclude=exclude)


@pytest.mark.ci
def test_what_an_earlier_batch_wrote_is_no_source(tree: str) -> None:
    before = of(tree, "", out=f"{tree}/fixed")
    fill(f"{tree}/fixed", ("a.onnx", "sub/deep/x.onnx"))
    assert of(tree, "", out=f"{tree}/fixed") == before
    assert of(tree, "*/*.onnx", "**/a.onnx", out=f"{tree}/fixed/") == ["sub-b/y.onnx", "a.onnx"]
    assert "fixed/a.onnx" in of(tree, "", out=f"{tree}/fix")


@pytest.mark.parametrize("below", ["", "a.onnx", "sub", "*.onnx", "sub/z.tflite"])
def test_a_source_in_the_folder_of_the_outputs_is_refused(tree: str, below: str) -> None:
    with pytest.raises(GraphfixError, match="choose another folder") as refused:
        of(tree, below, out=tree)
    assert "\n" not in str(refused.value)


@pytest.mark.ci
@pytest.mark.parametrize("output", ["s3a://bucket/m", "s3a://bucket/m/", "s3a://bucket"])
def test_a_store_is_the_same_by_all_of_its_protocols(s3: str, output: str) -> None:
    tree = fill(f"{s3}/m", ("a.onnx",))
    with pytest.raises(GraphfixError, match="it lies in the folder of the outputs"):
        models([tree], [], output, "fix")
    with pytest.raises(GraphfixError, match="it lies in the folder of the outputs"):
        models([f"{tree}/a.onnx"], [], output, "check")
    fill(f"{tree}/fixed", ("a.onnx",))
    assert named(models([tree, f"{tree}/a.onnx".replace("s3", "s3a")], [], "s3a://bucket/m/fixed", "fix")) == ["a.onnx"]


def test_an_output_that_leads_to_a_model_is_refused(tmp_path: Path) -> None:
    (tmp_path / "m.onnx").touch()
    (tmp_path / "out").mkdir()
    (tmp_path / "out" / "m.onnx").symlink_to(tmp_path / "m.onnx")
    with pytest.raises(GraphfixError, match="the output is a model of the batch"):
        models([str(tmp_path / "m.onnx")], [], str(tmp_path / "out"), "fix")
    assert models([str(tmp_path / "m.onnx")], [], str(tmp_path / "out"), "check")


@pytest.mark.parametrize(
    ("below", "command", "clash"),
    [
        (("a/m.onnx", "b/m.onnx"), "fix", "its result is m.onnx, which is that of"),
        (("a", "b/*.onnx"), "check", "its result is m.onnx, which is that of"),
        (("a/m.onnx", "c/m.tflite"), "tosa", "its result is m.tosa, which is that of"),
        (("a/m.onnx", "d"), "fix", "is in a folder that is a file"),
        (("a/m.onnx", "c/m.tflite"), "fix", None),
        (("b", "e"), "tosa", None),
        (("",), "fix", None),
    ],
)
def test_two_models_with_one_output_are_refused(
    folder: str, out: str, below: tuple[str, ...], command: Command, clash: str | None
) -> None:
    tree = fill(f"{folder}/t", ("a/m.onnx", "b/m.onnx", "c/m.tflite", "d/m.onnx/n.onnx", "e/sub/m.tflite"))
    if clash is None:
        assert of(tree, *below, out=out, command=command)
        return
    with pytest.raises(GraphfixError, match=clash) as refused:
        of(tree, *below, out=out, command=command)
    assert str(refused.value).count(tree.removeprefix("file://")) >= 1
    assert "\n" not in str(refused.value)


@pytest.mark.ci
def test_a_key_that_is_no_path_is_hidden_or_refused(s3: str, out: str, tmp_path: Path) -> None:
    import fsspec

    fsspec.filesystem("s3").pipe_file("bucket/m/../../out.onnx", b"model")
    fsspec.filesystem("s3").pipe_file("bucket/m/b.onnx", b"model")
    assert named(models([f"{s3}/m"], [], out, "fix")) == ["b.onnx"]
    fsspec.filesystem("s3").pipe_file("bucket/m/a//b.onnx", b"model")
    with pytest.raises(GraphfixError, match="no name for a file"):
        models([f"{s3}/m"], [], out, "fix")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("root", ["memory://", "s3://bucket"])
def test_a_root_is_a_folder(request: pytest.FixtureRequest, out: str, root: str) -> None:
    request.getfixturevalue("memory" if root == "memory://" else "s3")
    separator = "" if root.endswith("/") else "/"
    fill(root, ("a.onnx", "sub/b.onnx"))
    for source, names in ((root, ["a.onnx", "sub/b.onnx"]), ("*.onnx", ["a.onnx"]), ("a.onnx", ["a.onnx"])):
        found = models([source if source == root else f"{root}{separator}{source}"], [], out, "fix")
        assert named(found) == names
        assert found[0][0] == f"{root}{separator}a.onnx"


@pytest.mark.parametrize(
    ("name", "command", "made"),
    [
        ("a.b/m.onnx", "fix", "a.b/m.onnx"),
        ("a.b/m.v1.onnx", "tosa", "a.b/m.v1.tosa"),
        ("m", "tosa", "m.tosa"),
        ("m.onnx", "check", None),
    ],
)
def test_the_name_of_an_output(name: str, command: Command, made: str | None) -> None:
    assert output_name(name, command) == made


def test_a_path_is_below_a_folder_by_what_its_links_say(tmp_path: Path) -> None:
    (tmp_path / "real").mkdir()
    (tmp_path / "link").symlink_to(tmp_path / "real")
    assert _is_below(tmp_path / "link" / "m.onnx", tmp_path / "real")
    assert _is_below(tmp_path / "real", tmp_path / "link")
    assert not _is_below(tmp_path / "realm", tmp_path / "real")
    assert not _is_below(tmp_path, tmp_path / "real")
    assert not _is_below(Path("no\0name"), tmp_path)


@pytest.mark.parametrize(
    ("source", "found", "none"),
    [
        ("m.onnx", ["m.onnx"], False),
        ("no.onnx", ["no.onnx"], False),
        ("", ["m.onnx", "sub/n.onnx"], True),
        ("sub", ["n.onnx"], True),
        ("sub/", ["n.onnx"], True),
        ("empty/", [], True),
        ("*.onnx", ["m.onnx"], True),
        ("*.tflite", [], True),
    ],
)
def test_what_a_url_names_and_whether_it_must_name_something(
    memory: str, source: str, found: list[str], none: bool
) -> None:
    fill(memory, ("m.onnx", "sub/n.onnx", "sub/.hidden.onnx"))
    left, why = _named(f"{memory}/{source}", "out")
    assert [name for _, name in left] == found
    assert bool(why) is none

"""What a job made appears with its data, replaces what came from the same place alone, or nothing appears."""

from __future__ import annotations

from pathlib import Path

import pytest

from graphfix.batch.jobs.job import Command, Job, Limits
from graphfix.batch.jobs.publishing import Outputs
from graphfix.batch.stores import addresses
from graphfix.batch.stores.local import Local
from graphfix.batch.stores.store import Digest
from graphfix.engine.request import Request
from graphfix.results import GraphfixError

NAME = "sub/m.onnx"


def outputs(folder: Path, *, command: Command = "fix", name: str = NAME, **made: bytes) -> Outputs:
    """What a job has made: the model, and data files of these names."""
    job = Job("in/m.onnx", name, str(folder / "there"), command, Request(), Limits(60.0))
    found = Outputs(job, folder / "made")
    found.model.parent.mkdir(parents=True, exist_ok=True)
    found.model.write_bytes(b"model")
    for each, content in made.items():
        found.model.with_name(f"{each}.data").write_bytes(content)
    return found


def published(folder: Path, made: Outputs, source: str = "one", **data: str) -> list[str]:
    """The names of what is published; `data`: by location in the folder `source` the name of its copy."""
    digests = made.published(addresses.store(str(folder / source)), data)
    assert all(isinstance(each, Digest) for each in digests)
    return [each.name for each in digests]


def there(folder: Path) -> dict[str, bytes]:
    root = folder / "there"
    found = {path.relative_to(root).as_posix(): path for path in root.rglob("*") if path.is_file()}
    return {name: path.read_bytes() for name, path in found.items() if not name.startswith(".graphfix/")}


def test_the_data_that_was_made_is_published_before_the_model(tmp_path: Path) -> None:
    made = outputs(tmp_path, w=b"weights")
    assert published(tmp_path, made, w="w.data", unused="none.data") == ["sub/w.data", "sub/m.onnx"]
    assert there(tmp_path) == {"sub/w.data": b"weights", "sub/m.onnx": b"model"}
    assert list((tmp_path / "made").rglob("*.data")) == []


def test_all_else_that_was_made_is_published_too_and_the_model_last(tmp_path: Path) -> None:
    made = outputs(tmp_path, command="tosa", name="m.onnx")
    made.model.with_name("m.mlirbc").write_bytes(b"bytecode")
    (tmp_path / "made" / "empty").mkdir()
    assert published(tmp_path, made) == ["m.mlirbc", "m.tosa"]
    assert there(tmp_path) == {"m.mlirbc": b"bytecode", "m.tosa": b"model"}


def test_data_of_the_same_place_is_replaced(tmp_path: Path) -> None:
    published(tmp_path, outputs(tmp_path, w=b"weights"), w="w.data")
    published(tmp_path, outputs(tmp_path, w=b"others!"), w="w.data")
    assert there(tmp_path)["sub/w.data"] == b"others!"


@pytest.mark.parametrize("other", [b"others!", b"longer than the first"], ids=["of one size", "longer"])
def test_data_of_another_place_is_refused_and_what_is_there_stays(tmp_path: Path, other: bytes) -> None:
    published(tmp_path, outputs(tmp_path, w=b"weights"), w="w.data")
    message = r"there/sub/w\.data: something else of this name is there, and is kept; remove it, or choose another"
    with pytest.raises(GraphfixError, match=message):
        published(tmp_path, outputs(tmp_path, a=b"new", w=other), "two", a="a.data", w="w.data")
    assert there(tmp_path) == {"sub/w.data": b"weights", "sub/m.onnx": b"model"}


def test_a_file_of_nobody_is_kept(tmp_path: Path) -> None:
    (tmp_path / "there" / "sub").mkdir(parents=True)
    (tmp_path / "there" / "sub" / "w.data").write_bytes(b"mine")
    with pytest.raises(GraphfixError, match="is kept"):
        published(tmp_path, outputs(tmp_path, w=b"weights"), w="w.data")
    assert there(tmp_path) == {"sub/w.data": b"mine"}


def test_data_of_the_same_bytes_is_not_written_again_wherever_it_is_from(tmp_path: Path) -> None:
    published(tmp_path, outputs(tmp_path, w=b"weights"), w="w.data")
    first = (tmp_path / "there" / "sub" / "w.data").stat()
    made = outputs(tmp_path, w=b"weights")
    assert published(tmp_path, made, "two", w="w.data") == ["sub/w.data", "sub/m.onnx"]
    assert (tmp_path / "there" / "sub" / "w.data").stat().st_ino == first.st_ino
    assert list((tmp_path / "made").rglob("*.data")) == []
    # it still belongs to the first place
    with pytest.raises(GraphfixError, match="is kept"):
        published(tmp_path, outputs(tmp_path, w=b"changed"), "two", w="w.data")


def test_where_the_model_can_not_appear_new_data_goes_again_and_old_data_stays(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    published(tmp_path, outputs(tmp_path, w=b"weights"), w="w.data")
    publish = Local.publish

    def failing(self: Local, made: Path, name: str) -> Digest:
        if name == NAME:
            raise OSError("no room")
        return publish(self, made, name)

    monkeypatch.setattr(Local, "publish", failing)
    with pytest.raises(OSError, match="no room"):
        published(tmp_path, outputs(tmp_path, w=b"others!", v=b"new"), w="w.data", v="v.data")
    assert there(tmp_path) == {"sub/w.data": b"others!", "sub/m.onnx": b"model"}


def test_the_place_of_data_is_one_by_whatever_name(tmp_path: Path) -> None:
    """A link and what it leads to are one place; in a store the URL is."""
    (tmp_path / "one").mkdir()
    (tmp_path / "link").symlink_to("one")
    published(tmp_path, outputs(tmp_path, w=b"weights"), "link", w="w.data")
    published(tmp_path, outputs(tmp_path, w=b"others!"), "one", w="w.data")
    assert there(tmp_path)["sub/w.data"] == b"others!"


def test_data_of_a_store_belongs_to_its_url(tmp_path: Path, memory: str) -> None:
    outputs(tmp_path, w=b"weights").published(addresses.store(f"{memory}/one"), {"w": "w.data"})
    outputs(tmp_path, w=b"others!").published(addresses.store(f"{memory}/one"), {"w": "w.data"})
    assert there(tmp_path)["sub/w.data"] == b"others!"
    with pytest.raises(GraphfixError, match="is kept"):
        outputs(tmp_path, w=b"third..").published(addresses.store(f"{memory}/two"), {"w": "w.data"})

"""Writing TFLite files: what no edit names comes out as it went in, and LiteRT reads what was made."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from graphfix.formats.tflite.file import container as files
from graphfix.formats.tflite.file.container import read
from graphfix.results import GraphfixError
from tests.support.places import zoo_models
from tests.support.tflite.flat_files import (
    add_model,
    buffer,
    code,
    in_child,
    metadata,
    model,
    packed,
    run,
    schema,
    subgraph,
    tree,
    unpacked,
)
from tests.support.tflite.reshaping import add_reshape, same_archive, without_reshape
from tests.support.tiers import quick_in_ci

# --- whole models ------------------------------------------------------------


@pytest.mark.alike(2)
@pytest.mark.parametrize("path", quick_in_ci(zoo_models("tflite")))
def test_a_real_model_keeps_all_but_what_was_added(path: Path, tmp_path: Path) -> None:
    before = path.read_bytes()
    container = read(path)
    source = container.subgraphs[0].inputs[0]
    add_reshape(container, source, (1, *container.subgraphs[0].tensors[source].shape))
    container.save(tmp_path / "out.tflite")
    after = (tmp_path / "out.tflite").read_bytes()
    reported = unpacked(before)
    assert tree(without_reshape(unpacked(after), len(reported.operatorCodes))) == tree(reported)
    assert len(after) - len(before) < 50_000
    same_archive(before, after)
    assert in_child(run, after) == in_child(run, before)  # three have operators that LiteRT lacks: both say so


def test_nothing_changed_is_a_plain_copy(tmp_path: Path) -> None:
    data = packed(add_model())
    container = read(data)
    assert container.tobytes(changed=False) == data
    container.save(tmp_path / "out.tflite", changed=False)
    assert (tmp_path / "out.tflite").read_bytes() == data


def test_what_was_changed_is_written_unless_a_copy_is_asked_for(tmp_path: Path) -> None:
    container = read(packed(add_model()))
    add_reshape(container, 0, (1, 2, 3))
    container.save(tmp_path / "out.tflite")
    assert (tmp_path / "out.tflite").read_bytes() == container.tobytes() != container.tobytes(changed=False)


def test_the_old_file_follows_the_block_byte_for_byte_at_the_same_alignment() -> None:
    data = packed(add_model())
    container = read(data)
    add_reshape(container, 0, (1, 2, 3))
    out = container.tobytes()
    assert out.endswith(data)
    assert (len(out) - len(data)) % 16 == 0
    assert out[4:8] == b"TFL3"


def test_the_block_before_a_big_file_is_whole_pages() -> None:
    made = add_model()
    made.buffers[1] = buffer(np.zeros(1 << 18, np.float32))  # 1 MiB, more than its tensor needs
    data = packed(made)
    container = read(data)
    add_reshape(container, 0, (1, 2, 3))
    assert (len(container.tobytes()) - len(data)) % 4096 == 0


def test_a_written_file_can_be_changed_again() -> None:
    data = packed(add_model())
    container = read(data)
    add_reshape(container, 0, (1, 2, 3))
    again = read(container.tobytes())
    made = add_reshape(again, 2, (3, 2))
    again.subgraphs[0].outputs = (made,)
    status, value = in_child(run, again.tobytes())
    assert status == "value"
    assert value == in_child(run, data)[1]


# --- metadata --------------------------------------------------------------------------------------------------------


def notes(data: bytes) -> dict[str, bytes]:
    reported = unpacked(data)
    return {entry.name.decode(): bytes(reported.buffers[entry.buffer].data) for entry in reported.metadata}


def test_notes_make_one_entry_and_are_never_written_twice() -> None:
    container = read(packed(add_model()))
    for text in ("x[0] = 4", "x[1] = 3", "x[0] = 4"):
        container.note("graphfix.assumes", text)
    out = container.tobytes()
    assert notes(out) == {"min_runtime_version": b"1.5.0", "graphfix.assumes": b"x[0] = 4; x[1] = 3"}
    again = read(out)
    again.note("graphfix.assumes", "x[1] = 3")
    assert again.metadata == read(out).metadata
    again.note("graphfix.assumes", "y")
    assert notes(again.tobytes())["graphfix.assumes"] == b"x[0] = 4; x[1] = 3; y"


def test_a_note_is_written_behind_texts_that_are_not_empty() -> None:
    made = add_model()
    made.buffers[2] = buffer(np.frombuffer(b"; one; ; two; \0\0", np.uint8))
    container = read(packed(made))
    container.note("min_runtime_version", "three")
    assert notes(container.tobytes()) == {"min_runtime_version": b"one; two; three"}
    assert container.metadata == [("min_runtime_version", 3)]


def test_a_note_is_written_into_a_model_without_metadata_or_buffers() -> None:
    made = model([subgraph([], [], (), ())], [code(0)], [])
    container = read(packed(made))
    container.note("key", "text")
    assert notes(container.tobytes()) == {"key": b"text"}
    assert container.metadata == [("key", 1)]


# --- what can't be written -------------------------------------------------------------------------------------------


def test_tables_that_a_reference_could_not_reach_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    container = read(packed(add_model()))
    monkeypatch.setattr(files.Container, "_reach", lambda _: 2**31 - 16)
    with pytest.raises(GraphfixError, match="2 GiB"):
        container.tobytes()


def test_an_output_that_holds_buffers_of_the_model_is_refused(tmp_path: Path) -> None:
    made = add_model()
    group = schema.ExternalBufferGroupT()
    group.name = "weights.bin"
    made.externalBufferGroups = [group]
    (tmp_path / "m.tflite").write_bytes(packed(made))
    (tmp_path / "other").mkdir()
    container = read(tmp_path / "m.tflite")
    with pytest.raises(GraphfixError, match=r"weights\.bin: this file holds buffers"):
        container.save(tmp_path / "weights.bin")
    with pytest.raises(GraphfixError, match=r"buffers in files of its folder \('weights\.bin'\)"):
        container.save(tmp_path / "other" / "m.tflite")
    container.save(tmp_path / "out.tflite", changed=False)
    assert (tmp_path / "out.tflite").read_bytes() == packed(made)


def test_a_failed_save_leaves_nothing(tmp_path: Path) -> None:
    container = read(packed(add_model()))
    (tmp_path / "folder").mkdir()
    with pytest.raises(GraphfixError, match="not a regular file"):
        container.save(tmp_path / "folder")
    with pytest.raises(GraphfixError, match="can't be written"):
        container.save(tmp_path / "absent" / "m.tflite")
    assert [path.name for path in tmp_path.iterdir()] == ["folder"]


def test_a_source_that_changed_since_it_was_read_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "m.tflite"
    path.write_bytes(packed(add_model()))
    container = read(path)
    with path.open("ab") as file:
        file.write(b"more")
    with pytest.raises(GraphfixError, match="changed while it was in use"):
        container.save(tmp_path / "out.tflite")


def test_control_dependencies_stay_a_metadata_entry() -> None:
    made = add_model()
    made.metadata.append(metadata("model_control_dependencies", 2))
    container = read(packed(made))
    container.note("key", "text")
    assert [entry.name for entry in unpacked(container.tobytes()).metadata] == [
        b"min_runtime_version",
        b"model_control_dependencies",
        b"key",
    ]

"""What lies behind the tables, at absolute positions: payloads, options, an archive."""

from __future__ import annotations

import io
import zipfile
from collections.abc import Callable

import numpy as np
import pytest

from graphfix.formats.tflite.file.container import read
from tests.support.tflite.flat_files import (
    Made,
    add_model,
    code,
    in_child,
    operator,
    packed,
    run,
    schema,
    subgraph,
    tensor,
    tree,
    unpacked,
    with_outside,
)
from tests.support.tflite.reshaping import add_reshape, same_archive

B = schema.BuiltinOperator


def outside_model() -> Made:
    made = add_model()
    made.buffers[1] = schema.BufferT()
    return made


def test_payloads_behind_the_tables_move_with_the_file() -> None:
    values = np.array([5, 6, 7], np.float32).tobytes()
    made = outside_model()
    data = with_outside(made, [(made.buffers[1], "offset", "size", values)])
    container = read(data)
    assert (container.holds(1), container.size(1), container.data(1)) == (True, 12, values)
    assert in_child(run, data)[0] == "value"
    add_reshape(container, 0, (1, 2, 3))
    out = container.tobytes()
    found = unpacked(out).buffers[1]
    assert out[found.offset : found.offset + found.size] == values
    assert in_child(run, out) == in_child(run, data)
    assert read(out).data(1) == values


def custom_model() -> tuple[Made, Made]:
    """A model whose second subgraph has a custom operator with options behind the tables."""
    made = add_model()
    made.operatorCodes.append(code(B.CUSTOM, 1, "Own"))
    node = operator(1, (0,), (1,))
    made.subgraphs.append(subgraph([tensor("a", (2,)), tensor("b", (2,))], [node], (0,), (1,)))
    return made, node


def test_large_options_behind_the_tables_move_with_the_file_in_every_subgraph() -> None:
    made, node = custom_model()
    data = with_outside(made, [(node, "largeCustomOptionsOffset", "largeCustomOptionsSize", b"options!")])
    container = read(data)
    add_reshape(container, 0, (1, 2, 3))
    out = container.tobytes()
    found = unpacked(out).subgraphs[1].operators[0]
    assert out[found.largeCustomOptionsOffset :][: found.largeCustomOptionsSize] == b"options!"
    found.largeCustomOptionsOffset = node.largeCustomOptionsOffset
    assert tree(found) == tree(unpacked(data).subgraphs[1].operators[0])


def zipped(data: bytes) -> bytes:
    out = io.BytesIO(data)
    with zipfile.ZipFile(out, "a") as archive:
        archive.writestr("labels.txt", "cat\ndog\n")
        archive.writestr("deep/more.txt", "x" * 999, zipfile.ZIP_DEFLATED)
        archive.comment = b"a comment"
    return out.getvalue()


def test_an_archive_behind_the_model_moves_with_it() -> None:
    data = zipped(packed(add_model()))
    container = read(data)
    add_reshape(container, 0, (1, 2, 3))
    out = container.tobytes()
    same_archive(data, out)
    assert zipfile.ZipFile(io.BytesIO(out)).read("labels.txt") == b"cat\ndog\n"


@pytest.mark.parametrize(
    "behind",
    [
        pytest.param(lambda data: zipped(b"12345678") + data[:0], id="offsets that count from the archive's own begin"),
        pytest.param(lambda data: zipped(data)[len(data) :][:-1], id="cut short"),
        pytest.param(lambda _: b"PK\5\6" + bytes(18), id="an empty archive at 0"),
        pytest.param(lambda _: b"PK\5\6", id="a signature alone"),
        pytest.param(lambda data: zipped(data)[len(data) :].replace(b"PK\1\2", b"PK\1\3"), id="no entries"),
        pytest.param(lambda data: zipped(data)[len(data) :].replace(b"PK\3\4", b"PK\3\5"), id="no local headers"),
    ],
)
def test_what_only_looks_like_an_archive_is_left(behind: Callable[[bytes], bytes]) -> None:
    data = packed(add_model())
    data += behind(data)
    container = read(data)
    add_reshape(container, 0, (1, 2, 3))
    assert container.tobytes().endswith(data)


def test_references_reach_to_the_first_of_what_lies_behind_the_tables() -> None:
    data = packed(add_model())
    assert read(data)._reach() == len(data)
    made, node = custom_model()
    made.buffers[1] = schema.BufferT()
    payload = (made.buffers[1], "offset", "size", bytes(12))
    options = (node, "largeCustomOptionsOffset", "largeCustomOptionsSize", b"options!")
    assert read(with_outside(made, [payload, options]))._reach() == made.buffers[1].offset
    assert read(with_outside(made, [options, payload]))._reach() == node.largeCustomOptionsOffset
    assert node.largeCustomOptionsOffset < made.buffers[1].offset

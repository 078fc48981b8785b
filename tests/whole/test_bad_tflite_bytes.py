"""TFLite files whose bytes can't be right: one line and status 2 from every command, and nothing is written."""

from __future__ import annotations

import random
from typing import TYPE_CHECKING

import pytest

from tests.support.asking import ask, refused
from tests.support.places import ROOT
from tests.support.tflite.broken import ADD, Raw, broken, edited
from tests.support.tiers import tiered

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

MODELS = ROOT / "models"
FAR = 0xFFFFFFFF
MOST = 0x7FFFFFFF
MODEL_FIELDS = {"operator_codes": 1, "subgraphs": 2, "buffers": 4}
SUBGRAPH_FIELDS = {"tensors": 0, "inputs": 1, "outputs": 2, "operators": 3, "name": 4}
TENSOR_FIELDS = {"shape": 0, "name": 3}


def refused_by_all(capsys: pytest.CaptureFixture[str], folder: Path, path: Path) -> str:
    """Ask every command that reads a model; give what they say, which is the same."""
    lines = {
        refused(capsys, folder, *argv)
        for argv in (
            ("check", path),
            ("show", path),
            ("fix", path, "-o", folder / "o.tflite", "--no-verify"),
            ("fix", path, "-o", folder / "o.tflite", "--target", "ranks"),
            ("fix", path, "--in-place"),
        )
    }
    assert len(lines) == 1, lines
    line = lines.pop()
    assert str(path) in line
    assert line.isprintable()
    return line


NO_MODELS = {
    "identifier-alone": b"\x1c\0\0\0TFL3",
    "zeros-behind-the-identifier": b"\x1c\0\0\0TFL3" + bytes(4096),
    "ones-behind-the-identifier": b"\x1c\0\0\0TFL3" + b"\xff" * 4096,
    "root-0": bytes(4) + b"TFL3" + bytes(4096),
    "text-behind-the-identifier": b"\x1c\0\0\0TFL3" + b"this is no model\n" * 99,
    "root-is-the-identifier": b"\4\0\0\0TFL3" + bytes(64),
}


@pytest.mark.parametrize("name", NO_MODELS)
def test_what_only_begins_like_a_model_is_refused(
    name: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "m.tflite"
    path.write_bytes(NO_MODELS[name])
    assert "no TFLite model" in refused_by_all(capsys, tmp_path, path)
    assert str(path) in refused(capsys, tmp_path, "verify", path, MODELS / "files/archive.tflite")


@pytest.mark.ci
def test_a_wrong_identifier_makes_it_no_model_of_either_format(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path, data = tmp_path / "m.tflite", edited(lambda _: None)
    for identifier in (b"TFL2", b"TFL4", b"tfl3", b"\0\0\0\0", b"3LFT"):
        path.write_bytes(data[:4] + identifier + data[8:])
        assert str(path) in refused_by_all(capsys, tmp_path, path)


def assert_prefixes_are_refused(name: str, step: int, folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The last bytes of a file may be a part that nothing reads, such as a string's closing zero."""
    data = (MODELS / f"{name}.tflite").read_bytes()
    path, out = folder / "m.tflite", folder / "o.tflite"
    for turn, stop in enumerate(range(0, len(data), step)):
        path.write_bytes(data[:stop])
        answer = ask(capsys, *(("check", path) if turn % 4 else ("fix", path, "--no-verify", "-o", out)))
        if answer.status == 2 or len(data) - stop > 16:
            assert (answer.status, answer.out, len(answer.lines), out.exists()) == (2, "", 1, False), (stop, answer)
        out.unlink(missing_ok=True)


@pytest.mark.parametrize(
    "step", [29, pytest.param(13, marks=pytest.mark.ci), pytest.param(1, marks=pytest.mark.full)], ids="every {}".format
)
@pytest.mark.parametrize("name", ["bodies/if", "files/signatures", "quantized/per_channel", "bodies/while_int8"])
def test_a_prefix_is_refused(name: str, step: int, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert_prefixes_are_refused(name, step, tmp_path, capsys)


@pytest.mark.ci
@pytest.mark.parametrize("name", ["files/archive", "files/control_dependencies"])
def test_lengths_of_larger_cuts_are_refused(name: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    data = (MODELS / f"{name}.tflite").read_bytes()
    path = tmp_path / "m.tflite"
    for part in (0.05, 0.2, 0.4, 0.5):
        path.write_bytes(data[: int(len(data) * part)])
        refused_by_all(capsys, tmp_path, path)


@pytest.mark.ci
def test_random_bytes_behind_the_identifier_are_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    draw = random.Random(20)  # noqa: S311 -- no secret, a seeded test
    path = tmp_path / "m.tflite"
    for size in [*range(40), 100, 1000, 100_000]:
        noise = draw.randbytes(size)
        for root in (8, 12, size // 2):
            path.write_bytes(root.to_bytes(4, "little") + b"TFL3" + noise)
            refused(capsys, tmp_path, "check", path)


# --- positions that lie outside, or upon one another ------------------------------------------------------------------


def place(raw: Raw, table: str, slot: int) -> int:
    return raw.field(getattr(raw, table), slot)


REFERENCES = [
    *(("model", name, slot) for name, slot in MODEL_FIELDS.items()),
    *(("subgraph", name, slot) for name, slot in SUBGRAPH_FIELDS.items()),
    *(("tensor", name, slot) for name, slot in TENSOR_FIELDS.items()),
    ("operator", "inputs", 1),
    ("operator", "outputs", 2),
    ("operator", "options", 4),
    ("constant", "data", 0),
]
OUTSIDE = {"far": FAR, "signed": 0x80000000, "2-gib": MOST, "nowhere": 0}


@pytest.mark.parametrize("outside", tiered(OUTSIDE, lambda name: name == "far"))
@pytest.mark.parametrize(
    ("table", "slot"), [(t, s) for t, _, s in REFERENCES], ids=[f"{t}-{n}" for t, n, _ in REFERENCES]
)
def test_a_reference_that_leads_outside_is_refused(
    table: str, slot: int, outside: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "m.tflite"
    path.write_bytes(broken(lambda raw: raw.put(place(raw, table, slot), OUTSIDE[outside])))
    assert "points outside" in refused_by_all(capsys, tmp_path, path)


VECTORS = [row for row in REFERENCES if row[1] != "options"]


@pytest.mark.parametrize("count", tiered([FAR, MOST, 0x40000000, 0x10000], lambda count: count == MOST, name=hex))
@pytest.mark.parametrize(("table", "slot"), [(t, s) for t, _, s in VECTORS], ids=[f"{t}-{n}" for t, n, _ in VECTORS])
def test_a_vector_longer_than_the_file_is_refused(
    table: str, slot: int, count: int, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "m.tflite"
    path.write_bytes(broken(lambda raw: raw.put(raw.target(place(raw, table, slot)), count)))
    assert "ends behind the file" in refused_by_all(capsys, tmp_path, path)


TABLES = ["model", "subgraph", "tensor", "operator", "constant"]
DISTANCES = {
    "itself": 0,
    "into-the-table": -4,
    "before-the-file": 0x7FFFFFF0,
    "behind-the-file": -0x7FFFFFF0,
    "least": -0x80000000,
    "odd": 1,
}


@pytest.mark.alike(4)
@pytest.mark.parametrize("distance", DISTANCES.values(), ids=DISTANCES)
@pytest.mark.parametrize("table", TABLES)
def test_a_vtable_that_is_the_table_or_none_is_refused(
    table: str, distance: int, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "m.tflite"
    path.write_bytes(broken(lambda raw: raw.put(getattr(raw, table), distance, "<i")))
    if (table, distance) == ("constant", -4):  # what stands there reads as a vtable without fields, to LiteRT too
        assert ask(capsys, "show", path).out.count("b[3]") == 1
    else:
        refused_by_all(capsys, tmp_path, path)


@pytest.mark.alike(4)
@pytest.mark.parametrize("size", [0, 2, 3, 5, 0xFFFE, 0xFFFF])
@pytest.mark.parametrize("table", TABLES)
def test_a_vtable_of_an_impossible_length_is_refused(
    table: str, size: int, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "m.tflite"
    path.write_bytes(broken(lambda raw: raw.put(raw.vtable(getattr(raw, table)), size, "<H")))
    assert f"a vtable of {size} bytes" in refused_by_all(capsys, tmp_path, path)


FIELDS = [("model", 0), ("model", 2), ("subgraph", 0), ("tensor", 0), ("tensor", 2), ("operator", 1), ("constant", 0)]


@pytest.mark.alike(4)
@pytest.mark.parametrize("distance", [1, 3, 0xFFFF], ids=["upon-the-vtable", "half-upon-it", "behind-the-file"])
@pytest.mark.parametrize(("table", "slot"), FIELDS)
def test_a_field_outside_of_its_table_is_refused(
    table: str, slot: int, distance: int, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "m.tflite"
    path.write_bytes(broken(lambda raw: raw.put(raw.entry(getattr(raw, table), slot), distance, "<H")))
    refused_by_all(capsys, tmp_path, path)


CROSSED: dict[str, Callable[[Raw], object]] = {
    "the-subgraphs-are-the-model": lambda raw: raw.put(
        raw.target(raw.field(raw.model, 2)) + 4, raw.model - raw.target(raw.field(raw.model, 2)) - 4 & FAR
    ),
    "the-root-is-a-subgraph": lambda raw: raw.put(0, raw.subgraph),
    "the-root-is-a-vector": lambda raw: raw.put(0, raw.target(raw.field(raw.model, 2))),
    "the-root-is-a-vtable": lambda raw: raw.put(0, raw.vtable(raw.tensor)),
    "the-root-is-the-last-word": lambda raw: raw.put(0, len(raw.data) - 4),
    "a-shape-is-the-tensors": lambda raw: raw.put(
        raw.field(raw.tensor, 0), raw.target(raw.field(raw.subgraph, 1)) - raw.field(raw.tensor, 0) & FAR
    ),
}


@pytest.mark.parametrize("name", CROSSED)
def test_tables_in_the_place_of_others_are_refused(
    name: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "m.tflite"
    path.write_bytes(broken(CROSSED[name]))
    refused_by_all(capsys, tmp_path, path)


@pytest.mark.ci
def test_the_file_that_all_of_these_break_is_a_model(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path, out = tmp_path / "m.tflite", tmp_path / "o.tflite"
    path.write_bytes(broken(lambda _: None))
    assert ADD.replace(":const", "").rstrip(")") in ask(capsys, "show", path).out
    assert ask(capsys, "fix", path, "-o", out).status == 0
    assert ask(capsys, "check", out).status == 0


# --- bytes that lie behind the tables ---------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("offset", "size"),
    [(1 << 20, 12), (2, FAR), (16, 1 << 40), ((1 << 64) - 1, 12), ((1 << 64) - 6, 12), (8, (1 << 64) - 1)],
)
def test_a_buffer_behind_the_file_is_refused(
    offset: int, size: int, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    def move(made: object) -> None:
        held = made.buffers[1]  # type: ignore[attr-defined]  # the object API has no types
        held.data, held.offset, held.size = None, offset, size

    path = tmp_path / "m.tflite"
    path.write_bytes(edited(move))
    assert "lie outside" in refused_by_all(capsys, tmp_path, path)

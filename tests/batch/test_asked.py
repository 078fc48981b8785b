"""Two requests that make something else have two digests, whatever field says it, and whatever file."""

from __future__ import annotations

import importlib
from dataclasses import fields
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from graphfix.batch.jobs import request_digest
from graphfix.batch.jobs.job import Limits
from graphfix.batch.jobs.request_digest import SPARED, digest
from graphfix.engine.request import Request
from graphfix.results import GraphfixError

OTHERS: dict[str, Any] = {
    "data_root": (Path(),),
    "target": "ranks",
    "broadcasts": "two-sided",
    "unknown": "keep",
    "only": ("equalize-ranks",),
    "skip": ("normalize-expand",),
    "rewrites": ("rewrites/own.py",),
    "keep_fusions": True,
    "max_expand_bytes": 0,
    "dims": {"batch": 4},
    "shapes": {"x": (1, 2)},
    "same": (("a[0]", "b[0]"),),
    "fault": "--dim N=four: give a number",
    "trust_stored": True,
    "bind_defaults": True,
    "values": {"x": 1},
    "signature": "serving",
    "drop_set_inputs": True,
    "narrow_inputs": True,
    "check_result": False,
    "strict_proof": True,
    "proof": "without",
    "load": True,
    "runs": 5,
    "thorough": True,
    "seed": 1,
    "inputs": Path("inputs.npz"),
    "atol": 0.1,
    "rtol": 0.1,
    "stop_where_blocked": True,
    "run": True,
    "run_on": (Path("inputs.npz"),),
    "diff": True,
}
"""Field -> another value than the default."""


def test_every_field_counts_or_is_spared_on_purpose() -> None:
    names = {each.name for each in fields(Request)} - {"goal"}
    assert names == set(OTHERS) | SPARED
    assert not set(OTHERS) & SPARED


@pytest.mark.parametrize("name", OTHERS)
def test_another_value_is_another_digest(name: str) -> None:
    before = digest("fix", Request())
    assert digest("fix", Request()) == before
    assert digest("fix", Request(**{name: OTHERS[name]})) != before


def test_another_command_is_another_digest() -> None:
    assert len({digest(command, Request()) for command in ("fix", "check", "tosa")}) == 3


def test_what_is_spared_is() -> None:
    asked = Request(in_place=True, report=(Path("r.html"),), excerpt=True, progress=print)  # type: ignore[arg-type]
    assert digest("fix", asked) == digest("fix", Request())


def test_the_order_of_names_does_not_count_but_that_of_options_does() -> None:
    assert digest("fix", Request(dims={"a": 1, "b": 2})) == digest("fix", Request(dims={"b": 2, "a": 1}))
    assert digest("fix", Request(same=[("a", "b")])) != digest("fix", Request(same=[("b", "a")]))


@pytest.mark.parametrize(
    ("field", "name"), [("target_file", "t.toml"), ("rewrites", "own.py"), ("inputs", "i.npz"), ("run_on", "i.npz")]
)
def test_the_content_of_a_file_counts_and_not_its_place(tmp_path: Path, field: str, name: str) -> None:
    digests = []
    for folder, text in (("a", 'name = "mine"'), ("b", 'name = "mine"'), ("c", 'name = "mine"\n[limits]\nstatic=true')):
        path = tmp_path / folder / name
        path.parent.mkdir()
        path.write_text(text)
        value = path if field in ("target_file", "inputs") else (path,)
        digests.append(digest("fix", Request(**{field: value})))
    assert digests[0] == digests[1]
    assert digests[0] != digests[2]


def test_the_content_of_a_folder_of_inputs_counts(tmp_path: Path) -> None:
    data = tmp_path / "test_data_set_0"
    data.mkdir()
    (data / "input_0.pb").write_bytes(b"one")
    before = digest("fix", Request(inputs=data))
    (data / "input_0.pb").write_bytes(b"two")
    assert digest("fix", Request(inputs=data)) != before


def test_an_installed_rewrite_counts_by_its_content(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    information = tmp_path / "planted-1.0.dist-info"
    information.mkdir()
    (information / "METADATA").write_text("Name: planted\nVersion: 1.0\n")
    (information / "entry_points.txt").write_text("[graphfix.rewrites]\nmy-rewrite = planted_rewrite\n")
    monkeypatch.syspath_prepend(tmp_path)
    asked = Request(rewrites=("my-rewrite",))
    digests = [digest("fix", asked)]
    for text in ("one", "two"):
        (tmp_path / "planted_rewrite.py").write_text(text)
        importlib.invalidate_caches()
        digests.append(digest("fix", asked))
    assert len(set(digests)) == 3


def test_a_file_that_is_not_there_has_a_digest_too_and_an_object_has_none() -> None:
    assert digest("fix", Request(inputs=Path("none.npz"))) != digest("fix", Request())
    with pytest.raises(GraphfixError, match="as files or by their installed names"):
        digest("fix", Request(rewrites=(pytest,)))


def test_what_has_no_order_is_one_request_in_whatever_order_it_is_said() -> None:
    for names in ({"b", "a", "c"}, frozenset({"c", "a", "b"})):
        assert request_digest._plain(names) == ["a", "b", "c"]
    assert request_digest._plain(["b", "a"]) == ["b", "a"]


@pytest.mark.parametrize(
    ("value", "content"),
    [("planted_one", True), ("planted_one:f", True), ("no_such_place", False), ("planted_space", False), ("", False)],
    ids=["a module", "a name in one", "none", "a folder", "nothing"],
)
def test_of_an_entry_point_the_place_the_version_and_the_content_count(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, value: str, content: bool
) -> None:
    (tmp_path / "planted_one.py").write_text("one")
    (tmp_path / "planted_space").mkdir()
    monkeypatch.syspath_prepend(tmp_path)
    importlib.invalidate_caches()
    module = value.partition(":")[0]
    entry = SimpleNamespace(value=value, module=module, dist=SimpleNamespace(version="1.5"))
    held = request_digest._content(tmp_path / "planted_one.py") if content else None
    assert (held is not None) is content
    assert request_digest._installed(entry) == [value, "1.5", held]  # type: ignore[arg-type]
    assert request_digest._installed(SimpleNamespace(value=value, module=module, dist=None))[:2] == [value, None]  # type: ignore[arg-type, index]


def test_a_rewrite_by_its_name_counts_by_the_entry_points_of_that_name(monkeypatch: pytest.MonkeyPatch) -> None:
    groups: list[str] = []

    def entry_points(*, group: str) -> list[SimpleNamespace]:
        groups.append(group)
        return [SimpleNamespace(name=name, value=f"{name}.m", module="", dist=None) for name in ("a", "b", "a")]

    monkeypatch.setattr(request_digest, "entry_points", entry_points)
    assert request_digest._rewrites(("a", "c", Path("none.py"))) == [["a", *[["a.m", None, None]] * 2], ["c"], None]
    assert set(groups) == {"graphfix.rewrites"}


@pytest.mark.parametrize(
    ("value", "plain"),
    [
        ({2: (1, "a")}, {"2": [1, "a"]}),
        ({"b": {3, 1}}, {"b": ["1", "3"]}),
        ((None, True, 0.5), [None, True, 0.5]),
        (Limits(1.5, 3), {"seconds": 1.5, "bytes": 3}),
    ],
    ids=str,
)
def test_a_value_is_plain_by_its_kind(value: object, plain: object) -> None:
    assert request_digest._plain(value) == plain


def test_what_no_digest_is_known_of_is_an_error() -> None:
    for value in (b"bytes", Limits):
        with pytest.raises(TypeError, match=r"^(bytes|type): no digest of it is known$"):
            request_digest._plain(value)

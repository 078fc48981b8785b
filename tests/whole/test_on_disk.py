"""A source that is no file lies in a temporary one for a while, and nothing that is said or returned names that."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import graphfix
from graphfix.api.on_disk import OnDisk, arrays_on_disk, on_disk
from graphfix.results import GraphfixError, Outcome, Site, Verdict
from tests.support.notation import model
from tests.support.small_models import with_data

DATA = model("y[2,3] = Add(x[2,3], b[3])").SerializeToString()


def test_a_file_is_read_where_it_lies_and_bytes_from_a_file_that_goes_again(tmp_path: Path) -> None:
    path = tmp_path / "m.onnx"
    path.write_bytes(DATA)
    with on_disk("check", path) as file:
        assert (file.path, file.names) == (path, {})
    with on_disk("check", DATA) as file:
        assert file.path.read_bytes() == DATA
        assert file.names == {str(file.path): "<bytes>"}
    assert not file.path.exists()
    with pytest.raises(GraphfixError, match=r"^<bytes>: no model$"), on_disk("check", DATA) as file:
        raise GraphfixError(f"{file.path}: no model")


def test_bytes_lie_beside_their_data_only_where_they_have_some(tmp_path: Path) -> None:
    source = with_data(tmp_path / "m.onnx", "w.bin", 1.0)
    before = {path.name for path in tmp_path.iterdir()}
    for data, beside in ((source.read_bytes(), True), (DATA, False), (b"no model", False)):
        with on_disk("check", data, tmp_path) as file:
            assert (file.path.parent == tmp_path) is beside
            assert file.path.read_bytes() == data
    assert {path.name for path in tmp_path.iterdir()} == before


def site(node: str, op: str = "Add") -> Site:
    return Site("GF101", node, op, "main", 0, (3,), (1, 3), "found")


@pytest.mark.parametrize(
    ("sites", "nodes"),
    [
        ([site("x1", "model"), site("n")], ["<bytes>", "n"]),
        ([site("x1"), site("n")], ["x1", "n"]),
        ([site("other", "model")], ["other"]),
        ([site("n"), site("x1", "model")], ["n", "x1"]),
        ([], []),
    ],
    ids=["of the model", "of a node", "of another name", "behind a node", "none"],
)
def test_of_an_outcome_the_first_site_is_renamed_where_it_is_that_of_the_model(
    sites: list[Site], nodes: list[str]
) -> None:
    outcome = Outcome(
        "fix", "/made/x1", "onnx", output="/made/x1", sites=sites, notes=("of /made/x1",), assumes=("/made/x1 is",),
        verdict=Verdict("equal", reason="/made/x1: no"),
    )  # fmt: skip
    found = OnDisk(Path("/made/x1"), {"/made/x1": "<bytes>"}).renamed(outcome)
    assert [each.node for each in found.sites] == nodes
    assert (found.source, found.output) == ("<bytes>", "<bytes>")
    assert (list(found.notes), list(found.assumes)) == (["of <bytes>"], ["<bytes> is"])
    assert found.verdict == Verdict("equal", reason="<bytes>: no")
    assert OnDisk(Path("/made/x1"), {}).renamed(outcome) is outcome


def test_other_results_are_renamed_whole() -> None:
    file = OnDisk(Path("/made/x1"), {"/made/x1": "<bytes>"})
    assert file.renamed(Verdict("equal", reason="/made/x1: no")) == Verdict("equal", reason="<bytes>: no")
    assert file.renamed("/made/x1 of /made/x2") == "<bytes> of /made/x2"


def test_arrays_are_an_archive_with_their_names_that_goes_again() -> None:
    arrays = {"file": np.arange(6, dtype=np.int8).reshape(2, 3), "a/b": np.float32(0.5), "list": [True, False]}
    with arrays_on_disk(arrays) as path:
        with np.load(path) as there:
            assert list(there) == list(arrays)
            for name, given in arrays.items():
                assert there[name].dtype == np.asarray(given).dtype
                assert np.array_equal(there[name], np.asarray(given))
        assert path.suffix == ".npz"
    assert not path.exists()
    with pytest.raises(GraphfixError, match=r"^inputs: too few$"), arrays_on_disk(arrays) as path:
        raise GraphfixError(f"{path}: too few")


@pytest.mark.parametrize(
    ("arrays", "said"),
    [
        ({"x": object()}, "inputs 'x' is <object object"),
        ({"a": np.zeros(2), "x": [{}]}, "inputs 'x' is [{}]; give the name of an input, and an array"),
        ({3: np.zeros(2)}, "inputs 3 is "),
    ],
    ids=["an object", "a list of one", "a number as a name"],
)
def test_what_is_no_array_of_a_name_is_refused(arrays: dict[str, object], said: str) -> None:
    with pytest.raises(GraphfixError) as raised, arrays_on_disk(arrays):
        pass
    assert str(raised.value).startswith(said)


# --- a loaded model ---------------------------------------------------------------------------------------------------


def test_a_loaded_model_is_bound_by_dims_shapes_and_what_is_the_same() -> None:
    loaded = graphfix.load(model("y[*] = Add(x[N,S,3], z[M,T,K])"))
    loaded.bind({"N": 2}, {"z": (None, 5, None)}, [("z[0]", "x[0]")])
    assert [str(value.shape) for value in loaded.inputs] == ["[2, S, 3]", "[2, 5, K]"]

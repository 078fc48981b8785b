"""The pairs that verifiers are asked about: each once, and one model's trouble is its own."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import onnx
import pytest
from peers.catalogue import OURS, THEIRS
from peers.environments import Environment
from peers.models import ZOO, Source
from peers.record import read as read_results
from peers.verifying import measuring, record, sums
from peers.verifying.faults import FAULTS
from peers.verifying.record import DIFFERENT, EQUAL, FAILED, NOT_RUN, PROVED, SAME
from peers.verifying.verifiers import BOTH, PROOF

from tests.support.notation import model
from tests.support.places import ROOT


def asked(**versions: str) -> measuring.Asked:
    """An environment of graphfix alone: of the peers only `cp` is there."""
    python = Path(sys.executable)
    made = {OURS: Environment(python, {"graphfix": "1"}), THEIRS: Environment(python, versions)}
    return measuring.Asked(60, made, lambda _: None, lambda _: None)


def zoo_model(path: Path, text: str) -> Source:
    onnx.save(model(text), path)
    return Source(path.name, "zoo", "onnx", path)


@pytest.mark.ci
def test_each_pair_is_asked_once_and_what_is_not_installed_has_no_answer(tmp_path: Path) -> None:
    found = measuring.verification([zoo_model(tmp_path / "m.onnx", "y[2,3] = Add(a[2,3], b[3])")], asked())
    assert {each.maker: (each.again, each.witness.status) for each in found.pairs} == {
        "cp": (False, SAME),
        "graphfix explicit": (False, SAME),
        "graphfix ranks": (False, SAME),
    }
    assert {name: answer.word for name, answer in found.pairs[1].answers.items()} == {
        PROOF: PROVED,
        BOTH: PROVED,
        "graphfix runs": EQUAL,
    }
    assert all(answer.seconds > 0 < answer.cpu for each in found.pairs for answer in each.answers.values())
    assert not found.failures


@pytest.mark.ci
def test_what_is_the_same_file_twice_is_asked_once(tmp_path: Path) -> None:
    found = measuring.verification([zoo_model(tmp_path / "m.onnx", "y[2,3] = Neg(a[2,3])")], asked())
    assert [each.again for each in found.pairs] == [False, True, True]
    assert len({id(each.answers) for each in found.pairs}) == 1


@pytest.mark.ci
def test_what_makes_nothing_or_does_not_run_is_said_and_the_others_go_on(tmp_path: Path) -> None:
    custom = zoo_model(tmp_path / "custom.onnx", "y[2,3] = some.where.Custom(a[2,3])")
    broken = Source("broken.onnx", "zoo", "onnx", tmp_path / "broken.onnx")
    (tmp_path / "broken.onnx").write_bytes(b"no model")
    found = measuring.verification([custom, broken], asked())
    assert {(each.model, each.witness.status) for each in found.pairs} == {
        ("custom.onnx", NOT_RUN),
        ("broken.onnx", NOT_RUN),
    }
    assert [each.answers[PROOF].word for each in found.pairs] == [PROVED, PROVED, PROVED, FAILED]
    assert [line.partition(": ")[0] for line in found.failures] == [
        "broken.onnx, graphfix explicit",
        "broken.onnx, graphfix ranks",
    ]
    assert str(tmp_path) not in str(found)
    assert "graphfix-pairs-" not in str(found)


@pytest.mark.full
@pytest.mark.zoo
def test_the_verifiers_are_asked_by_one_command(tmp_path: Path) -> None:
    for name in ("graphfix", "peers"):
        (tmp_path / name).symlink_to(sys.prefix, target_is_directory=True)
    command = [sys.executable, ROOT / "scripts" / "bench_peers.py", "--tables", "verification", "--models", "iris"]
    command += ["--json", tmp_path / "r.json", "--envs", tmp_path, "--no-install"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    found = record.read(read_results(tmp_path / "r.json").verification)
    assert found
    name = next(name for name in FAULTS if "iris" in name)
    assert (ZOO / name).exists()
    assert {each.fault for each in found.pairs if each.model == name} == {"", *FAULTS[name]}
    assert {each.answers[PROOF].word for each in found.pairs if each.maker.startswith("graphfix")} == {PROVED}
    assert {each.answers[BOTH].word for each in found.pairs if each.fault} == {DIFFERENT}
    assert not sums.wrong_answers(found.pairs)

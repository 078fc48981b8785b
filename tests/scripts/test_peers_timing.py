"""The benchmark beside the peers: whose turn it is, what a process took, and how one ended."""

from __future__ import annotations

import subprocess
import sys
from itertools import pairwise
from pathlib import Path

import pytest
from peers import clock, measure
from peers.catalogue import NAMED, PEERS
from peers.record import MIB

from tests.support.places import ROOT


def python(code: str) -> list[str]:
    return [sys.executable, "-c", code]


def test_each_follows_each_other_one_in_some_round_and_each_is_first_once() -> None:
    names = ["a", "b", "c"]
    orders = [measure.order(names, turn) for turn in range(6)]
    assert all(sorted(each) == names for each in orders)
    assert {each[0] for each in orders} == set(names)
    assert {pair for each in orders for pair in pairwise(each)} == {
        (one, other) for one in names for other in names if one != other
    }


MEASURES = """
import sys
from peers import clock
def timed(code):
    return clock.timed([sys.executable, "-c", code], 30)
asleep, _ = timed("import time; time.sleep(0.5)")
busy, said = timed("held = bytearray(200 << 20); print(sum(range(10_000_000)))")
print(asleep.seconds, asleep.cpu, asleep.peak, busy.cpu, busy.peak, said)
"""


@pytest.mark.ci
def test_what_a_process_takes_is_its_own() -> None:
    """Asked in a small process, as the benchmark is one: what the parent holds at the fork counts as the child's."""
    done = subprocess.run(python(MEASURES), cwd=ROOT / "scripts", capture_output=True, text=True, check=True)
    seconds, asleep, asleep_peak, busy, busy_peak, said = done.stdout.split()
    assert float(seconds) > 0.5
    assert float(asleep) < 0.4
    assert float(busy) > float(asleep)
    assert int(busy_peak) > 200 * MIB > int(asleep_peak)
    assert said == "49999995000000"


@pytest.mark.ci
@pytest.mark.parametrize(
    ("code", "said"),
    [
        ("import os; os.abort()", "ended by SIGABRT"),
        ("print('on the way'); raise ValueError('no such thing')", "ValueError: no such thing"),
        ("raise SystemExit(3)", "exit status 3"),
        ("import time; time.sleep(60)", "longer than 1 s"),
    ],
    ids=["a signal", "the last line", "a status alone", "the limit"],
)
def test_how_a_process_ended_is_said_in_one_line(code: str, said: str) -> None:
    with pytest.raises(clock.FailedError) as caught:
        clock.timed(python(code), 1 if "sleep" in code else 30)
    assert str(caught.value) == said


@pytest.mark.ci
def test_what_a_process_started_ends_with_it_at_the_limit(tmp_path: Path) -> None:
    mark = tmp_path / "mark"
    command = ["sh", "-c", f"(sleep 2; touch {mark}) & sleep 60"]
    with pytest.raises(clock.FailedError):
        clock.timed(command, 0.5)
    clock.timed(["sleep", "2.5"], 30)
    assert not mark.exists()


def test_a_process_starts_as_from_a_users_shell(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PYTHONPATH", "/nowhere")
    _, said = clock.timed(python("import os; print(os.environ.get('PYTHONPATH'))"), 30)
    assert said.strip() == "None"


def test_each_peer_is_called_with_its_own_python_and_the_files() -> None:
    for peer in PEERS:
        words = peer.command(Path("/env/bin/python"), Path("/m/a.onnx"), Path("/m/b.onnx"))
        assert {"/m/a.onnx", "/m/b.onnx"} <= set(words)
        assert words[0] in {"cp", "/env/bin/python"} or words[0].startswith("/env/bin/")


def test_external_data_is_copied_too(tmp_path: Path) -> None:
    model, output = tmp_path / "a.onnx", tmp_path / "b.onnx"
    model.write_bytes(b"model")
    (tmp_path / "a.onnx.data").write_bytes(b"data")
    clock.timed(NAMED["cp"].command(Path(sys.executable), model, output), 30)
    assert output.read_bytes() == b"model"
    assert (tmp_path / "b.onnx.data").read_bytes() == b"data"


def test_what_is_slow_runs_fewer_times() -> None:
    assert [measure.turns(first, 5) for first in (0.4, 2.0, 20.0)] == [5, 3, 0]
    assert measure.turns(2.0, 1) == 1

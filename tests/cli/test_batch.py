"""`graphfix batch`: many models of both formats, each for itself; what is printed, remembered and begun again."""

from __future__ import annotations

import json
import os
import pickle
import re
import shutil
import signal
import subprocess
import sys
import time
from argparse import Namespace
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, nullcontext
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import pytest

from graphfix.batch.jobs import cluster
from graphfix.batch.jobs.batch_settings import Orders
from graphfix.batch.jobs.job import Command, Finished, Job, Limits, output_name
from graphfix.cli import commands, parser, terminal
from graphfix.cli.batch.command import _accounted, _Answer, _workers
from graphfix.cli.batch.requests import Requests
from graphfix.cli.configuration import settings
from graphfix.engine.request import Request
from graphfix.report.forms import registry
from graphfix.report.text import Failure
from graphfix.results import Outcome, Site, Verdict, VerdictStatus
from graphfix.targets import target as targets
from tests.support import small_models
from tests.support.asking import Answer, ask, listing, refused
from tests.support.places import MODELS, ROOT

GIVEN = {
    "zoo/z/encoder.onnx": "encoder.onnx",
    "zoo/a.tflite": "prelu.tflite",
    "zoo/b.onnx": "rfc/operations.onnx",
    "zoo/deep/er/c.tflite": "rfc/dynamic_1d.tflite",
    "zoo/deep/same.onnx": "rfc/dynamic_2d_same.onnx",
    "zoo/bad.onnx": "rfc/incompatible.onnx",
    "zoo/half.onnx": "constants/shared.onnx",
}
ORDER = [*(f"zoo/{name}" for name in "a.tflite b.onnx bad.onnx deep/er/c.tflite deep/same.onnx half.onnx".split())]
ORDER += ["zoo/z/encoder.onnx"]
LINE = re.compile(r"^(\w+) +\d+\.\d\d s  ([^:]+)(?:: (.*))?$")
SOON = 30
"""Seconds after which a process counts as hung."""


@pytest.fixture
def zoo(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder of models in folders, in the working directory."""
    for name, model in GIVEN.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(MODELS / model, tmp_path / name)
    monkeypatch.chdir(tmp_path)
    return tmp_path / "zoo"


def batch(capsys: pytest.CaptureFixture[str], *argv: object) -> Answer:
    return ask(capsys, "batch", *argv, "--jobs", "2")


@pytest.mark.parametrize("target", targets.TARGETS)
def test_a_request_for_any_target_reaches_another_process(target: str) -> None:
    asked = Request(target=target)
    assert pickle.loads(pickle.dumps(asked)).goal == asked.goal  # noqa: S301 - made one line above


@pytest.mark.ci
def test_a_target_file_with_reasons_reaches_the_processes(
    tmp_path: Path, zoo: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "mine.toml").write_text('[limits.not-supported]\nFILL = "there is none"\n')
    answer = batch(capsys, zoo / "a.tflite", "-o", "out", "--target-file", "mine.toml", "--no-verify")
    assert answer.status == 0
    assert (tmp_path / "out" / "a.tflite").exists()


def lines(answer: Answer) -> list[tuple[str, str, str]]:
    """What is printed of each model: the word, the model, and what else is said."""
    found = [LINE.match(line) for line in answer.out.splitlines()[:-1]]
    return [(each[1], each[2], each[3] or "") for each in found if each is not None]


def reused(answer: Answer) -> list[str]:
    return [model for _, model, more in lines(answer) if more.endswith("reused")]


def outputs(folder: Path) -> dict[str, str]:
    """What is there for users: without what graphfix keeps for itself."""
    return {name: held for name, held in listing(folder).items() if not name.startswith(".graphfix")}


# --- one batch --------------------------------------------------------------------------------------------------------


@pytest.mark.ci
def test_a_zoo_is_fixed_below_the_output_in_the_order_of_its_sources(
    zoo: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    answer = batch(capsys, "zoo", "-o", "out", "--report", "r.json", "--report", "r.md", "--report", "r.html")
    assert answer.status == 2
    assert [(word, model) for word, model, _ in lines(answer)] == [
        (("failed" if "bad" in name else "unchanged" if name in SAME else "written"), name) for name in ORDER
    ]
    assert {more for word, _, more in lines(answer) if word != "failed"} == {"proved"}
    assert re.fullmatch(
        r"7 models: 4 written, 2 unchanged, 1 failed; \d+\.\d\d s, \d+\.\d\d models a second",
        answer.out.splitlines()[-1],
    )
    assert answer.lines == ["graphfix: zoo/bad.onnx: Add 'add': [2, 3] and [4, 3] do not broadcast (GF105)"]
    made = {name for name, what in outputs(Path("out")).items() if what != "folder or pipe"}
    assert made == {name.removeprefix("zoo/") for name in ORDER if "bad" not in name}
    assert ask(capsys, "verify", "zoo/z/encoder.onnx", "out/z/encoder.onnx", "--proof-only").status == 0
    assert [each["model"] for each in json.loads(Path("r.json").read_text())["models"]] == ORDER
    for name in ("r.md", "r.html"):
        text = Path(name).read_text()
        assert all(model in text for model in ORDER)
    assert listing(zoo) == listing(zoo.parent / "zoo")


SAME = ("zoo/deep/same.onnx", "zoo/a.tflite")


@pytest.mark.ci
def test_json_is_one_document_and_quiet_is_errors_alone(zoo: Path, capsys: pytest.CaptureFixture[str]) -> None:
    answer = batch(capsys, zoo / "bad.onnx", zoo / "a.tflite", "-o", "out", "--json")
    models = json.loads(answer.out)["models"]
    assert [each["model"] for each in models] == [str(zoo / "bad.onnx"), str(zoo / "a.tflite")]
    assert "error" in models[0]
    quiet = batch(capsys, zoo / "bad.onnx", zoo / "a.tflite", "-o", "out", "-q")
    assert (quiet.status, quiet.out, quiet.lines) == (2, "", answer.lines)


@pytest.mark.ci
def test_check_lists_and_writes_no_model(zoo: Path, capsys: pytest.CaptureFixture[str]) -> None:
    answer = batch(capsys, zoo / "b.onnx", zoo / "deep/same.onnx", "-o", "out", "--check")
    assert (answer.status, answer.err) == (1, "")
    assert [(word, bool(re.fullmatch(r"\d*", more))) for word, _, more in lines(answer)] == [
        ("findings", True),
        ("clean", True),
    ]
    assert outputs(Path("out")) == {}
    again = batch(capsys, zoo / "b.onnx", zoo / "deep/same.onnx", "-o", "out", "--check")
    assert (again.status, len(reused(again))) == (1, 2)


@pytest.mark.ci
def test_verbose_tells_each_model_as_it_ends(zoo: Path, capsys: pytest.CaptureFixture[str]) -> None:
    answer = batch(capsys, zoo / "a.tflite", zoo / "b.onnx", "-o", "out", "-v")
    told = [line for line in answer.lines if " of 2)" in line]
    assert answer.status == 0
    assert [line.rpartition("(")[2] for line in told] == ["1 of 2)", "2 of 2)"]
    assert {word for word in ("a.tflite", "b.onnx") if any(word in line for line in told)} == {"a.tflite", "b.onnx"}


@pytest.mark.ci
@pytest.mark.tosa
def test_tosa_converts_each_model(zoo: Path, capsys: pytest.CaptureFixture[str]) -> None:
    answer = batch(capsys, zoo / "b.onnx", "-o", "out", "--tosa")
    assert [(word, more) for word, _, more in lines(answer)] == [("converted", "")], answer
    made = Path(output_name("b.onnx", "tosa") or "")
    assert sorted(outputs(Path("out"))) == [made.with_suffix(".mlirbc").name, made.name]


@pytest.mark.ci
def test_overrides_ask_other_things_of_some_models(zoo: Path, capsys: pytest.CaptureFixture[str]) -> None:
    Path("graphfix.toml").write_text('[[overrides]]\nfiles = ["zoo/b.onnx"]\ntarget = "ranks"\nno-verify = true\n')
    answer = batch(capsys, zoo / "b.onnx", zoo / "z", "-o", "out", "--report", "r.json")
    assert [more for _, _, more in lines(answer)] == ["not verified", "proved"]
    assert [each["target"] for each in json.loads(Path("r.json").read_text())["models"]] == ["ranks", "explicit"]


def requests_of(command: Command, *argv: str) -> Requests:
    options = settings.in_force(parser.said(["batch", *argv])).of(None)
    return Requests.of(options, command, options.sources)


def test_a_configuration_for_other_commands_says_nothing_to_tosa(zoo: Path) -> None:
    Path("graphfix.toml").write_text(
        'target = "compact"\nbroadcasts = "keep"\nkeep-fusions = true\nruns = 9\nseed = 5\n'
    )
    argv = ("zoo/b.onnx", "-o", "out")
    asked = requests_of("tosa", *argv).for_model("zoo/b.onnx")
    assert (asked.goal.name, asked.broadcasts, asked.keep_fusions, asked.runs, asked.seed) == (
        "explicit",
        None,
        False,
        None,
        5,
    )
    asked = requests_of("fix", *argv).for_model("zoo/b.onnx")
    assert (asked.goal.name, asked.broadcasts, asked.keep_fusions, asked.runs) == ("compact", "keep", True, 9)
    assert zoo.exists()


def test_a_request_means_the_same_elsewhere_and_is_one_for_all_that_ask_for_the_same(zoo: Path) -> None:
    own = small_models.rewrite(zoo, "return")
    Path("t.toml").write_text('base = "ranks"\n')
    Path("graphfix.toml").write_text('[[overrides]]\nfiles = ["a.tflite"]\nseed = 7\n')
    more = ("--rewrites", "zoo/own.py", "--target-file", "t.toml", "--report", "r.md")
    requests = requests_of("fix", "zoo/b.onnx", "zoo/half.onnx", "zoo/a.tflite", "-o", "out", *more)
    asked = requests.for_model("zoo/b.onnx")
    assert asked is requests.for_model("zoo/half.onnx")
    assert requests.for_model("zoo/a.tflite").seed == 7
    assert (asked.rewrites, asked.target_file, asked.report) == ([own], zoo.parent / "t.toml", (zoo.parent / "r.md",))
    assert pickle.loads(pickle.dumps(asked)) == asked  # noqa: S301 -- it is sent so


@pytest.mark.ci
@pytest.mark.parametrize("form", [suffix for suffix in registry.FORMS if suffix != ".node_data.json"])
@pytest.mark.usefixtures("zoo")
def test_every_form_of_a_report_is_written(capsys: pytest.CaptureFixture[str], form: str) -> None:
    assert batch(capsys, "zoo/a.tflite", "zoo/bad.onnx", "-o", "out", "--report", f"r{form}", "-q").status == 2
    assert "bad.onnx" in Path(f"r{form}").read_text()


# --- what was made before ---------------------------------------------------------------------------------------------


@pytest.mark.ci
def test_what_was_made_of_the_same_bytes_is_not_made_again(zoo: Path, capsys: pytest.CaptureFixture[str]) -> None:
    first = batch(capsys, "zoo", "-o", "out", "--report", "r.json")
    made = outputs(Path("out"))
    second = batch(capsys, "zoo", "-o", "out", "--report", "s.json")
    good = [name for name in ORDER if "bad" not in name]
    assert (second.status, reused(second)) == (first.status, good)
    assert "; 6 of them reused;" in second.out.splitlines()[-1]
    shutil.copyfile(MODELS / "rfc/dynamic_2d.onnx", zoo / "b.onnx")
    third = batch(capsys, "zoo", "-o", "out")
    assert reused(third) == [name for name in good if name != "zoo/b.onnx"]
    assert [name for name, held in outputs(Path("out")).items() if made[name] != held] == ["b.onnx"]
    assert reused(batch(capsys, "zoo", "-o", "out", "--target", "ranks")) == []
    assert reused(batch(capsys, "zoo", "-o", "out", "--target", "ranks", "--again")) == []


# --- models that misbehave --------------------------------------------------------------------------------------------


@pytest.fixture
def misbehaved(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Models of which one hangs, one aborts and one needs too much, each beside a good one, by their names."""
    kinds = {"abort": small_models.ABORT, "greedy": small_models.GREEDY, "hang": small_models.HANG}
    overrides = []
    for name, plan in kinds.items():
        folder = tmp_path / "own" / name
        folder.mkdir(parents=True)
        small_models.rewrite(folder, plan)
        small_models.multiplying(tmp_path / "zoo" / f"{name}.onnx")
        small_models.adding(tmp_path / "zoo" / f"{name}_not.onnx")
        overrides.append(f'[[overrides]]\nfiles = ["{name}.onnx"]\nrewrites = ["own/{name}/own.py"]\n')
    (tmp_path / "graphfix.toml").write_text("".join(overrides))
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.mark.ci
@pytest.mark.usefixtures("misbehaved")
def test_a_model_that_hangs_aborts_or_needs_too_much_is_one_line_and_the_others_are_done(
    capsys: pytest.CaptureFixture[str],
) -> None:
    limits = ("--time-limit", "8", "--memory-limit", "600MiB")
    answer = batch(capsys, "zoo", "-o", "out", *limits, "--report", "r.json")
    assert answer.status == 2
    assert [(word, Path(model).stem, more) for word, model, more in lines(answer)] == [
        ("failed", "abort", "aborted"),
        ("written", "abort_not", "proved"),
        ("failed", "greedy", "memory"),
        ("written", "greedy_not", "proved"),
        ("failed", "hang", "time"),
        ("written", "hang_not", "proved"),
    ]
    assert [line.partition(";")[0] for line in answer.lines] == [
        "graphfix: zoo/abort.onnx: stopped: its process ended (SIGABRT)",
        "graphfix: zoo/greedy.onnx: stopped: it needed more than 600 MiB of memory",
        "graphfix: zoo/hang.onnx: stopped: it took longer than 8 seconds",
    ]
    assert "3 failed (1 aborted, 1 memory, 1 time)" in answer.out
    assert "error" in json.loads(Path("r.json").read_text())["models"][0]
    assert sorted(outputs(Path("out"))) == ["abort_not.onnx", "greedy_not.onnx", "hang_not.onnx"]
    assert not list(Path("out").rglob("*.tmp"))


# --- an end before the end --------------------------------------------------------------------------------------------


@contextmanager
def started(argv: Sequence[object], folder: Path) -> Iterator[subprocess.Popen[str]]:
    """A batch in a process of its own, which ends with the block also where that fails."""
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(map(str, (ROOT, *sys.path)))}
    command = [sys.executable, "-P", "-u", "-m", "graphfix", "batch", *map(str, argv)]
    pipe = subprocess.PIPE
    with subprocess.Popen(command, stdout=pipe, stderr=pipe, text=True, env=environment, cwd=folder) as asked:
        try:
            yield asked
        finally:
            asked.kill()


@pytest.fixture
def hanging(tmp_path: Path) -> Path:
    """Three good models, one that hangs, and one behind it; the fourth one's name makes it hang."""
    folder = tmp_path / "own"
    folder.mkdir()
    small_models.rewrite(folder, small_models.HANG)
    for number in range(5):
        make = small_models.multiplying if number == 3 else small_models.adding
        make(tmp_path / "zoo" / f"m{number}.onnx")
    return tmp_path


HANGING = ("zoo", "-o", "out", "--jobs", "1", "--rewrites", "own/own.py")


def read_until(asked: subprocess.Popen[str], text: str) -> list[str]:
    """The lines on stdout up to one that holds the text."""
    assert asked.stdout is not None
    said = []
    for line in asked.stdout:
        said.append(line)
        if text in line:
            break
    return said


@pytest.mark.ci
@pytest.mark.parametrize(("number", "status"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
def test_an_interrupted_batch_keeps_what_is_done_and_says_how_to_go_on(hanging: Path, number: int, status: int) -> None:
    with started(HANGING, hanging) as asked:
        read_until(asked, "m2.onnx")
        time.sleep(0.5)
        begun = time.monotonic()
        asked.send_signal(number)
        _, err = asked.communicate(timeout=SOON)
    assert time.monotonic() < begun + 6
    assert asked.returncode == status
    word = {130: "interrupted", 143: "terminated"}[status]
    assert err == f"graphfix: {word}; 3 of 5 models finished, what is finished stays; the same command does the rest\n"
    assert sorted(outputs(hanging / "out")) == ["m0.onnx", "m1.onnx", "m2.onnx"]
    assert not (hanging / "out/.graphfix/.scratch").exists()


@pytest.mark.ci
@pytest.mark.skipif(not Path("/proc/self/task").is_dir(), reason="no /proc to find child processes in")
def test_a_batch_that_is_killed_is_resumed_where_it_was(hanging: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with started(HANGING, hanging) as asked:
        read_until(asked, "m2.onnx")
        time.sleep(0.5)
        children = [
            int(child)
            for task in Path(f"/proc/{asked.pid}/task").iterdir()
            for child in (task / "children").read_text().split()
        ]
        assert children
        asked.kill()
    assert sorted(outputs(hanging / "out")) == ["m0.onnx", "m1.onnx", "m2.onnx"], "nothing partial"
    end = time.monotonic() + 5
    while any(Path(f"/proc/{child}").exists() for child in children) and time.monotonic() < end:
        time.sleep(0.02)
    assert not any(Path(f"/proc/{child}").exists() for child in children)
    (hanging / "zoo/m3.onnx").unlink()
    small_models.adding(hanging / "zoo/m3.onnx")
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(hanging)
        answer = ask(capsys, "batch", *HANGING)
    assert answer.status == 0
    assert [Path(model).stem for model in reused(answer)] == ["m0", "m1", "m2"]
    assert sorted(outputs(hanging / "out")) == [f"m{number}.onnx" for number in range(5)]
    assert not (hanging / "out/.graphfix/.scratch").exists()


@pytest.mark.ci
def test_two_batches_into_one_folder_are_refused(hanging: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with started(HANGING, hanging) as asked:
        read_until(asked, "m2.onnx")
        try:
            with pytest.MonkeyPatch.context() as patch:
                patch.chdir(hanging)
                answer = ask(capsys, "batch", *HANGING)
        finally:
            asked.kill()
    assert (answer.status, answer.out, len(answer.lines)) == (2, "", 1)
    assert "another batch" in answer.err


# --- what can't be asked ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("argv", "said"),
    [
        ("zoo", "-o/--output"),
        ("zoo -o zoo/b.onnx", "zoo/b.onnx"),
        ("zoo/b.onnx -o out --jobs 0", "'0' is not a whole number from 1 on"),
        ("zoo/b.onnx -o out --jobs 2 --dask tcp://x:1", "--dask: not allowed with argument --jobs"),
        ("zoo/b.onnx -o out --check --tosa", "--tosa: not allowed with argument --check"),
        ("zoo/b.onnx -o out --tosa --target ranks", "--tosa has no --target"),
        ("zoo/b.onnx -o out --tosa --keep-fusions", "--tosa has no --keep-fusions"),
        ("zoo/b.onnx -o out --check --no-verify", "--check has no --no-verify"),
        ("zoo/b.onnx -o out --check --drop-set-inputs", "--check has no --drop-set-inputs"),
        ("zoo/b.onnx -o out --run", "--run works only with --tosa"),
        ("zoo/b.onnx -o out --memory-limit 2Gi", "'2Gi' is not a size of memory"),
        ("zoo/b.onnx -o out --memory-limit 0", "'0' is not a size of memory"),
        ("zoo/b.onnx -o out --time-limit 0", "'0' is not a number of seconds above 0"),
        ("zoo/b.onnx -o out --time-limit nan", "'nan' is not a number of seconds above 0"),
        ("zoo/b.onnx -o out --retries -1", "--retries"),
        ("zoo/b.onnx zoo/a.tflite -o out --report r.node_data.json", "node data is of one model"),
        ("zoo/b.onnx -o out --report nowhere/r.json", "nowhere/r.json"),
        ("zoo/b.onnx -o out --report out/deep/r.json", "out/deep/r.json"),
        ("zoo/b.onnx -o out.md --report out.md", "out.md: the report is the output"),
        ("zoo/b.onnx -o out --report zoo/b.onnx.json --config zoo/b.onnx.json", "zoo/b.onnx.json"),
        ("zoo/b.onnx -o out --rewrites none.py", "none.py: no such file"),
        ("zoo/b.onnx -o out --only none", "'none' is not a rewrite"),
        ("zoo/b.onnx -o out --target-file none.toml", "none.toml"),
        ("nowhere -o out", "nowhere: no such file or folder; give"),
        ("a.onnx b.onnx -o out --check", "a.onnx: no such file or folder"),
        ("zoo/none* -o out", "the pattern names no model"),
        ("zoo/b.onnx -o out --exclude *.onnx --dask nowhere", "nowhere"),
    ],
)
def test_what_can_not_be_asked_is_one_line_and_nothing_is_written(
    zoo: Path, capsys: pytest.CaptureFixture[str], argv: str, said: str
) -> None:
    assert said in refused(capsys, zoo.parent, "batch", *argv.split())


def test_an_output_that_is_a_file_or_in_one_is_refused(zoo: Path, capsys: pytest.CaptureFixture[str]) -> None:
    Path("file").touch()
    for place in ("file", "file/in"):
        assert place in refused(capsys, zoo.parent, "batch", "zoo/b.onnx", "-o", place)


@pytest.mark.ci
@pytest.mark.usefixtures("zoo")
@pytest.mark.parametrize("output", ["new/out", "./new/out/", "file://{}/new/out"])
def test_a_report_may_lie_in_the_folder_of_the_results_and_is_replaced_by_the_next(
    capsys: pytest.CaptureFixture[str], output: str
) -> None:
    given = ("zoo/b.onnx", "-o", output.format(Path.cwd()), "--report", "new/out/r.md", "--check")
    assert batch(capsys, *given).status == batch(capsys, *given).status == 1
    assert "b.onnx" in Path("new/out/r.md").read_text(encoding="utf-8")


@pytest.mark.ci
@pytest.mark.usefixtures("zoo")
def test_folders_of_an_output_are_made(capsys: pytest.CaptureFixture[str]) -> None:
    assert batch(capsys, "zoo/b.onnx", "-o", "some/new/folder").status == 0
    assert Path("some/new/folder/b.onnx").exists()


@pytest.mark.ci
@pytest.mark.usefixtures("zoo")
def test_a_source_that_is_not_there_fails_for_itself(capsys: pytest.CaptureFixture[str]) -> None:
    answer = batch(capsys, "zoo/none.onnx", "zoo/b.onnx", "-o", "out")
    assert answer.status == 2
    assert [word for word, _, _ in lines(answer)] == ["failed", "written"]


@pytest.mark.ci
@pytest.mark.usefixtures("zoo")
def test_whoever_reads_may_be_gone() -> None:
    command = [sys.executable, "-P", "-m", "graphfix", "batch", "zoo", "-o", "out", "--jobs", "1"]
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(map(str, (ROOT, *sys.path))), "PYTHONUNBUFFERED": "1"}
    read, write = os.pipe()
    os.close(read)
    done = subprocess.run(command, stdout=write, stderr=subprocess.PIPE, text=True, env=environment, check=False)
    os.close(write)
    assert (done.returncode, done.stderr) == (141, "")


@pytest.mark.ci
def test_the_exit_status_is_of_the_worst(monkeypatch: pytest.MonkeyPatch, zoo: Path) -> None:
    from graphfix.cli import answers

    for statuses, worst in (((3, 1), 1), ((3, 0), 3), ((1, 2), 2), ((0, 0), 0)):
        one_by_one = iter(statuses)
        monkeypatch.setattr(answers, "status", lambda _, *, strict: next(one_by_one) + 0 * strict)  # noqa: B023
        assert commands.main(["batch", str(zoo / "a.tflite"), str(zoo / "b.onnx"), "-o", "out", "-q"]) == worst


@pytest.mark.ci
def test_a_model_that_is_named_like_the_other_format_is_noted_once(
    zoo: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    shutil.copy(zoo / "b.onnx", zoo / "c.tflite")
    line = "graphfix: c.tflite holds an ONNX model, although its name ends with .tflite: its content counts\n"
    assert batch(capsys, "zoo", "-o", "out", "--check").err.count(line) == 1
    assert line not in batch(capsys, "zoo", "-o", "out", "--check", "-q").err


# --- what is said of each model, without a process ------------------------------------------------------------------


def asking(**given: object) -> Namespace:
    usual = {"json": False, "quiet": False, "verbose": False, "report": [], "strict_proof": False, "color": "never"}
    return Namespace(**{**usual, **given})


def told(entry: Outcome | Failure, **given: object) -> _Answer:
    """What is remembered when a model was told of."""
    answered = _Answer(asking(**given))
    job = Job(entry.source, entry.source, "out", "fix", Request(), Limits(60.0))
    answered.add(answered.said(Finished(job, entry, 0.5)))
    return answered


CHANGED = Site("GF101", "n", "Add", "main", 1, (4,), (1, 4), "found")
MISNAMED = Outcome("fix", "c.tflite", "onnx", output="out/c.tflite")


def test_a_model_that_is_named_like_the_other_format_is_noted_behind_its_line(
    capsys: pytest.CaptureFixture[str],
) -> None:
    note = "graphfix: c.tflite holds an ONNX model, although its name ends with .tflite: its content counts\n"
    for given, printed, noted in (({}, True, True), ({"json": True}, False, True), ({"quiet": True}, False, False)):
        told(MISNAMED, **given)
        said = capsys.readouterr()
        assert ("c.tflite" in said.out, said.err) == (printed, note if noted else ""), given
    told(replace(MISNAMED, source="c.onnx"))
    assert capsys.readouterr().err == ""
    told(MISNAMED, color="always")
    terminal.say(note.removeprefix("graphfix: ").rstrip(), "always", "aside")
    assert len({*capsys.readouterr().err.splitlines()}) == 1  # in the colour of what is no error


def test_entries_are_remembered_where_a_report_or_a_document_needs_them() -> None:
    for given, remembered in (({}, []), ({"report": [Path("r.json")]}, [MISNAMED]), ({"json": True}, [MISNAMED])):
        assert told(MISNAMED, quiet=True, **given).entries == remembered, given


def test_the_error_of_a_model_is_one_line_and_its_status_counts(capsys: pytest.CaptureFixture[str]) -> None:
    failed = told(Failure("fix", "m.onnx", "m.onnx: no model"), quiet=True)
    assert (failed.worst, failed.finished, capsys.readouterr().err) == (2, 1, "graphfix: m.onnx: no model\n")


@pytest.mark.parametrize(
    ("finished", "said"),
    [
        (0, "0 of 3 models finished; the same command does the rest"),
        (1, "1 of 3 models finished, what is finished stays; the same command does the rest"),
    ],
)
def test_an_interrupt_says_what_stays(finished: int, said: str) -> None:
    with pytest.raises(KeyboardInterrupt) as stopped, _accounted(_Answer(asking(), finished=finished), 3):
        raise KeyboardInterrupt
    assert str(stopped.value) == said


@pytest.mark.parametrize(
    ("waits", "quiet", "said"),
    [
        (True, False, "graphfix: tcp://x:1: no worker has joined yet: the models wait for one\n"),
        (True, True, ""),
        (False, False, ""),
    ],
)
def test_a_cluster_without_workers_is_told_of(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], waits: bool, quiet: bool, said: str
) -> None:
    workers = SimpleNamespace(waits=lambda: waits)
    monkeypatch.setattr(cluster, "dask", lambda address, retries: nullcontext(workers if retries == 3 else address))
    orders = Orders("fix", "out", 600.0, None, False, 0)
    with _workers(asking(dask="tcp://x:1", retries=3, quiet=quiet), orders) as found:
        assert found is workers
    assert capsys.readouterr().err == said


def test_each_model_is_counted_by_what_became_of_it() -> None:
    one = ", 1.00 models a second"
    for entry, said in (
        (MISNAMED, "1 unchanged; 1.00 s"),
        (replace(MISNAMED, reused=True), "1 unchanged; 1 of them reused; 1.00 s"),
        (Failure("fix", "m.onnx", "m.onnx: no model"), "1 failed; 1.00 s"),
    ):
        for given in ({"quiet": True}, {"json": True}):
            assert told(entry, **given).tally.text(1.0) == f"1 model: {said}{one}"


def test_the_traceback_of_a_fault_is_printed_in_front_of_its_line_where_verbose_asks(
    capsys: pytest.CaptureFixture[str],
) -> None:
    fault = Failure("fix", "m.onnx", "m.onnx: a fault", "internal", "Traceback\n  here\n")
    assert told(fault, quiet=True, verbose=True).worst == 2
    assert capsys.readouterr().err == "Traceback\n  here\ngraphfix: m.onnx: a fault\n"
    told(fault, quiet=True)
    assert capsys.readouterr().err == "graphfix: m.onnx: a fault\n"


def test_the_worst_of_all_models_counts_whatever_comes_behind_it() -> None:
    answered = _Answer(asking(quiet=True))
    fine, failed = replace(MISNAMED, source="c.onnx"), Failure("fix", "m.onnx", "m.onnx: no model")
    found = []
    undecided = Outcome("verify", "a.onnx", "onnx", output="b.onnx", verdict=Verdict("undecided"))
    for entry in (fine, undecided, replace(fine, command="check", sites=[CHANGED]), undecided, failed, fine):
        job = Job(entry.source, entry.source, "out", "fix", Request(), Limits(60.0))
        answered.add(answered.said(Finished(job, entry, 0.5)))
        found.append(answered.worst)
    assert found == [0, 3, 1, 1, 2, 2]
    assert answered.finished == 6


@pytest.mark.parametrize(
    ("verdict", "strict", "status"),
    [("equal", False, 0), ("equal", True, 3), ("proved", True, 0), ("proved", False, 0), ("different", False, 1)],
)
def test_a_verdict_that_is_no_proof_is_enough_unless_a_proof_is_asked_for(
    verdict: VerdictStatus, strict: bool, status: int
) -> None:
    entry = Outcome("verify", "a.onnx", "onnx", output="b.onnx", verdict=Verdict(verdict))
    assert told(entry, quiet=True, strict_proof=strict).worst == status


def test_a_model_of_which_nothing_is_written_says_why(capsys: pytest.CaptureFixture[str]) -> None:
    nothing = replace(MISNAMED, source="c.onnx", output=None)
    told(nothing, quiet=True)
    assert capsys.readouterr().err.startswith("graphfix: c.onnx: nothing written, ")
    told(replace(nothing, dry_run=True), quiet=True)
    assert capsys.readouterr().err == ""

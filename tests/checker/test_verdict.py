"""When the proof is asked, what it decides beside the runs, and what a proof alone imports."""

from __future__ import annotations

import filecmp
import math
import os
import subprocess
import sys
from contextlib import nullcontext
from dataclasses import replace
from pathlib import Path
from typing import Any, Literal, cast

import numpy as np
import pytest

import graphfix as package
from graphfix import api, checker
from graphfix.checker import proof as proofs
from graphfix.checker import verdict as module
from graphfix.checker.files.pair import Pair
from graphfix.checker.files.tflite import names
from graphfix.checker.proof import ABOUT_SIZE_0, STORED_SHAPES, Proof
from graphfix.checker.runs import early as early_runs
from graphfix.checker.runs.comparing import exceptions
from graphfix.checker.runs.early import MODULES
from graphfix.checker.runs.onnx import verdict as onnx_runs
from graphfix.checker.runs.tflite import allocated_shapes
from graphfix.checker.task import ROUNDED, Criterion, Task
from graphfix.checker.verdict import COPIED, NOT_LOADED, _discharged
from graphfix.cli import commands
from graphfix.results import GraphfixError, InexactSite, Load, Run, Verdict
from graphfix.results.claims import Claims, Contradiction, Facts, StoredSize
from graphfix.results.progress import RUNS_OF_BOTH
from graphfix.runtimes.process import Child
from tests.support.checked import verify
from tests.support.written import Written

ROOT = Path(package.__file__).parent.parent
MODELS = ROOT / "models"


@pytest.mark.ci
@pytest.mark.parametrize("name", ["matmul.onnx", "quantized/per_channel.tflite"])
def test_a_proof_alone_imports_no_runtime_and_nothing_of_the_rewriter(name: str, tmp_path: Path) -> None:
    after = tmp_path / Path(name).name
    api.fix_file(MODELS / name, after, check_result=False)
    code = (
        "import sys, pathlib; from tests.support.checked import verify\n"
        "v = verify(*map(pathlib.Path, sys.argv[1:3]), proof='only'); assert v.status == 'proved', v\n"
        "print(*sys.modules, sep=chr(10))"
    )
    asked = subprocess.run(
        [sys.executable, "-c", code, str(MODELS / name), str(after)],
        check=True, capture_output=True, text=True, env={**os.environ, "PYTHONPATH": str(ROOT)},
    )  # fmt: skip
    names = set(asked.stdout.split())
    assert names.isdisjoint({"onnxruntime", "ai_edge_litert.interpreter", "rewrites"})
    ours = {each for each in names if each.startswith("graphfix.") and not each.startswith("graphfix.checker.")}
    ours -= {each for each in ours if each.startswith("graphfix.results.")}
    inference = {f"graphfix.runtimes.onnx{name}" for name in ("", ".shape_inference", ".shape_inference_worker")}
    assert ours <= {"graphfix.version", "graphfix.results", "graphfix.checker", "graphfix.runtimes"} | inference


@pytest.mark.ci
@pytest.mark.parametrize("name", ["encoder.onnx", "quantized/per_channel.tflite"])
def test_a_proof_alone_needs_no_runtime_installed(name: str, tmp_path: Path) -> None:
    after = tmp_path / Path(name).name
    api.fix_file(MODELS / name, after, check_result=False)
    code = (
        "import sys; sys.modules.update(dict.fromkeys(['onnxruntime', 'ai_edge_litert']))\n"  # as if they were absent
        "from graphfix.cli.commands import main; sys.exit(main(['verify', '--proof-only', *sys.argv[1:3]]))"
    )
    asked = subprocess.run(
        [sys.executable, "-c", code, str(MODELS / name), str(after)],
        check=False, capture_output=True, text=True, env={**os.environ, "PYTHONPATH": str(ROOT)},
    )  # fmt: skip
    assert asked.returncode == 0, asked.stderr
    assert "proved for all inputs and sizes; nothing was run" in asked.stdout


def test_what_no_runtime_can_run_is_proved_and_written(written: Written, tmp_path: Path) -> None:
    path = written(
        "g (float[2,3] x, float[3] b) => (float[2,3] z) { y = Add(x, b) z = own.Frob(y) }", domains=', "own" : 1'
    )
    outcome = api.fix_file(path, tmp_path / "fixed.onnx")
    assert outcome.verdict is not None
    assert outcome.verdict.status == "proved"
    assert outcome.verdict.reason is not None
    assert outcome.output is not None
    assert outcome.seconds["proof"] > 0


def test_a_run_that_differs_is_reported_and_nothing_is_proved(written: Written) -> None:
    text = "g (float[N] x) => (float[N] y) {{ y = {}(x) }}"
    verdict = verify(written(text.format("Neg")), written(text.format("Abs")))
    assert verdict.status == "different"
    assert verdict.proof is not None
    first = verdict.proof["first"]
    assert (first["before"], first["after"]) == ("Neg#0", "Abs#0")


@pytest.mark.ci
def test_what_is_equal_by_runs_only_is_3_when_a_proof_is_asked_for(
    written: Written, capsys: pytest.CaptureFixture[str]
) -> None:
    text = "g (float[4] x) => (float[4] y) {{ {} }}"
    paths = [str(written(text.format(body))) for body in ("y = Neg(x)", "a = Neg(x) b = Neg(a) y = Neg(b)")]
    assert commands.main(["verify", *paths]) == 0
    assert "; not proved: Neg#1 of the second file has no match in the first" in capsys.readouterr().out
    assert commands.main(["verify", *paths, "--strict-proof"]) == 3
    assert commands.main(["verify", *paths, "--proof-only"]) == 3


def test_a_file_that_is_no_model_is_an_error_of_the_proof_too(tmp_path: Path) -> None:
    for name, data in (("bad.onnx", b"no model"), ("bad.tflite", b"\x10\0\0\0TFL3" + b"\xff" * 40)):
        path, other = tmp_path / name, tmp_path / f"other_{name}"
        path.write_bytes(data)
        other.write_bytes(data + b" ")
        with pytest.raises(GraphfixError, match="bad"):
            verify(path, other, proof="only")


def test_sizes_that_are_bound_are_bound_in_the_proof(tmp_path: Path) -> None:
    for name, dim in (("encoder.onnx", {"batch": "2"}), ("rfc/dynamic_2d.tflite", {"x0[0]": "4"})):
        after = tmp_path / Path(name).name
        outcome = api.fix_file(MODELS / name, after, dims=dim, runs=1)
        assert outcome.verdict is not None
        assert outcome.verdict.status == "proved"


@pytest.mark.parametrize(
    ("name", "runtime"), [("matmul.onnx", "onnxruntime"), ("quantized/per_channel.tflite", "LiteRT")]
)
def test_the_process_that_is_started_imports_the_runtime_of_the_file(
    name: str, runtime: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    told: list[tuple[str, ...]] = []
    monkeypatch.setattr(Child, "start", lambda _, *words: told.append(words))
    checker.started(MODELS / name).close()
    assert told == [(runtime, MODULES[runtime])]


@pytest.mark.parametrize(
    ("run", "status", "assumed", "asked"),
    [
        ("equal", "proved", STORED_SHAPES, True),
        ("equal", "proved", "something else", False),
        ("equal", "not proved", STORED_SHAPES, False),
        ("undecided", "proved", STORED_SHAPES, False),
    ],
)
@pytest.mark.parametrize("hold", [True, False])
def test_litert_is_asked_about_stored_shapes_where_a_proof_needs_them_and_a_run_was_equal(
    run: Literal["equal", "undecided"],
    status: str,
    assumed: str,
    asked: bool,
    hold: bool,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(allocated_shapes, "shapes_hold", lambda *_: hold)
    told: list[str] = []
    task = Task(
        Pair(tmp_path / "a.tflite", tmp_path / "b.tflite", tflite=True), None, None, 0, Criterion(), "with",
        lambda text, *_: told.append(text), process=cast("Child", object()),
    )  # fmt: skip
    seen = Verdict("equal", runs=(Run({}, "off", run),))
    found = _discharged(task, seen, Proof(status, assumes=(assumed,)), None)
    assert found == (frozenset((STORED_SHAPES,)) if asked and hold else frozenset())
    assert told == (["comparing the stored shapes with LiteRT's"] if asked else [])


# --- the parts on their own: no file is read, and nothing is run ------------------------------------------------------

ONNX = Pair(Path("a.onnx"), Path("b.onnx"))
TFLITE = Pair(Path("a.tflite"), Path("b.tflite"), tflite=True)
EQUAL, DIFFERENT = Verdict("equal"), Verdict("different", reason="it differs")
PROVED, BOUNDED, UNPROVED = Proof("proved", assumes=("p", "q")), Proof("bounded", assumes=("p",)), Proof("not proved")
SITE = InexactSite("Gelu#0", "y", "y")
ONE, TWO = (StoredSize(name, 0, "3") for name in "ab")


def task_of(pair: Pair = ONNX, **parts: Any) -> Task:  # noqa: ANN401 - as the task has them
    given = {"inputs": None, "runs": None, "seed": 0, "criterion": Criterion(), "proof": "with", **parts}
    return Task(pair=pair, **{"progress": lambda *_: None, "process": "started", **given})


class Early:
    """Brief runs that end with a verdict."""

    process = "early"

    def __init__(self, found: Verdict | None) -> None:
        self.found = found
        self.seen: list[str] = []

    def verdict(self) -> Verdict | None:
        self.seen.append("asked")
        return self.found

    def drop(self) -> None:
        self.seen.append("dropped")


def ran(outputs: int) -> tuple[Run, ...]:
    return (Run({}, "off", "undecided", 0), Run({}, "off", "undecided", outputs))


@pytest.mark.parametrize(
    ("parts", "proof", "brief", "expected", "seen"),
    [
        ({"proof": "only"}, PROVED, None, Verdict("undecided", reason=NOT_LOADED, load=Load(reason=NOT_LOADED)), []),
        ({"proof": "only", "load": True}, PROVED, None, "loads", []),
        ({"proof": "only", "load": True}, replace(PROVED, copied=True), None, "copies", []),
        ({}, replace(PROVED, copied=True), None, "copies", []),
        ({"inputs": Path("x.npz")}, replace(PROVED, copied=True), None, "runs started", []),
        ({}, replace(BOUNDED, copied=True), None, "runs started", []),
        ({}, None, None, "runs started", []),
        ({}, PROVED, None, "runs started", []),
        ({}, PROVED, Early(EQUAL), EQUAL, ["asked"]),
        ({}, PROVED, Early(None), "runs early", ["asked", "dropped"]),
        ({}, PROVED, Early(DIFFERENT), "runs early", ["asked", "dropped"]),
        ({}, PROVED, Early(Verdict("undecided", ran(0))), Verdict("undecided", ran(0)), ["asked"]),
        ({}, PROVED, Early(Verdict("undecided", ran(1))), "runs early", ["asked", "dropped"]),
        ({}, replace(PROVED, inexact=(SITE,)), Early(EQUAL), "runs early", ["dropped"]),
        ({}, replace(PROVED, believed=(ONE,)), Early(EQUAL), "runs early", ["dropped"]),
        ({}, BOUNDED, Early(EQUAL), "runs early", ["dropped"]),
        ({}, None, Early(EQUAL), "runs early", ["dropped"]),
    ],
)
def test_what_is_run_follows_from_what_is_asked_and_proved(
    parts: dict[str, object],
    proof: Proof | None,
    brief: Early | None,
    expected: object,
    seen: list[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    told: list[str] = []
    monkeypatch.setattr(module, "by_runs", lambda _, child: f"runs {child}")
    monkeypatch.setattr(module, "_by_loads", lambda _: "loads")
    monkeypatch.setattr(module, "_of_copies", lambda *_: "copies")
    task = task_of(**parts, progress=lambda text, *_: told.append(text))
    assert module._observed(task, proof, brief) == expected  # type: ignore[arg-type]
    assert (brief.seen if brief is not None else []) == seen
    assert told == [RUNS_OF_BOTH] * ("asked" in seen)


def test_the_original_of_a_copy_is_run_where_sizes_of_it_are_claimed(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[Task] = []
    facts = Facts(2, 1, 0)

    def by_runs(task: Task, child: object) -> Verdict:
        asked.append(task)
        return Verdict("equal", facts=facts, versions={"onnxruntime": str(child)})

    monkeypatch.setattr(module, "by_runs", by_runs)
    same = Verdict("undecided", reason=COPIED, load=Load(reason=COPIED))
    brief = Early(EQUAL)
    for claims in (None, Claims({}, {}), Claims({}, {}, elsewhere=2)):
        assert module._of_copies(task_of(claims=claims), brief) == same  # type: ignore[arg-type]
    assert (asked, brief.seen) == ([], ["dropped"] * 3)
    found = module._of_copies(task_of(claims=Claims({}, {}, believed=(ONE,))), None)
    assert found == replace(same, facts=facts, versions={"onnxruntime": "started"})
    assert [(task.copied, task.brief) for task in asked] == [(True, True)]


def test_versions_are_those_of_what_was_loaded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "installed", lambda name: f"the {name}")
    ran_by = replace(EQUAL, versions={"a runtime": "7"})
    own = ("numpy", np.__version__)
    assert list(module._versions(task_of(), EQUAL).items()) == [own]
    assert list(module._versions(task_of(), ran_by).items()) == [own, ("onnx", "the onnx"), ("a runtime", "7")]
    assert list(module._versions(task_of(TFLITE), ran_by).items()) == [own, ("a runtime", "7")]


def test_the_runs_are_asked_once_for_each_stored_size_that_is_believed() -> None:
    plain, claims = task_of(), Claims({"x": ("N",)}, {"v": (2,)}, 4, (TWO,))
    assert module._watching(plain, ()) is plain
    assert module._watching(plain, (ONE, TWO, ONE)).claims == Claims({}, {}, believed=(ONE, TWO))
    assert module._watching(replace(plain, claims=claims), (ONE, TWO)).claims == replace(claims, believed=(TWO, ONE))


def test_what_holds_only_because_it_was_said_is_named() -> None:
    said = replace(TFLITE, signature="serve", same=(("a[0]", "b[1]"),), values={"n": 3, "m": (True, 2)})
    assert module._asked(task_of(said)) == (
        "callers use the signature 'serve' alone", "the sizes a[0], b[1] are equal (--same)", "n is 3, as set",
        "m is [true, 2], as set",
    )  # fmt: skip
    assert module._asked(task_of()) == ()


@pytest.mark.parametrize(
    ("verdict", "proof", "status", "assumes"),
    [
        (EQUAL, UNPROVED, "equal", ("v",)),
        (EQUAL, BOUNDED, "equal", ("v", "p")),
        (EQUAL, PROVED, "proved", ("v", "p", "q")),
        (EQUAL, replace(PROVED, assumes=("q", "gone", "v")), "proved", ("v", "q")),
        (Verdict("undecided"), PROVED, "proved", ("v", "p", "q")),
        (DIFFERENT, PROVED, "different", ("v",)),
        (DIFFERENT, BOUNDED, "different", ("v", "p")),
        (replace(DIFFERENT, reason="excused"), PROVED, "proved", ("v", "p", "q")),
    ],
)
def test_a_proof_decides_but_for_a_run_that_differs(
    verdict: Verdict, proof: Proof, status: str, assumes: tuple[str, ...], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "_excused", lambda _, found, __: found if found.reason == "excused" else None)
    found = module._both(task_of(), replace(verdict, assumes=("v",)), proof, frozenset(("gone",)))
    assert (found.status, found.assumes, found.reason) == (status, assumes, verdict.reason)


RUNS = (Run({}, "off", "equal", 1), Run({}, "off", "different", 1))
ABOUT_0 = replace(PROVED, assumes=(next(iter(ABOUT_SIZE_0)),))
SIZE_0 = "they differ at a size of 0 alone, which the proof assumes away"


@pytest.mark.parametrize(
    ("pair", "changes", "proof", "lacking", "expected"),
    [
        (ONNX, {"runs": RUNS[:1]}, ABOUT_0, "", None),
        (ONNX, {"load": Load(failure="no")}, ABOUT_0, "", None),
        (ONNX, {"load": Load(reason="no")}, ABOUT_0, "", ("size_0", SIZE_0)),
        (TFLITE, {}, ABOUT_0, "", ("size_0", SIZE_0)),
        (TFLITE, {}, ABOUT_0, "size_0", ("one_kernel_set", "it differs")),
        (TFLITE, {}, PROVED, "", ("one_kernel_set", "it differs")),
        (TFLITE, {}, PROVED, "one_kernel_set", None),
        (ONNX, {}, PROVED, "", ("dropped_cast", "it differs; with every rounding to float16 kept they are bit-equal")),
        (ONNX, {}, PROVED, "dropped_cast", None),
        (ONNX, {}, PROVED, "kept", None),
    ],
)
def test_a_difference_of_proved_models_is_excused_by_one_row(
    pair: Pair,
    changes: dict[str, Any],
    proof: Proof,
    lacking: str,
    expected: tuple[str, str] | None,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    verdict = replace(DIFFERENT, **{"runs": RUNS, "exceptions": ({"class": "before"},), **changes})
    given = {"size_0": (RUNS,), "one_kernel_set": (RUNS,), "dropped_cast": (verdict, "kept")}
    for name, arguments in given.items():
        entry = None if name == lacking else {"class": name}
        monkeypatch.setattr(exceptions, name, lambda *got, entry=entry, wanted=arguments: entry if got == wanted else 0)
    monkeypatch.setattr(onnx_runs, "with_casts_kept", lambda _: None if lacking == "kept" else "kept")
    found = module._excused(task_of(pair), verdict, proof)
    if expected is None:
        assert found is None
    else:
        entries = ({"class": "before"}, {"class": expected[0]})
        assert found == replace(verdict, exceptions=entries, reason=expected[1])


@pytest.mark.parametrize(
    ("contradicted", "said"), [(0, None), (1, "{}"), (2, "{}, and so 1 more"), (5, "{}, and so 4 more")]
)
def test_a_claim_that_the_original_contradicts_comes_before_all_else(contradicted: int, said: str | None) -> None:
    first = Contradiction("x", "[2]", (3,), "")
    given = replace(EQUAL, facts=Facts(9, 9, contradicted, first if contradicted else None))
    expected = given if said is None else replace(given, status="contradicted", reason=said.format(first))
    assert module._witnessed(given) == expected
    assert module._witnessed(EQUAL) is EQUAL


@pytest.mark.parametrize(
    ("parts", "said"),
    [
        ({}, None),
        ({"runs": 1, "criterion": Criterion(0.0, 0.0)}, None),
        ({"runs": 0}, "0 runs decide nothing; ask for at least 1"),
        ({"criterion": Criterion(-0.5)}, "a tolerance is at least 0, and atol is -0.5; give 0 for bit equality"),
        ({"criterion": Criterion(1.0, math.inf)}, "a tolerance is finite, and rtol is inf; give 0 for bit equality"),
        ({"criterion": Criterion(math.nan)}, "a tolerance is at least 0, and atol is nan; give 0 for bit equality"),
        ({"seed": -1}, "a seed is at least 0, not -1; give another one"),
    ],
)
def test_numbers_that_decide_nothing_are_refused(parts: dict[str, object], said: str | None) -> None:
    if said is None:
        module._check_numbers(task_of(**parts))
    else:
        with pytest.raises(GraphfixError) as refused:
            module._check_numbers(task_of(**parts))
        assert str(refused.value) == said


@pytest.mark.parametrize(
    ("parts", "same", "starts"),
    [
        ({}, False, True),
        ({}, True, False),
        ({"runs": 1}, False, False),
        ({"thorough": True}, False, False),
        ({"criterion": Criterion(0.5)}, False, False),
        ({"proof": "only"}, False, False),
        ({"proof": "without"}, False, False),
    ],
)
def test_brief_runs_begin_early_where_nobody_asks_for_others(
    parts: dict[str, object], same: bool, starts: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(filecmp, "cmp", lambda one, other, *, shallow: same and one != other and not shallow)
    monkeypatch.setattr(early_runs, "EarlyRuns", nullcontext)
    task = task_of(**parts)
    with module._early_runs(task) as found:
        assert found is (task if starts else None)


@pytest.mark.parametrize(
    ("before", "after", "signature", "said"),
    [
        ("a.onnx", "b.tflite", None, "b.tflite is a TFLite model, a.onnx is none; name two files of one format"),
        ("a.tflite", "b.onnx", None, "a.tflite is a TFLite model, b.onnx is none; name two files of one format"),
        ("a.onnx", "b.onnx", "s", "a.onnx: --signature s: only a TFLite model has signatures; leave it out"),
    ],
)
def test_two_files_are_of_one_format(
    before: str, after: str, signature: str | None, said: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "is_tflite", lambda path: path.suffix == ".tflite")
    with pytest.raises(GraphfixError) as refused:
        module.compare(task_of(Pair(Path(before), Path(after), signature=signature)))
    assert str(refused.value) == said


LOOSE = Criterion(0.5)
COMPARED = "the outputs were compared at atol 0.5, rtol 0, not bit for bit"


@pytest.mark.parametrize(
    ("proof", "criterion", "verdict", "expected"),
    [
        (None, Criterion(), EQUAL, ("equal", None, True, None)),
        (UNPROVED, Criterion(), EQUAL, ("equal", None, True, None)),
        (PROVED, Criterion(), EQUAL, ("proved", None, False, None)),
        (replace(BOUNDED, inexact=(SITE,)), Criterion(), EQUAL, ("equal", None, True, ROUNDED)),
        (None, LOOSE, EQUAL, ("equal", COMPARED, True, None)),
        (PROVED, LOOSE, EQUAL, ("proved", COMPARED, False, None)),
        (None, LOOSE, DIFFERENT, ("different", "it differs", True, None)),
        (replace(BOUNDED, inexact=(SITE,)), LOOSE, EQUAL, ("equal", None, True, ROUNDED)),
    ],
)
def test_a_verdict_says_how_it_was_found(
    proof: Proof | None,
    criterion: Criterion,
    verdict: Verdict,
    expected: tuple[str, str | None, bool, float | None],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    asked: list[Task] = []

    def observed(task: Task, *_: object) -> Verdict:
        asked.append(task)
        return replace(verdict, assumes=("v", "n is 3, as set"))

    monkeypatch.setattr(module, "_proof", lambda _: (proof, None if proof is None else {"status": proof.status}))
    monkeypatch.setattr(module, "_observed", observed)
    monkeypatch.setattr(module, "_discharged", lambda *_: frozenset(("q",)))
    monkeypatch.setattr(module, "_digest", lambda path: f"of {path}")
    monkeypatch.setattr(module, "newer_than_measured", lambda versions: [*versions, "is newer"])
    found = module._judged(task_of(replace(ONNX, values={"n": 3}), criterion=criterion, seed=7), None)
    (task,) = asked
    assert (found.status, found.reason, task.runs_alone, task.criterion.of_largest) == expected
    assert task.inexact == (proof.inexact if proof is not None else ())
    assert found.proof == (None if proof is None else {"status": proof.status})
    assumed = ("p",) if proof is not None and proof.matched else ()
    assert found.assumes == ("v", "n is 3, as set", *assumed)
    assert (found.seed, found.newer) == (7, ("numpy", "is newer"))
    assert found.versions == {"numpy": np.__version__}
    assert found.sha256 == {"before": "of a.onnx", "after": "of b.onnx"}


def test_sizes_are_asked_for_by_the_own_names_of_the_inputs(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[tuple[object, ...]] = []

    def renamed(*given: Any) -> tuple[object, object]:  # noqa: ANN401
        asked.append(given)
        return {f"own {name}": size for name, size in given[1].items()}, {"own": given[2]}

    monkeypatch.setattr(names, "renamed", renamed)
    pair = Pair(Path("a"), Path("b"), bindings={"n": 2}, shapes={"x": (3,)}, signature="s")
    found = module._renamed(pair)
    assert found == replace(pair, tflite=True, bindings={"own n": 2}, shapes={"own": {"x": (3,)}})  # type: ignore[dict-item]
    assert asked == [(Path("a"), {"n": 2}, {"x": (3,)}, "s")]
    ranged = module._renamed(replace(pair, ranges={"m": (1, 4)}))
    assert ranged == replace(found, ranges={"own m": (1, 4)})
    assert asked[2:] == [(Path("a"), {"m": (1, 4)}, {}, "s")]


def test_the_proof_is_asked_of_the_pair_and_how_long_it_took(monkeypatch: pytest.MonkeyPatch) -> None:
    told: list[str] = []
    monkeypatch.setattr(proofs, "prove", lambda pair: replace(PROVED, reason=str(pair.after)))
    clock = iter((3.0, 3.25))
    monkeypatch.setattr(module, "perf_counter", lambda: next(clock))
    task = task_of(progress=lambda text, *_: told.append(text))
    assert module._proof(replace(task, proof="without")) == (None, None)
    proof, document = module._proof(task)
    assert proof == replace(PROVED, reason="b.onnx")
    assert document is not None
    assert (document["status"], document["seconds"], told) == ("proved", 0.25, ["proving"])


def test_sizes_that_the_proof_believes_and_what_is_observed_are_handed_on(monkeypatch: pytest.MonkeyPatch) -> None:
    seen: list[object] = []
    believing = replace(PROVED, believed=(ONE,))

    def observed(task: Task, *rest: object) -> Verdict:
        seen.extend((task.claims, *rest))
        return EQUAL

    def discharged(task: Task, *rest: object) -> frozenset[str]:
        seen.extend((task.claims, *rest))
        return frozenset()

    monkeypatch.setattr(module, "_proof", lambda _: (believing, {}))
    monkeypatch.setattr(module, "_observed", observed)
    monkeypatch.setattr(module, "_discharged", discharged)
    monkeypatch.setattr(module, "_digest", str)
    early = Early(EQUAL)
    assert module._judged(task_of(), early).status == "proved"  # type: ignore[arg-type]
    claims = Claims({}, {}, believed=(ONE,))
    assert seen == [claims, believing, early, claims, EQUAL, believing, early]

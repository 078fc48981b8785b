"""The parts of what is said of two TFLite files, on their own: no runtime is loaded."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from graphfix.checker.files.pair import Pair
from graphfix.checker.files.tflite.graphs import read_graphs
from graphfix.checker.runs.comparing.exceptions import READS_PAST_THE_END
from graphfix.checker.runs.inputs.seeded_inputs import Case
from graphfix.checker.runs.original_runs import DIFFERING, Answer, Answers, Undetermined
from graphfix.checker.runs.tflite import kernel_run, verdict
from graphfix.checker.runs.tflite.kernel_run import KernelRun, KernelRunner, Opener, refused
from graphfix.checker.task import Criterion, Task
from graphfix.results import GraphfixError, Run, Verdict
from graphfix.runtimes.session import ModelDetails, RefusedError, TensorDetails
from models.builders.tflite.text import model as tflite

Saved = Callable[[bytes], Path]
BEFORE, AFTER = Path("before.tflite"), Path("after.tflite")


def silent(*_: object) -> None:
    """Take what is said of the progress."""


def task(*, brief: bool = False) -> Task:
    return Task(Pair(BEFORE, AFTER, tflite=True), None, None, 0, Criterion(), "without", silent, brief=brief)


@dataclass
class Refusing:
    """Sessions of kernel sets that load nothing, but for those that are named."""

    said: str = "{} cannot"
    loads: tuple[str, ...] = ()
    custom: str = ""

    def load_tflite(self, path: Path, kernels: str, **asked: object) -> Any:  # noqa: ANN401 - whatever is asked of it
        if kernels not in self.loads:
            raise RefusedError(self.said.format(kernels), custom=self.custom)
        self.asked = path, kernels, asked
        return self

    @property
    def interface(self) -> str:
        return "the interface"

    request = 7

    def ask(self, *_: object) -> None:
        """Allocate the tensors."""


def runner(sessions: Any = None, path: Path = BEFORE, **parts: Any) -> KernelRunner:  # noqa: ANN401
    return KernelRunner(parts.pop("task", task()), sessions, (path, path), **parts)


# --- kernel_run.py ----------------------------------------------------------------------------------------------------


def test_what_is_exposed_of_xnnpack_is_loaded_on_the_builtin_kernels() -> None:
    sessions = Refusing(loads=("reference", "builtin", "xnnpack"))
    for kernels, loaded in (("reference", "reference"), ("builtin", "builtin"), ("xnnpack", "builtin")):
        opener = Opener(sessions, BEFORE, kernels, "serve")  # type: ignore[arg-type]
        opener.exposing(["t"])
        assert sessions.asked == (BEFORE, loaded, {"signature": "serve", "expose": ["t"]})
        opener()
        assert sessions.asked == (BEFORE, kernels, {"signature": "serve"})


LOOSE = """
subgraph main(x[2,3], z[3]):
a[2,3] = ATAN2(x, x)
b[2,3] = ATAN2(a, z)
y[2,3] = ATAN2(b, z)
u[2,3] = ATAN2(x, z)
w[2,3] = ABS(a)
"""


def test_an_output_behind_an_operator_that_reads_past_an_operand_names_the_first_one(saved: Saved) -> None:
    """Operands of one shape are read to their end: w is no such output."""
    path = saved(tflite(LOOSE, outputs=["y", "u", "w"]))
    found = runner(path=path)._loose(Opener(None, path, "builtin"))  # type: ignore[arg-type]
    assert {name: (why.row, why.site) for name, why in found.items()} == {
        "y": (READS_PAST_THE_END, "ATAN2#1"),
        "u": (READS_PAST_THE_END, "ATAN2#3"),
    }
    assert found["y"].cause == "ATAN2#1 reads past the end of an operand"
    assert runner(path=path)._loose(Opener(None, path, "builtin", "serve")) == {}  # type: ignore[arg-type]


def test_other_operators_do_not_read_past_an_operand(saved: Saved) -> None:
    path = saved(tflite("y[2,3] = ADD(x[2,3], z[3])"))
    assert runner(path=path)._loose(Opener(None, path, "builtin")) == {}  # type: ignore[arg-type]


def test_a_model_without_variables_leaves_none_unwritten(saved: Saved) -> None:
    path = saved(tflite("y[2,3] = ADD(x[2,3], z[3])"))
    assert runner(path=path)._unwritten(Opener(None, path, "builtin")) == {}  # type: ignore[arg-type]


ABORTS = Verdict("undecided", runs=(Run({}, "off", "undecided"),), reason="LiteRT aborts the process")


@pytest.mark.parametrize(
    "run",
    [
        KernelRun("builtin", "serve", ABORTS),
        KernelRun("builtin", "", replace(ABORTS, runs=())),
        KernelRun("builtin", "", replace(ABORTS, reason="LiteRT: no")),
        KernelRun("builtin", "", replace(ABORTS, reason=None)),
        KernelRun("builtin", "", ABORTS),
    ],
    ids=["of a signature", "without a run", "another reason", "no reason", "a model that does not load"],
)
def test_no_operator_is_named_that_aborts(run: KernelRun) -> None:
    assert runner(Refusing()).aborting(run) == ""


def test_runs_are_said_with_their_kernel_set_and_signature() -> None:
    (run,) = KernelRun("xnnpack", "serve", ABORTS).runs
    assert (run.kernels, run.signature) == ("xnnpack", "serve")
    assert refused("why") == Verdict("undecided", runs=(Run({}, "off", "undecided", reason="why"),), reason="why")


def answers(*cases: tuple[int, bool], said: str = "") -> Answers:
    """Answers at sizes of N, with an output that differs between two runs or with none."""
    accepted = tuple(
        Answer(Case({"N": size}, {}), {"y": np.float32([1])}, {"y": DIFFERING} if differs else {})
        for size, differs in cases
    )
    return Answers(accepted, (Run({}, "off", "undecided", reason=said),) if said else ())


def test_a_size_of_0_at_which_two_runs_differ_is_dropped() -> None:
    given = answers((3, True), (0, False), (0, True))
    kept = kernel_run._without_loose_ends(given)
    assert kept.accepted == given.accepted[:2]
    (run,) = kept.refused
    assert (run.bindings, run.status) == ({"N": 0}, "undecided")
    assert run.reason == "two runs of the first model differ at a size of 0 in: y"


@pytest.mark.parametrize("cases", [((0, True),), ((3, True), (0, False)), ()], ids=["all", "none", "no answers"])
def test_answers_stay_where_all_or_none_would_be_dropped(cases: tuple[tuple[int, bool], ...]) -> None:
    given = answers(*cases)
    assert kernel_run._without_loose_ends(given) is given


def test_what_never_ran_says_why_and_names_the_variable_that_nothing_has_written() -> None:
    unwritten = {"y": Undetermined(DIFFERING.row, "nothing writes 'v'", ""), "z": DIFFERING}
    for said, expected in (("READ_VARIABLE failed", "nothing writes 'v'"), ("ADD failed", "ADD failed")):
        found = kernel_run._never_accepted(answers(said=said), unwritten)
        assert (found.status, found.reason, [run.reason for run in found.runs]) == ("undecided", expected, [said])
    assert kernel_run._never_accepted(answers(said="READ_VARIABLE failed"), {}).reason == "READ_VARIABLE failed"


# --- verdict.py -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("brief", "first"), [(False, "reference"), (True, "xnnpack")])
def test_a_file_that_no_kernel_set_loads_is_refused_in_the_words_of_the_first(brief: bool, first: str) -> None:
    found = verdict._declared(Refusing(), BEFORE, task(brief=brief))  # type: ignore[arg-type]
    assert isinstance(found, RefusedError)
    assert str(found) == f"{first} cannot"


def test_a_file_that_one_kernel_set_loads_is_declared_by_it() -> None:
    for kernels in ("reference", "builtin", "xnnpack"):
        assert verdict._declared(Refusing(loads=(kernels,)), BEFORE, task()) == "the interface"  # type: ignore[arg-type]


@pytest.mark.parametrize("said", ["no valid Flatbuffer", "schema version 9", "Could not open it", "Failed to open it"])
def test_what_is_no_model_is_an_error(said: str) -> None:
    expected = f"{BEFORE}: no TFLite model: {said}; get the file again"
    with pytest.raises(GraphfixError, match=f"^{expected}$"):
        verdict._declared(Refusing(said), BEFORE, task())  # type: ignore[arg-type]


def details(*names: str, alias: str = "", signatures: tuple[tuple[str, int], ...] = ()) -> ModelDetails:
    """Inputs and an output y; `alias` is what a SignatureDef calls the first input."""
    made = [TensorDetails(name, at, "float32", (2,), (2,)) for at, name in enumerate((*names, "y"))]
    made[0] = replace(made[0], alias=alias)
    return ModelDetails(tuple(made[:-1]), tuple(made[-1:]), signatures)


def test_inputs_that_are_constants_need_not_be_in_the_second_model() -> None:
    before, after = details("x", "z", alias="picture"), details("z")
    for values, expected in ((("x",), ["z"]), (("picture",), ["z"]), (("z",), ["x", "z"]), ((), ["x", "z"])):
        found = verdict._without_dropped(before, after, values)
        assert [spec.name for spec in found.inputs] == expected
        assert found.outputs == before.outputs


SERVE, OTHER = (("serve", 0),), (("serve", 0), ("other", 2))
DISAGREEING: list[tuple[ModelDetails, ModelDetails, str | None, str | None]] = [
    (details("x"), details("x"), None, None),
    (details("x", signatures=OTHER), details("x", signatures=OTHER[::-1]), None, None),
    (details("x", signatures=OTHER), details("x", signatures=SERVE), "serve", None),
    (
        details("x", signatures=OTHER), details("x"), None,
        "the signatures differ: serve (subgraph 0), other (subgraph 2) in the first, none in the second",
    ),
    (
        details("x"), details("x", signatures=SERVE), None,
        "the signatures differ: none in the first, serve (subgraph 0) in the second",
    ),
    (
        details("x", alias="a"), details("x", alias="b"), "serve",
        "the signature calls 'x' 'a' in the first, 'b' in the second",
    ),
]  # fmt: skip


@pytest.mark.parametrize(("before", "after", "signature", "expected"), DISAGREEING)
def test_interfaces_that_disagree(
    before: ModelDetails, after: ModelDetails, signature: str | None, expected: str | None
) -> None:
    assert verdict._disagreement(before, after, signature) == expected


@pytest.mark.parametrize(
    ("lacking", "said"),
    [("LiteRT", "LiteRT has"), ("the builtin kernels", "the builtin kernels have"), ("XNNPACK", "XNNPACK has")],
)
def test_a_custom_operator_is_assumed_to_compute_the_same(lacking: str, said: str) -> None:
    same = "the custom operator 'Own' returns the same results for the same operands"
    assert verdict._assumption("Own", lacking) == f"{same} ({said} no kernel for it)"


def test_the_custom_operator_that_a_kernel_set_lacks() -> None:
    for sessions, expected in ((Refusing(custom="Own"), "Own"), (Refusing(), ""), (Refusing(loads=("builtin",)), "")):
        assert verdict._lacking(sessions, BEFORE, "builtin") == expected  # type: ignore[arg-type]


CASE = Case({"N": 1}, {})


def ran(kernels: str, status: str, reason: str | None = None, signature: str = "", **parts: Any) -> KernelRun:  # noqa: ANN401
    found = Verdict(status, runs=(Run({}, "off", status),), reason=reason)  # type: ignore[arg-type]
    return KernelRun(kernels, signature, found, **{"cases": (CASE,), **parts})


COMBINED: list[tuple[list[KernelRun], str, str | None]] = [
    ([ran("reference", "equal"), ran("xnnpack", "equal")], "equal", None),
    ([ran("reference", "equal"), ran("xnnpack", "undecided", "no", cases=())], "equal", None),
    ([ran("reference", "equal"), ran("xnnpack", "undecided", "it is random")], "undecided", "it is random"),
    (
        [ran("reference", "equal"), ran("reference", "undecided", "it is random", "s")], "undecided",
        "signature 's': it is random",
    ),
    ([ran("reference", "different", "y"), ran("xnnpack", "different", "y")], "different", "y"),
    ([ran("reference", "undecided", "it"), ran("xnnpack", "different", "y")], "different", "only with XNNPACK: y"),
    (
        [ran("builtin", "different", "y"), ran("reference", "equal"), ran("xnnpack", "different", "y")], "different",
        "only with the builtin kernels and XNNPACK: y",
    ),
    (
        [ran("builtin", "equal"), ran("builtin", "different", "y", "s"), ran("xnnpack", "different", "y", "s")],
        "different", "signature 's': y",
    ),
    (
        [ran("builtin", "different", "y", "s"), ran("xnnpack", "equal", None, "s")], "different",
        "only with the builtin kernels: signature 's': y",
    ),
    (
        [ran("builtin", "undecided", "first", cases=()), ran("xnnpack", "undecided", "last", cases=())], "undecided",
        "first",
    ),
    (
        [ran("builtin", "undecided", "first", cases=(), custom="Own"), ran("builtin", "undecided", "last", cases=())],
        "undecided", "last",
    ),
    (
        [ran("builtin", "equal"), ran("builtin", "undecided", "first", "s", cases=())], "undecided",
        "signature 's': first",
    ),
]  # fmt: skip


@pytest.mark.parametrize(("runs", "status", "reason"), COMBINED)
def test_one_verdict_of_several_kernel_sets(runs: list[KernelRun], status: str, reason: str | None) -> None:
    """A kernel set on which the original does not run decides nothing, unless there is no other."""
    found = verdict._combined(runs, runner())
    assert (found.status, found.reason) == (status, reason)
    assert [(run.kernels, run.signature) for run in found.runs] == [(each.kernels, each.signature) for each in runs]


def test_exceptions_are_said_with_their_kernel_set() -> None:
    excused = ran("xnnpack", "equal")
    excused = replace(excused, verdict=replace(excused.verdict, exceptions=({"class": "nan-payload"},)))
    found = verdict._combined([excused], runner())
    assert found.exceptions == ({"class": "nan-payload", "kernels": "xnnpack"},)


# --- which kernel sets run, on which inputs ---------------------------------------------------------------------------

entered: list[str] = []


class Scripted(KernelRunner):
    """Enters what is to be run: the kernel set, the signature, the number of cases, and whether the least come first.

    XNNPACK accepts no case, any other kernel set one, or those that it is given.
    """

    def run(self, kernels: str, signature: str | None, cases: Sequence[Case]) -> KernelRun:
        entered.append(f"{kernels} {signature} {len(cases)}{' least' * self.least}")
        accepted = () if kernels == "xnnpack" else tuple(cases) or (CASE, CASE)
        return KernelRun(kernels, signature or "", Verdict("equal"), accepted)


@pytest.mark.parametrize(
    ("copied", "expected"),
    [
        (False, ["reference s 0", "builtin s 2", "xnnpack s 2"]),
        (True, ["builtin s 0"]),
    ],
)
def test_each_kernel_set_runs_the_inputs_that_the_first_one_took(copied: bool, expected: list[str]) -> None:
    entered.clear()
    paths = BEFORE, AFTER
    given = Scripted(replace(task(), copied=copied), None, paths)  # type: ignore[arg-type]
    runs = list(verdict._on_each_kernel_set(given, "s"))
    assert entered == expected
    assert [each.kernels for each in runs] == [each.partition(" ")[0] for each in expected]


@pytest.mark.parametrize(
    ("shares", "expected"),
    [
        (("all", "all", "all"), ["xnnpack None 0", "builtin None 0", "reference None 2"]),
        (("all", "all", "least"), ["xnnpack None 0", "builtin None 0", "reference None 0 least"]),
        (("all", "none", "all"), ["xnnpack None 0", "reference None 0"]),
        (("all", "all", "none"), ["xnnpack None 0", "builtin None 0"]),
    ],
)  # fmt: skip
def test_brief_runs_leave_out_what_takes_long(
    shares: tuple[str, ...], expected: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[tuple[str, dict[str, int]]] = []

    class Pace:
        def share(self, kernels: str, sizes: dict[str, int]) -> str:
            asked.append((kernels, sizes))
            return shares[len(asked) - 1]

    monkeypatch.setattr(verdict, "Pace", Pace)
    entered.clear()
    given = Scripted(task(brief=True), None, (BEFORE, AFTER))  # type: ignore[arg-type]
    runs = list(verdict._briefly(given, None))
    assert entered == expected
    assert [each.kernels for each in runs] == ["xnnpack", "builtin", "reference"]
    known = {} if shares[1] == "none" else {"N": 1}
    assert asked == [("xnnpack", {}), ("builtin", {}), ("reference", known)]
    left_out = [each for each, share in zip(runs, shares, strict=True) if share == "none"]
    for each in left_out:
        name = kernel_run.KERNEL_NAMES[each.kernels]
        assert each.verdict.reason == (
            f"not run: {name} take long, and the models are proved equal; --thorough runs them"
        )
        assert (each.signature, each.cases) == ("", ())


# --- custom operators that a kernel set lacks: the rest of both models is run -----------------------------------------


@dataclass
class Lacking:
    """Sessions of kernel sets that lack the custom operators of some names; they see what a model has by its text."""

    lacked: tuple[str, ...] = ("A", "B")
    request = 0

    def load_tflite(self, path: Path, _: str) -> Lacking:
        self.path = path
        return self

    def ask(self, *_: object) -> None:
        names = [op.name for op in read_graphs(self.path)[0].ops]
        for name in self.lacked:
            if name in names:
                raise RefusedError("no kernel", custom=name)


TWO_CUSTOM = "t[4] = NEG(x[4])\nu[4] = CUSTOM.A(t)\nv[4] = CUSTOM.B(u)\ny[4] = ABS(v)"

ran_on: list[tuple[str, list[str], list[str], str | None, int, bool]] = []


class Rest(KernelRunner):
    """Enters what is run of the two models; one run has a reason, the other has none."""

    def run(self, kernels: str, signature: str | None, cases: Sequence[Case]) -> KernelRun:
        first, second = ([op.name for op in read_graphs(path)[0].ops] for path in self.paths)
        ran_on.append((kernels, first, second, signature, len(cases), self.own_inputs))
        runs = Run({}, "off", "equal"), Run({}, "off", "undecided", reason="it is random")
        accepted = () if kernels == "xnnpack" else (CASE,)
        return KernelRun(kernels, "", Verdict("undecided", runs=runs, reason="it is random"), accepted)


def rest(saved: Saved, one: str = TWO_CUSTOM, two: str | None = None, *lacked: str) -> Rest:
    paths = saved(tflite(one)), saved(tflite(one if two is None else two))
    ran_on.clear()
    return Rest(task(), Lacking(lacked or ("A", "B")), paths)  # type: ignore[arg-type]


def lacking(kernels: str, custom: str = "A") -> KernelRun:
    return ran(kernels, "undecided", "no kernel", cases=(), custom=custom)


def test_one_custom_operator_after_the_other_is_cut_until_the_rest_runs(saved: Saved) -> None:
    given = rest(saved, TWO_CUSTOM, TWO_CUSTOM.replace("ABS", "EXP"))
    cut, assumes = verdict._without_custom_ops(given, [lacking("builtin")])
    assert ran_on == [("builtin", ["NEG", "ABS"], ["NEG", "EXP"], None, 0, True)]
    assert [[run.reason for run in each.verdict.runs] for each in cut] == [["without 'A', 'B'", "it is random"]]
    assert [(each.verdict.status, each.verdict.reason, each.cases) for each in cut] == [
        ("undecided", "it is random", (CASE,))
    ]
    assert assumes == tuple(verdict._assumption(name, "LiteRT") for name in "AB")


def test_a_custom_operator_that_is_lacked_behind_the_first_one_only_is_named_in_order(saved: Saved) -> None:
    cut, assumes = verdict._without_custom_ops(rest(saved), [lacking("builtin", "B")])
    assert cut[0].verdict.runs[0].reason == "without 'A', 'B'"
    assert len(assumes) == 2
    cut, assumes = verdict._without_custom_ops(rest(saved, TWO_CUSTOM, None, "B"), [lacking("builtin", "B")])
    assert ran_on[0][1] == ["NEG", "A", "ABS"]
    assert assumes == (verdict._assumption("B", "LiteRT"),)


def test_kernel_sets_that_lack_it_are_named_where_another_one_has_it(saved: Saved) -> None:
    runs = [lacking("reference"), lacking("builtin"), ran("xnnpack", "equal")]
    cut, assumes = verdict._without_custom_ops(rest(saved, TWO_CUSTOM, None, "A"), runs)
    assert [each.kernels for each in cut] == ["reference", "builtin"]
    assert assumes == (verdict._assumption("A", "the reference kernels and the builtin kernels"),)


def test_what_can_not_be_cut_or_does_not_run_without_it_assumes_nothing(saved: Saved) -> None:
    cut, assumes = verdict._without_custom_ops(rest(saved), [lacking("xnnpack")])
    assert (len(cut), len(ran_on), assumes) == (1, 1, ())
    other = TWO_CUSTOM.replace("(u)", "(u, custom_options=b'a')")
    (cut_run,), assumes = verdict._without_custom_ops(rest(saved, TWO_CUSTOM, other), [lacking("builtin")])
    expected = "LiteRT has no kernel for the custom operator 'A', 'B': the two models do not have it alike"
    assert (cut_run.kernels, cut_run.signature, cut_run.cases, assumes, ran_on) == ("builtin", "", (), (), [])
    assert cut_run.verdict == refused(expected)
    assert verdict._without_custom_ops(rest(saved), [ran("builtin", "equal")]) == ([], ())


def test_an_operator_that_stays_lacked_after_it_was_cut_ends_the_cutting(saved: Saved) -> None:
    """The model that is left lacks the same operator again: what its runs say of it is said."""
    given = rest(saved)
    given.sessions.ask = refusing  # type: ignore[method-assign]
    (cut_run,), _ = verdict._without_custom_ops(given, [lacking("builtin")])
    assert ran_on[0][1] == ["NEG", "B", "ABS"]
    assert cut_run.verdict.runs[0].reason == "without 'A'"


def refusing(*_: object) -> None:
    raise RefusedError("no kernel", custom="A")

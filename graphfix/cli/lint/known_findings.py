"""Decide which findings of a model count: those of the selected codes that the baseline does not contain."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import replace
from pathlib import Path

from graphfix.report.findings import baseline
from graphfix.report.findings.baseline import Baseline, Known
from graphfix.report.findings.selection import CodeSelection
from graphfix.report.text import counted
from graphfix.results import GraphfixError, Outcome
from graphfix.results.records import dataclass, field


@dataclass(frozen=True, slots=True)
class Checked:
    """The present findings of one model, including those of the baseline, and the selected codes."""

    findings: Sequence[Known]
    selection: CodeSelection
    fingerprints: AbstractSet[str]
    """The fingerprints of these findings, to look up known findings."""

    def covers(self, finding: Known) -> bool:
        """Return whether the code of such a finding is selected, so that this run would have found it."""
        return self.selection.takes(str(finding["code"]))


@dataclass(frozen=True, slots=True)
class KnownFindings:
    """The findings of the baseline and those of the checked models."""

    baseline: Baseline | None
    writes: bool
    """Whether all findings of this run are written into the baseline."""
    checked: dict[str, Checked] = field(default_factory=dict)
    """By path of a model in the baseline: its present findings."""

    def counted(self, model: Path, outcome: Outcome, selection: CodeSelection) -> Outcome:
        """Return the outcome with only the sites that count."""
        chosen = replace(outcome, sites=tuple(site for site in outcome.sites if selection.takes(site.code)))
        if self.baseline is None:
            return chosen
        findings = baseline.described(chosen)
        found = Checked(findings, selection, frozenset(str(each["fingerprint"]) for each in findings))
        self.checked[self.baseline.name_of(model)] = found
        fingerprints = found.fingerprints if self.writes else self.baseline.fingerprints(model)
        new = baseline.unknown(chosen, fingerprints)
        return replace(chosen, sites=new, suppressed=len(chosen.sites) - len(new))

    def gone(self) -> int:
        """Return how many findings of the baseline no longer exist, in checked and in removed models."""
        files: Mapping[str, Sequence[Known]] = self.baseline.files if self.baseline is not None else {}
        return sum(self._is_gone(name, each) for name, findings in files.items() for each in findings)

    def write(self) -> str:
        """Write the baseline, and return the line to print.

        It contains the findings of this run, and those earlier ones that this run did not look for. Raises
        GraphfixError.
        """
        if self.baseline is None:
            return ""
        files = {
            name: [each for each in findings if self._was_not_asked(name, each)]
            for name, findings in self.baseline.files.items()
        }
        for name, found in self.checked.items():
            files[name] = [*files.get(name, ()), *found.findings]
        from graphfix.report.forms import registry

        registry.publish(self.baseline.path, baseline.text(files), "baseline")
        number = sum(map(len, files.values()))
        return f"{self.baseline.path}: written, {counted(number, 'finding')}"

    def _is_gone(self, name: str, finding: Known) -> bool:
        checked = self.checked.get(name)
        if checked is None:
            return not self._is_there(name)
        return checked.covers(finding) and finding["fingerprint"] not in checked.fingerprints

    def _was_not_asked(self, name: str, finding: Known) -> bool:
        checked = self.checked.get(name)
        return self._is_there(name) if checked is None else not checked.covers(finding)

    def _is_there(self, name: str) -> bool:
        return self.baseline is not None and os.path.lexists(self.baseline.path.parent / name)


def opened(baseline_path: Path | None, write: Path | None) -> KnownFindings:
    """Return the findings for --baseline and --write-baseline. With --write-baseline, the other file is not read.

    Raises GraphfixError for a file that is not a baseline; such a file is not replaced either.
    """
    if write is None:
        return KnownFindings(baseline.read(baseline_path) if baseline_path is not None else None, writes=False)
    if not write.parent.is_dir():
        raise GraphfixError(f"{write}: the folder of the baseline does not exist; create it first")
    return KnownFindings(baseline.read(write) if os.path.lexists(write) else Baseline(write), writes=True)

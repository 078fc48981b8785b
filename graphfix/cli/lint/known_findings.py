"""Which findings of a model count: those of the codes that are asked for, without those that a baseline has."""

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
    """One model's findings now, those of the baseline with them, and which codes were asked for."""

    findings: Sequence[Known]
    selection: CodeSelection
    fingerprints: AbstractSet[str]
    """The fingerprints of the findings: each known finding is looked up among them."""

    def covers(self, finding: Known) -> bool:
        """Whether such a finding was looked for."""
        return self.selection.takes(str(finding["code"]))


@dataclass(frozen=True, slots=True)
class KnownFindings:
    """What the baseline has, and what the models have."""

    baseline: Baseline | None
    writes: bool
    """Whether all that is found is written into it."""
    checked: dict[str, Checked] = field(default_factory=dict)
    """By the baseline's name of a model."""

    def counted(self, model: Path, outcome: Outcome, selection: CodeSelection) -> Outcome:
        """The outcome with the sites that count."""
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
        """How many findings of the baseline there are no more, in what was checked and in models that are gone."""
        files: Mapping[str, Sequence[Known]] = self.baseline.files if self.baseline is not None else {}
        return sum(self._is_gone(name, each) for name, findings in files.items() for each in findings)

    def write(self) -> str:
        """Write the baseline: what was found, and what this run did not look for; return what to say of it.

        Raises GraphfixError where it can't be written.
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
    """What --baseline and --write-baseline name: the second is written, and then the first is not read.

    Raises GraphfixError for a file that is no baseline: it is neither believed nor replaced.
    """
    if write is None:
        return KnownFindings(baseline.read(baseline_path) if baseline_path is not None else None, writes=False)
    if not write.parent.is_dir():
        raise GraphfixError(f"{write}: the folder of the baseline does not exist; create it first")
    return KnownFindings(baseline.read(write) if os.path.lexists(write) else Baseline(write), writes=True)

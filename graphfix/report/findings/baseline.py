"""The baseline: a file of known findings, which `check --baseline` does not count, so that only new findings count.

    {
      "graphfix-baseline": 1,
      "files": {
        "models/encoder.onnx": [
          {"code": "GF101", "graph": "main", "node": "head/add", "operator": "Add", "operand": 1, "fingerprint": ".."}
        ]
      }
    }

Sites are recognized by their fingerprints; the other keys are for people. Paths are relative to the folder of the
baseline, with `/`. Everything is sorted and each finding is a line, so that a diff in git shows new and removed
findings.
"""

from __future__ import annotations

import json
import os
from collections.abc import Collection, Mapping, Sequence
from pathlib import Path
from typing import TypeAlias

from graphfix.report.findings.fingerprint import fingerprints
from graphfix.results import GraphfixError, Outcome, Site
from graphfix.results.files.regular_files import refuse_pipe
from graphfix.results.records import dataclass, field

HEAD, VERSION = "graphfix-baseline", 1
REPAIR = "mend it, or delete it and write it again with --write-baseline"
Known: TypeAlias = Mapping[str, object]
"""A finding of the file. `fingerprint` and `code` are read; the other keys are for people."""


@dataclass(frozen=True, slots=True)
class Baseline:
    """The known findings of a file, or an empty baseline if the file does not exist yet."""

    path: Path
    files: Mapping[str, Sequence[Known]] = field(default_factory=dict)
    """By path of a model, relative to the baseline's folder: its known findings."""

    def name_of(self, model: Path) -> str:
        """Return the path of a model as the baseline contains it: relative to the baseline's folder, with `/`."""
        there = os.path.realpath(model.parent)
        try:
            folder = os.path.relpath(there, os.path.realpath(self.path.parent))
        except ValueError:  # on another drive
            folder = there
        return (Path(folder) / model.name).as_posix()

    def fingerprints(self, model: Path) -> set[str]:
        """Return the fingerprints of a model's known findings."""
        return {str(each["fingerprint"]) for each in self.files.get(self.name_of(model), ())}


def read(path: Path) -> Baseline:
    """Read a baseline. Raises GraphfixError for a file that can't be read or is not a baseline."""
    try:
        refuse_pipe(path, "a baseline")
        content = json.loads(path.read_text(encoding="utf-8-sig"))
    except FileNotFoundError:
        raise GraphfixError(f"{path}: there is no such baseline; --write-baseline {path} writes it") from None
    except OSError as error:
        raise GraphfixError(
            f"{path}: the baseline can't be read: {error.strerror}; give a file that can be read"
        ) from None
    except (ValueError, RecursionError):
        raise GraphfixError(f"{path}: not a baseline: it is not JSON; {REPAIR}") from None
    return Baseline(path, _files(path, content))


def _files(path: Path, content: object) -> Mapping[str, Sequence[Known]]:
    """Return the findings of a baseline's content by model. Raises GraphfixError for any other content."""
    if not isinstance(content, dict) or HEAD not in content:
        raise GraphfixError(f"{path}: not a baseline: it has no '{HEAD}'; name the file that --write-baseline wrote")
    if content[HEAD] != VERSION:
        raise GraphfixError(
            f"{path}: a baseline of another version than {VERSION}; write it again with --write-baseline"
        )
    files = content.get("files")
    if not (
        isinstance(files, dict)
        and all(isinstance(fingerprints_of_file, list) for fingerprints_of_file in files.values())
    ):
        raise GraphfixError(f"{path}: not a baseline: its 'files' are not lists of findings; {REPAIR}")
    listed = ((name, number, each) for name, known in files.items() for number, each in enumerate(known, 1))
    for name, number, each in listed:
        if not (isinstance(each, dict) and all(isinstance(each.get(key), str) for key in ("fingerprint", "code"))):
            where = f"finding {number} of {name!r}"
            raise GraphfixError(f"{path}: not a baseline: {where} has no 'code' or no 'fingerprint'; {REPAIR}")
    return files


def described(outcome: Outcome) -> list[Known]:
    """Return the findings of a model as the baseline contains them."""
    found = zip(outcome.sites, fingerprints(outcome.sites), strict=True)
    return [_line(site, digits) for site, digits in found if site.is_finding]


def unknown(outcome: Outcome, fingerprints_known: Collection[str]) -> tuple[Site, ...]:
    """Return the sites without the known findings."""
    by_fingerprint = zip(outcome.sites, fingerprints(outcome.sites), strict=True)
    return tuple(site for site, digits in by_fingerprint if digits not in fingerprints_known or not site.is_finding)


def text(files: Mapping[str, Sequence[Known]]) -> str:
    """Return the text of a baseline with these findings; a model without findings is omitted."""
    blocks = []
    for name in sorted(files):
        lines = sorted((_sorted_by(each), f"      {json.dumps(each)}") for each in files[name])
        if lines:
            blocks.append(f"    {json.dumps(name)}: [\n" + ",\n".join(line for _, line in lines) + "\n    ]")
    listed = "{\n" + ",\n".join(blocks) + "\n  }" if blocks else "{}"
    return f'{{\n  "{HEAD}": {VERSION},\n  "files": {listed}\n}}\n'


def _line(site: Site, digits: str) -> Known:
    about = {"code": site.code, "graph": site.graph, "node": site.node, "operator": site.op, "operand": site.operand}
    return {**about, "fingerprint": digits}


def _sorted_by(each: Known) -> tuple[str, ...]:
    return tuple(str(each.get(key)) for key in ("graph", "node", "code", "operand", "fingerprint"))

"""Write docs/benchmarks.md from the results."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Sequence
from pathlib import Path

from peers import prose, tables
from peers.catalogue import FLOOR, ONNX, PEERS, TFLITE
from peers.claims import MINE, claims
from peers.pictures import MEMORY, SECONDS
from peers.record import Results, Row, measured
from peers.summary import leaves, summary
from peers.verifying import record as verifying
from peers.verifying import section

ROOT = Path(__file__).resolve().parents[2]
PAGE = ROOT / "docs" / "benchmarks.md"
NAMES = {ONNX: "ONNX", TFLITE: "TFLite"}
NOTHING = " (does nothing to the model)"
EXEMPT = {
    ONNX: "constant matrices of a product, and Pow's exponent",
    TFLITE: "PRELU's alpha, and POW's exponent",
}
WORDS = {
    ONNX: {
        "runtime": "onnxruntime without optimizations",
        "bodies": ", in bodies too",
        "authority": "their documents in onnx say",
        "besides": "; products of matrices count by their batch axes, a normalization's scale and bias do not",
    },
    TFLITE: {
        "runtime": "LiteRT's reference kernels",
        "bodies": " in the main graph",
        "authority": "TFLite's MLIR dialect says",
        "besides": "",
    },
}


def update(results: Results) -> None:
    """Write the page."""
    PAGE.write_text(text(results), encoding="utf-8")


def text(results: Results) -> str:
    """Return the whole page as Markdown."""
    parts = [section(results) for section in SECTIONS]
    return "\n\n".join("\n".join(lines) for lines in parts if lines) + "\n"


def brief(row: Row) -> str:
    """Return a line of progress: the seconds of each peer on a model."""
    cells = [f"{name} {'fails' if cell.failure else f'{cell.seconds:.2f}'}" for name, cell in row.cells.items()]
    return f"{row.model}: {', '.join(cells)}"


def head(results: Results) -> list[str]:
    """Return the beginning of the page: the measured commands, the method and the machine."""
    method, machine = defaultdict(lambda: "?", results.method), defaultdict(lambda: "?", results.machine)
    filled = prose.HEAD.format(
        seconds=SECONDS,
        memory=MEMORY,
        memory_size=machine["memory"],
        versions=", ".join(f"{name} {version}" for name, version in sorted(results.versions.items())),
        peers="\n".join(f"| {peer.name} | {peer.said}{'' if peer.works else NOTHING} |" for peer in PEERS),
        **{name: method[name] for name in ("floor", "limit", "day")},
        **{name: machine[name] for name in ("processor", "system", "python")},
    )
    return prose.flowing(filled)


def claims_section(results: Results) -> list[str]:
    """Return the section of the claims, each with whether it is true, or an empty list without results."""
    found = claims(results)
    lines = [f"- {'Holds' if each.holds else '**Does not hold**'}: {each.said} ({each.figure})." for each in found]
    return (
        ["## What graphfix claims", "", "Of `fix --no-verify` on the zoo's ONNX models:", "", *lines] if found else []
    )


def zoo(results: Results, format_: str) -> list[str]:
    """Return the summary and the tables of one format's models of the zoo."""
    rows = [row for row in results.rows if row.group == "zoo" and row.format == format_]
    return _tables(f"The zoo, {NAMES[format_]}", rows, format_, _usual(results), summed=True)


def made(results: Results, format_: str) -> list[str]:
    """Return the tables of one format's models that are not from the zoo, such as models that are built for a size."""
    rows = [row for row in results.rows if row.group == "made" and row.format == format_]
    return _tables(f"Made models, {NAMES[format_]}", rows, format_, _usual(results), summed=False)


def _usual(results: Results) -> str:
    """Return the day and the machine that the page states for all measurements."""
    return measured(results.method.get("day", "?"), {"processor": "?", **results.machine})


def _tables(title: str, rows: Sequence[Row], format_: str, usual: str, *, summed: bool) -> list[str]:
    """Return a section with the tables of these rows, or an empty list without rows.

    `summed` adds a summary of all rows. `usual` is the day and the machine that the page states, so rows with another
    day or machine are listed.
    """
    if not rows:
        return []
    lines = [f"## {title}", ""]
    if summed:
        said = prose.ZOO.format(count=len(rows), **WORDS[format_])
        lines += [
            *prose.flowing(said),
            "",
            *summary(rows),
            "",
            *_exempt(rows, format_),
        ]
    lines += [f"Seconds ({_runs(rows)}), and how many times `{FLOOR[format_]}` that is:", ""]
    lines += tables.by_model(rows, lambda cell: cell.seconds, tables.seconds)
    others = [f"{row.model} ({row.measured})" for row in rows if row.measured not in ("", usual)]
    lines += ["", f"Measured on another day or machine: {'; '.join(others)}."] if others else []
    lines += ["", "Seconds of the processors:", ""]
    lines += [*tables.by_model(rows, lambda cell: cell.cpu, tables.cpu), "", "Peak MiB:", ""]
    lines += tables.by_model(rows, lambda cell: cell.mib, tables.memory)
    if not summed:
        lines += ["", "MiB written; what is little leaves the weights in the file that they lie in:", ""]
        lines += tables.by_model(rows, lambda _: None, tables.written)
    if any(cell.quality for row in rows for cell in row.cells.values()):
        lines += ["", "What became of it: equal or not, operands of another rank, stretched operands:", ""]
        lines += tables.by_model(rows, tables.left, tables.became)
    return [*lines, *_reasons(rows)]


def _runs(rows: Sequence[Row]) -> str:
    """Return a text that states how many runs each median is computed from."""
    counts = [len(cell.runs) for row in rows for cell in row.cells.values() if cell.runs]
    few, many = (min(counts), max(counts)) if counts else (0, 0)
    return f"medians of {few} to {many} runs" if few < many else f"medians of {many} runs" if many > 1 else "one run"


def _exempt(rows: Sequence[Row], format_: str) -> list[str]:
    """Return a paragraph about the operands that the target explicit does not change, as lines.

    The list is empty if there are no such operands.
    """
    left = leaves(MINE, rows)
    return [*prose.flowing(prose.LEFT.format(left=left, exempt=EXEMPT[format_])), ""] if left else []


def _reasons(rows: Sequence[Row]) -> list[str]:
    """Return a list of the reasons for failures and differences."""
    lines = []
    for row in rows:
        for name, cell in row.cells.items():
            why = cell.failure or (cell.quality.reason if cell.quality else "")
            if why:
                lines.append(f"- {row.model}, {name}: {'fails: ' if cell.failure else ''}{tables.plain(why)}")
    return ["", "Why:", "", *lines] if lines else []


def _zoo_onnx(results: Results) -> list[str]:
    return zoo(results, ONNX)


def _zoo_tflite(results: Results) -> list[str]:
    return zoo(results, TFLITE)


def _made_onnx(results: Results) -> list[str]:
    return made(results, ONNX)


def _made_tflite(results: Results) -> list[str]:
    return made(results, TFLITE)


def _verification(results: Results) -> list[str]:
    found = verifying.read(results.verification)
    return section.lines(found) if found else []


SECTIONS: Sequence[Callable[[Results], list[str]]] = (
    head,
    claims_section,
    _zoo_onnx,
    _zoo_tflite,
    _made_onnx,
    _made_tflite,
    _verification,
)
"""The sections of the page in order.

Each function returns the lines of its section, or an empty list if it is omitted.
"""

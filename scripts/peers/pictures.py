"""Draw the pictures of the page: time and memory of whole processes over the zoo's ONNX models, and the verifiers."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape
from pathlib import Path

from peers import tables
from peers.catalogue import ONNX, Peer
from peers.record import Results
from peers.verifying import picture
from peers.verifying import record as verifying

DOCS = Path(__file__).resolve().parents[2] / "docs"
SECONDS, MEMORY = "pictures/peers-seconds.svg", "pictures/peers-memory.svg"
WIDTH, BAR, GAP, LEFT, RIGHT, TOP = 720, 18, 8, 170, 90, 46
STYLE = (
    "text{font:13px system-ui,sans-serif;fill:#24292f}.t{font-weight:600;font-size:15px}.n{fill:#57606a}"
    ".b{fill:#fff;stroke:#d0d7de}.o{fill:#0f766e}.p{fill:#8c959f}.f{fill:#d0d7de}"
    "@media (prefers-color-scheme:dark){text{fill:#e6edf3}.n{fill:#9da7b3}"
    ".b{fill:#171a1e;stroke:#3d444d}.o{fill:#2dd4bf}.p{fill:#6e7681}.f{fill:#3d444d}}"
)


def update(results: Results) -> None:
    """Write all pictures into docs/."""
    for path, drawn in drawings(results).items():
        (DOCS / path).write_text(drawn, encoding="utf-8")


def drawings(results: Results) -> dict[str, str]:
    """Return the pictures as SVG by their path below docs/. A picture without results is omitted."""
    rows = [row for row in results.rows if row.group == "zoo" and row.format == ONNX]
    seconds, memory = [], []
    for peer in tables.of_format(ONNX):
        cells = [row.cells[peer.name] for row in rows if peer.name in row.cells and not row.cells[peer.name].failure]
        seconds.append((peer, tables.median(cell.seconds for cell in cells)))
        memory.append((peer, tables.median(cell.mib for cell in cells)))
    title = f"median of {len(rows)} real ONNX models, whole processes"
    drawn = {
        SECONDS: _bars(f"Seconds: {title}", seconds, "{:.2f} s"),
        MEMORY: _bars(f"Peak memory: {title}", memory, "{:.0f} MiB"),
    }
    verified = verifying.read(results.verification)
    return (drawn if rows else {}) | ({picture.PATH: picture.drawing(verified)} if verified else {})


def _bars(title: str, figures: Sequence[tuple[Peer, float | None]], form: str) -> str:
    """Return a picture with one bar for each peer that has a figure, the smallest first.

    `form` is the format of a figure.
    """
    there = sorted(((peer, value) for peer, value in figures if value is not None), key=lambda each: each[1])
    most = max(value for _, value in there)
    height = TOP + len(there) * (BAR + GAP) + 8
    size = f'width="{WIDTH}" height="{height}" aria-label="{escape(title)}"'
    lines = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {height}" role="img" {size}>',
        f"<title>{escape(title)}</title><style>{STYLE}</style>",
        f'<rect class="b" x="0.5" y="0.5" width="{WIDTH - 1}" height="{height - 1}" rx="8"/>',
        f'<text class="t" x="16" y="28">{escape(title)}</text>',
    ]
    for at, (peer, value) in enumerate(there):
        y = TOP + at * (BAR + GAP)
        width = max(2.0, value / most * (WIDTH - LEFT - RIGHT))
        kind = "o" if peer.name.startswith("graphfix") else "p" if peer.works else "f"
        lines += [
            f'<text x="{LEFT - 8}" y="{y + 14}" text-anchor="end">{escape(peer.label)}</text>',
            f'<rect class="{kind}" x="{LEFT}" y="{y}" width="{width:.1f}" height="{BAR}" rx="3"/>',
            f'<text class="n" x="{LEFT + width + 6:.1f}" y="{y + 14}">{form.format(value)}</text>',
        ]
    return "\n".join([*lines, "</svg>"]) + "\n"

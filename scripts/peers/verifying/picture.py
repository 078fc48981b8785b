"""The picture: what each verifier says of the same pairs, and its median seconds."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape

from peers.catalogue import ONNX, TFLITE
from peers.verifying import sums
from peers.verifying.record import DIFFERENT, EQUAL, FAILED, PROVED, UNDECIDED, Verification
from peers.verifying.sums import Sums
from peers.verifying.verifiers import VERIFIERS

PATH = "pictures/peers-verifiers.svg"
TITLE = "What each verifier says of the same pairs"
WRONG = "wrong"
CLASSES = {PROVED: "p", EQUAL: "e", DIFFERENT: "d", UNDECIDED: "u", FAILED: "f", WRONG: "w"}
WIDTH, BAR, GAP, LEFT, RIGHT, TOP = 720, 18, 8, 150, 80, 68
STYLE = (
    "text{font:13px system-ui,sans-serif;fill:#24292f}.t{font-weight:600;font-size:15px}.n{fill:#57606a}"
    ".p{fill:#0f766e}.e{fill:#5eb3ab}.d{fill:#4f7cac}.u{fill:#d0d7de}.f{fill:#8c959f}.w{fill:#cf222e}"
    "@media (prefers-color-scheme:dark){text{fill:#e6edf3}.n{fill:#9da7b3}"
    ".p{fill:#2dd4bf}.e{fill:#1b8a7d}.d{fill:#6ea3d8}.u{fill:#3d444d}.f{fill:#6e7681}.w{fill:#ff7b72}}"
)


def drawing(found: Verification) -> str:
    """Return the picture as SVG."""
    groups = {
        name: [sums.of(each, (pair for pair in found.pairs if pair.format == format_)) for each in VERIFIERS]
        for name, format_ in (("ONNX", ONNX), ("TFLite", TFLITE))
    }
    shown = {name: there for name, some in groups.items() if (there := [each for each in some if each.asked])}
    drawn: list[str] = [_legend()]
    top = TOP
    for name, some in shown.items():
        drawn += [f'<text class="n" x="8" y="{top + 14}">{name}: {max(each.asked for each in some)} pairs</text>']
        top += BAR + GAP
        for each in some:
            drawn += _bar(each, top)
            top += BAR + GAP
    size = f'viewBox="0 0 {WIDTH} {top}" role="img" width="{WIDTH}" height="{top}" aria-label="{TITLE}"'
    start = f'<svg xmlns="http://www.w3.org/2000/svg" {size}>'
    head = [f"<title>{TITLE}</title><style>{STYLE}</style>", f'<text class="t" x="8" y="24">{TITLE}</text>']
    return "\n".join([start, *head, *drawn, "</svg>"]) + "\n"


def parts(counted: Sums) -> Sequence[tuple[str, int]]:
    """Return the parts of a bar: the answers by word without the wrong ones, which come last."""
    right = counted.words - counted.wrong_words
    return [*((word, right[word]) for word in CLASSES if word != WRONG), (WRONG, counted.wrong)]


def _legend() -> str:
    drawn, x = [], 8
    for word, kind in CLASSES.items():
        drawn.append(f'<rect class="{kind}" x="{x}" y="40" width="12" height="12" rx="2"/>')
        drawn.append(f'<text class="n" x="{x + 17}" y="51">{word}</text>')
        x += 100
    return "\n".join(drawn)


def _bar(counted: Sums, top: int) -> list[str]:
    lines = [f'<text x="{LEFT - 8}" y="{top + 14}" text-anchor="end">{escape(counted.verifier.name)}</text>']
    x = float(LEFT)
    for word, count in parts(counted):
        width = count / counted.asked * (WIDTH - LEFT - RIGHT)
        if count:
            rectangle = f'<rect class="{CLASSES[word]}" x="{x:.1f}" y="{top}" width="{width:.1f}" height="{BAR}">'
            lines.append(f"{rectangle}<title>{count} {word}</title></rect>")
        x += width
    return [*lines, f'<text class="n" x="{WIDTH - RIGHT + 8}" y="{top + 14}">{counted.median:.2f} s</text>']

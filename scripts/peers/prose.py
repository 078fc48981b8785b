"""The texts of docs/benchmarks.md, in which figures and versions replace the braces."""

from __future__ import annotations

from textwrap import wrap

HEAD = """\
# Beside other tools

What `graphfix fix --no-verify` takes beside the tools that people use on the same models, and what becomes of the
models. `python scripts/bench_peers.py` measures all of it and writes this page; the figures are kept in
[benchmarks.json](benchmarks.json).

![Seconds of a whole process, by tool]({seconds})

![Peak memory of a whole process, by tool]({memory})

A figure is that of a whole process, from its start to its end, as a user starts it: graphfix is installed from a
wheel in an environment of its own, the others in another, with bytecode compiled, each called by its documented
entry with the fewest imports that it needs. They take turns in an order that rotates, on a warm cache; the median
counts, after one run that does not count; what takes longer than half a second has fewer runs, and what takes longer
than ten runs once. Memory is the largest resident set; below {floor} MiB nothing is told apart. A run is ended after
{limit} seconds.

Measured on {day}: {processor}, {memory_size}; {system}; Python {python}; {versions}.

| column | what is run |
| --- | --- |
{peers}

In each line the best is set in bold; what does nothing to the model wins nothing. A blank cell is a tool that was not
installed, `fails` a tool that did not end well: the reasons stand below the tables."""

CLAIMS = """\
## What graphfix claims

Of `fix --no-verify` on the zoo's ONNX models:
"""

ZOO = """\
Medians over {count} models. The results were run in {runtime} beside the originals, on the same seeded inputs:
*equal* is every output bit by bit; tools that fuse operators round otherwise, and how far stands below. What is left
was counted in a run, from the shapes that values had{bodies}, of what the same models had before: operands of
broadcasting operators with another rank than the result, and operands that are repeated along an axis. Which operators
broadcast is what {authority}, not graphfix's catalogue{besides}.
"""

LEFT = """\
What target explicit leaves is {left}. `graphfix check` lists these as exempt, with the reason: {exempt}.
"""


def flowing(words: str) -> list[str]:
    """Return the lines of a text whose paragraphs are wrapped again after the braces are replaced.

    Tables, lists, pictures and titles are not wrapped.
    """
    lines: list[str] = []
    for paragraph in words.split("\n\n"):
        kept = paragraph.startswith(("#", "|", "!", "-"))
        lines += [*(paragraph.splitlines() if kept else wrap(paragraph, 120, break_on_hyphens=False)), ""]
    return lines[:-1]

"""Outcomes for the page: by hand, of any size, and with names that try to break out of it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from graphfix.report.text import Failure
from graphfix.results import OpenSizes, Outcome, Run, Site, Verdict
from graphfix.results.claims import Facts
from graphfix.results.excerpt import Excerpt, NodeExcerpt, OperandAxis, OperandExcerpt

HOSTILE = (
    "<script>alert(1)</script>",
    "</script><img src=x onerror=alert(1)>",
    "<!--<script>",
    "\"'`><svg onload=alert(1)>",
    "a\nb\tc",
    "nul\0and\x1b[31mred",
    "\u202egnp.exe\u2066",
    "\ud800lone",
    "שלום/עולם",
    "n" * 3000,
    "${alert(1)}{{7*7}}&lt;b&gt;",
)
PROVED = Verdict(
    "proved",
    runs=(
        Run({"N": 3}, "off", "equal", 12, 0.0),
        Run({"N": 3}, "on", "different", 12, 1.5e-7),
        Run({"N": 0}, "off", "undecided", 0, None, "the first model refuses it"),
    ),
    proof={"status": "proved", "reason": None, "notes": ["the first file declares the output 'y' as [], it is not"]},
    exceptions=({"class": "signed-zero", "output": "y", "site": "Add 'n3'", "count": 2},),
    assumes=("the dims named 'N' are equal: a[0], b[0]",),
    facts=Facts(12, 12, 0),
    versions={"numpy": "2.4.6", "onnx": "1.23.2", "onnxruntime": "1.31.1"},
    sha256={"before": "aa" * 32, "after": "bb" * 32},
)
UNMATCHED = {
    "before": "Add 'n3'",
    "after": "Add 'n3'",
    "nodes": {
        "before": {
            "graph": "main",
            "node": "Add 'n3'",
            "notation": "y[2,3] = Add(x[2,3], b[3])",
            "maps": [{"operand": 1, "map": "(d0, d1) -> (d1)", "through": None, "of": None}],
        },
        "after": {},
    },
}
DIFFERENT = replace(
    PROVED,
    status="different",
    first_difference={"tensor": "h", "producer": "Mul 'm'", "index": (0, 1), "before": 1.0, "after": 2.0, "count": 6},
    proof={"status": "undecided", "reason": "Add 'n3' of the second file has no match", "first": UNMATCHED},
)


def fixed(nodes: int = 12, *, name: str = "m.onnx", drawn: bool = True) -> Outcome:
    """A model of `nodes` Adds in a row, half of them about a bias, and what was done to it."""
    sites = tuple(site for number in range(nodes) for site in _sites(number))
    return Outcome(
        "fix",
        name,
        "onnx",
        target="explicit",
        output=f"fixed/{name}",
        changed=True,
        rewrites={"normalize-expand": 0, "equalize-ranks": nodes, "materialize-broadcasts": nodes},
        sites=sites,
        verdict=PROVED,
        assumes=("the dims named 'N' are equal: a[0], b[0]",),
        seconds={"load": 0.01, "plan": 0.12, "verify": 1.24},
        open_sizes=(
            OpenSizes(3, ("ids[1]", "mask[1]"), "--same 'ids[1]=mask[1]'", "3 nodes depend on whether sizes are equal"),
        ),
        notes=("the target asks for static shapes, and 2 are not",),
        excerpt=Excerpt(tuple(_nodes(nodes)), 2, left_out=4) if drawn else None,
    )


def large(sites: int) -> Outcome:
    """A model of exactly so many sites."""
    made = fixed(sites * 5 // 9)
    return replace(made, sites=made.sites[:sites])


def verified() -> Outcome:
    """Two files that compute different things."""
    return Outcome("verify", "m.onnx", "onnx", output="f.onnx", verdict=DIFFERENT, seconds={"verify": 1.5})


def renamed(outcome: Outcome, names: tuple[str, ...]) -> Outcome:
    """The same with other names of nodes and graphs, in turn."""
    names_of = {
        node: names[at % len(names)] + f"/{at}" for at, node in enumerate(dict.fromkeys(s.node for s in outcome.sites))
    }
    sites = tuple(
        replace(
            site,
            node=names_of[site.node],
            graph=names[len(site.node) % len(names)],
            op=names[(at + 5) % len(names)],
            reason=names[(at + 7) % len(names)],
            status="left",
        )
        for at, site in enumerate(outcome.sites)
    )
    excerpt = outcome.excerpt
    if excerpt is not None:
        graphs = {site.node: site.graph for site in sites}
        nodes = tuple(
            replace(
                node,
                node=names_of.get(node.node, node.node),
                graph=graphs.get(names_of.get(node.node, ""), "main"),
                op=names[at % len(names)],
                before=f"{names[at % len(names)]} = Add(x, {names[(at + 1) % len(names)]})" if node.before else None,
            )
            for at, node in enumerate(excerpt.nodes)
        )
        excerpt = replace(excerpt, nodes=nodes)
    said = " ".join(names)
    sizes = (OpenSizes(1, names, f"--dim {names[0]}", said),)
    verdict = replace(PROVED, reason=said, assumes=names, exceptions=({"class": names[0], "output": names[1]},))
    return replace(
        outcome,
        source=names[0],
        output=names[1],
        sites=sites,
        excerpt=excerpt,
        open_sizes=sizes,
        notes=names,
        verdict=verdict,
    )


def several() -> list[Outcome | Failure]:
    """A check of several models, one of which could not be read."""
    found = fixed(3, name="b.onnx")
    sites = tuple(replace(site, status="found" if site.status == "changed" else site.status) for site in found.sites)
    checked = replace(found, command="check", output=None, verdict=None, sites=sites, target="ranks")
    clean = replace(checked, source="c.onnx", sites=(), open_sizes=(), notes=(), assumes=(), excerpt=None)
    return [checked, clean, Failure("check", "bad.onnx", "bad.onnx: no ONNX model; give one")]


def _sites(number: int) -> Iterator[Site]:
    node, graph = f"encoder/layer.{number}/add", "main" if number % 5 else "main/if_3.then_branch"
    if number % 7 == 6:
        yield Site("GF104", node, "Mul", graph, 0, None, None, "left", None, f"the rank of 'x{number}' is not known")
    elif number % 7 == 5:
        reason = "a scalar exponent has its own kernel"
        yield Site("GF102", node, "Pow", graph, 1, (1, 1, 1), None, "exempt", None, reason)
    else:
        wide = 64 * (number % 4 + 1)
        yield Site(
            "GF101", node, "Add", graph, 1, (wide,), (1, 1, wide), "changed", "equalize-ranks", bytes=number % 3 * 16
        )
        yield Site("GF102", node, "Add", graph, 1, (1, 1, wide), (2, 128, wide), "changed", "materialize-broadcasts")
    if number % 4 == 3:
        yield Site("GF103", node, "Add", graph, 0, ("N", 1, 64), ("N", "T", 64), "changed", "materialize-broadcasts")


def _nodes(count: int) -> Iterator[NodeExcerpt]:
    for number in range(count):
        wide = 64 * (number % 4 + 1)
        graph = "main" if number % 5 else "main/if_3.then_branch"
        before = f"h{number}[2,128,{wide}]"
        reads = tuple(f"k{number - back}" for back in (1, 3) if number >= back)
        yield NodeExcerpt(
            f"e{number}", graph, f"Expand#{number}", "Expand", None, None,
            f"b{number}_expanded[2,128,{wide}] = Expand(b{number}[1,1,{wide}], [3])",
        )  # fmt: skip
        yield NodeExcerpt(
            f"k{number}",
            graph,
            f"encoder/layer.{number}/add",
            "Add",
            number,
            f"{before} = Add(h{number - 1}[2,128,{wide}], b{number}[{wide}])",
            f"{before} = Add(h{number - 1}[2,128,{wide}], b{number}_expanded[2,128,{wide}])",
            reads,
            (*reads, f"e{number}"),
            (2, 128, wide),
            (
                OperandExcerpt(
                    0, f"h{number - 1}", (2, 128, wide), tuple(OperandAxis(at, "no") for at in range(3)), (), 4
                ),
                OperandExcerpt(
                    1,
                    f"b{number}",
                    (wide,),
                    (OperandAxis(None, "yes"), OperandAxis(None, "yes"), OperandAxis(0, "no")),
                    (),
                    None if number % 6 == 4 else 4,
                ),
            ),
            site=True,
        )

"""Write an Einsum of several operands as Einsums of two (ONNX only; only with target tosa, or where it is named).

    Einsum(a[b,s,e,i], w[e,i,h], g[b,s,e], equation="bsei,eih,bse->bsh")
    Einsum(Einsum(a, w, equation="bsei,eih->bseh"), g, equation="bseh,bse->bsh")

torch-mlir computes another thing of more than two operands, without a word. onnxruntime itself goes from pair to pair,
from the left: 2,773 random equations, in which every letter is in two terms at least, the result counted, give the same
bits in both forms. What is in one term alone it sums at another time: such an equation stays, and is named. So do
equations with dots or a letter twice in a term, and types but float32.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence

from graphfix.graph.edits import Edit, New, Replace, Source
from graphfix.graph.view import Node
from graphfix.shapes.dim import Shape, Size

ON = frozenset({("", "Einsum")})
CODE = "GF304"
PAIR = 2


def plan(node: Node) -> Iterator[Edit]:
    """Replace an Einsum of three operands or more."""
    result, terms = node.results[0], _terms(node)
    if result is None or terms is None or result.dtype != "float32":
        return
    *operands, out = terms
    sizes = _sizes(node, operands)
    seen: Source = 0
    letters = operands[0]
    for at in range(1, len(operands)):
        later = {*"".join(operands[at + 1 :]), *out}
        kept = out if at == len(operands) - 1 else _each(letter for letter in letters + operands[at] if letter in later)
        shape = result.shape if kept is out else Shape(tuple(sizes[letter] for letter in kept))
        equation = f"{letters},{operands[at]}->{kept}"
        seen, letters = New("Einsum", (seen, at), shape, result.dtype, (("equation", equation),)), kept
    if isinstance(seen, New):
        yield Replace(seen, CODE)


def _terms(node: Node) -> Sequence[str] | None:
    """The letters of each operand, then those of the result; None for an equation that stays."""
    text = node.attributes.get("equation")
    left, arrow, out = str(text).replace(" ", "").partition("->")
    terms = [*left.split(","), out]
    counts = Counter("".join(terms))
    repeated = any(len(set(term)) < len(term) for term in terms)
    if not arrow or "." in left or repeated or min(counts.values(), default=0) < PAIR:
        return None
    return terms if len(terms) - 1 == len(node.operands) > PAIR else None


def _each(letters: Iterator[str]) -> str:
    return "".join(dict.fromkeys(letters))


def _sizes(node: Node, terms: Sequence[str]) -> Mapping[str, Size]:
    """By letter the size of its axes; one of size 1 is stretched."""
    found: dict[str, Size] = {}
    for at, term in enumerate(terms):
        for letter, size in zip(term, node.operand(at).ranked.dims, strict=True):
            if found.get(letter, 1) == 1:
                found[letter] = size
    return found

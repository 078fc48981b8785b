"""Write an Attention or RotaryEmbedding by its definition (ONNX only; only with target tosa, or where it is named).

    Attention(q[2,4,3,8], k[2,2,5,8], v[2,2,5,8], m[3,5])
        ->  MatMul(Softmax(MatMul(q * r, Transpose(k) * r) + m), v)     r = Sqrt(scale); heads of k and v repeated
    RotaryEmbedding(x[2,4,3,8], cos, sin)
        ->  Concat(cos * a - sin * b, sin * a + cos * b)                a, b = the halves of x, or every other element

torch-mlir has no form for these operators. A query that sees no key gets weights of 0, not NaN. onnxruntime's kernels
round in other places, so the rewrite is inexact. Runs of both models compare the result of each such operator, which
may differ by 1e-4 of its largest magnitude.

These nodes are not changed:

- nodes with a past, a softcap, or a second result
- nodes of other types than float32
- nodes with more than 65,536 pairs of queries and keys if no query may see a later key
"""

from __future__ import annotations

from collections.abc import Iterator

from graphfix.graph.edits import Edit, New, Replace
from graphfix.graph.view import Node, optional_operand
from graphfix.shapes.dim import Undecided
from rewrites.attention.meaning import has_sense
from rewrites.attention.rotary import rotary
from rewrites.attention.weights import attention

ON = frozenset({("", "Attention"), ("", "RotaryEmbedding")})
CODE = "GF304"
FLOAT = "float32"
INEXACT = "it is rounded in other places than in onnxruntime's kernel: it may differ by 1e-4 of its largest magnitude"
MASK = 3
MOST_PAIRS = 1 << 16


def plan(node: Node) -> Iterator[Edit]:
    """Yield the replacement of an operator in the supported forms. Raises Undecided if a size is not a number."""
    operands = [value for value in node.operands if value is not None]
    data = node.operands[:MASK]
    if any(value is None or value.dtype != FLOAT for value in data) or node.results[0] is None:
        return
    if any(value is None for value in node.attributes.values()):
        return  # An attribute without a value refers to an argument of a function call.
    if not has_sense(node):
        return
    if not all(value.ranked.static for value in operands):
        raise Undecided(f"the sizes of {', '.join(map(str, operands))} are not all numbers")
    made = _weighted(node) if node.op == "Attention" else _turned(node)
    if made is not None:
        yield Replace(made, CODE, INEXACT)


def _turned(node: Node) -> New | None:
    """Return the new nodes for a RotaryEmbedding, or None if its number of heads is missing."""
    heads, turned = _whole(node, "num_heads"), _whole(node, "rotary_embedding_dim")
    if node.operand(0).ranked.rank == MASK and not heads:
        return None
    return rotary(node, heads, turned, interleaved=bool(node.attributes.get("interleaved")))


def _weighted(node: Node) -> New | None:
    """Return the new nodes for an Attention, or None if its form is not supported."""
    sizes, causal = node.operand(0).ranked.numbers, bool(node.attributes.get("is_causal"))
    heads = _whole(node, "q_num_heads"), _whole(node, "kv_num_heads")
    mask = optional_operand(node, MASK)
    if any(value is not None for value in (*node.operands[MASK + 1 :], *node.results[1:])):
        return None
    if node.attributes.get("softcap") or node.attributes.get("softmax_precision", 1) != 1:
        return None
    if len(sizes) == MASK and not all(heads):
        return None
    keys = node.operand(1).ranked.numbers[-2]
    if causal and sizes[-2] * keys > MOST_PAIRS:
        return None
    if mask is not None and (mask.dtype not in (FLOAT, "bool") or mask.ranked.numbers[-2:] != (sizes[-2], keys)):
        return None
    size = sizes[-1] // heads[0] if len(sizes) == MASK else sizes[-1]
    scale = node.attributes.get("scale", size**-0.5)
    return attention(node, heads, scale if isinstance(scale, float) else 1.0, causal=causal)


def _whole(node: Node, name: str) -> int:
    """Return an integer attribute, or 0 if it is missing."""
    number = node.attributes.get(name, 0)
    return number if isinstance(number, int) else 0

"""Find the chains of nodes that XNNPACK may replace by one lookup table.

XNNPACK computes a chain of up to ten element-wise nodes, from 8 bits to 8 bits, once for all 256 elements. The table's
result has the shape of the chain's operand, so the rank of a constant of one element inside the chain is lost. MAXIMUM
and MINIMUM of a NaN return another operand than outside of a table. So if a chain contains such a node, an edit must
not add a node to the chain or remove one. Measured with LiteRT 2.3: tests/whole/test_lookup_tables.py.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence

from graphfix.graph.view import Node, Value

BYTES = frozenset({"int8", "uint8"})
_LONGEST = 10
"""The number of nodes of the longest chain that XNNPACK replaces by one table."""
OF_BYTES = frozenset({"ADD", "SUB", "MUL"})
"""The operators of two operands that XNNPACK computes on 8 bits."""
FLOATS = frozenset({"float32", "float16"})
SELECTING = frozenset({"MAXIMUM", "MINIMUM"})
_ELEMENTWISE = frozenset(
    "ABS ADD CAST CEIL COS DEQUANTIZE DIV ELU EXP FLOOR GELU HARD_SWISH LEAKY_RELU LOG LOGISTIC MAXIMUM MINIMUM MUL NEG"
    " POW PRELU QUANTIZE RELU RELU6 RELU_0_TO_1 RELU_N1_TO_1 ROUND RSQRT SIGN SIN SQRT SQUARE SQUARED_DIFFERENCE SUB"
    " TANH".split()
)


def chain_of(node: Node) -> Sequence[Node]:
    """Return the nodes that may be in one lookup table with a node, in order; empty if the node is in no table."""
    path = [node]
    while len(path) < _LONGEST and (previous := _previous(path[-1])) is not None:
        path.append(previous)
    chain: list[Node] = []
    inside: list[Value] = []
    for each in reversed(path):
        if not (chain and _all_in(_variables(each), inside)):
            begins = _begins(each)
            chain, inside = [], list(_variables(each)) if begins else []
            if not begins:
                continue
        chain.append(each)
        inside += [value for value in each.results if value is not None]
    if chain:
        chain += _following(node, inside)
    while chain and _dtype(chain[-1]) not in BYTES:
        chain.pop()
    return chain


def changes_table(node: Node, other: Node) -> bool:
    """Return whether a node with other operands (`other`) may be in another lookup table, or change a table's rank."""
    one, two = chain_of(node), chain_of(other)
    if not (decides(one) or decides(two)):
        return False
    return [each.index for each in one] != [each.index for each in two] or _carried(node) != _carried(other)


def _carried(node: Node) -> int | None:
    """Return the highest rank of the operands that are not constants of one element; None if a rank is unknown."""
    shapes = [value.shape for value in _variables(node)]
    return max((shape.rank for shape in shapes), default=0) if all(shape.ranked for shape in shapes) else None


def decides(chain: Sequence[Node]) -> bool:
    """Return whether the results of a chain depend on whether the chain is replaced by a table."""
    return any(outranks(each) or (each.op in SELECTING and _dtype(each) not in BYTES) for each in chain)


def outranks(node: Node) -> bool:
    """Return whether a constant of one element has, or may have, more axes than the other operands of a node."""
    if _dtype(node) in BYTES and node.op not in OF_BYTES:
        return False
    units = [value.shape for value in node.operands if value is not None and is_unit_constant(value)]
    others = [value.shape for value in _variables(node)]
    most = max((shape.rank for shape in units), default=0)
    return bool(units) and any(not shape.ranked or shape.rank < most for shape in others)


def is_unit_constant(value: Value) -> bool:
    """Return whether a value is a constant of one element."""
    return value.kind == "constant" and set(value.shape.axes or ()) <= {1}


def _previous(node: Node) -> Node | None:
    """Return the node before this node in its chain, or None."""
    for value in _variables(node):
        made_by = value.producer
        if made_by is not None and _joins(value) and made_by.op in _ELEMENTWISE:
            return made_by
    return None


def _joins(value: Value) -> bool:
    """Return whether the node that produces a value and the node that reads it can be in one chain."""
    return value.is_read_once and value not in value.graph.outputs


def _begins(node: Node) -> bool:
    """Return whether a node can be the first node of a chain.

    It must be element-wise and have exactly one operand that is not a constant of one element. This operand must have 8
    bits.
    """
    values = _variables(node)
    return node.op in _ELEMENTWISE and len(values) == 1 and values[0].dtype in BYTES


def _following(node: Node, inside: list[Value]) -> Iterator[Node]:
    """Yield the nodes behind a node in its chain; `inside` are the values that the chain has so far."""
    for _ in range(_LONGEST):
        result = node.results[0]
        if result is None or not _joins(result):
            return
        node = result.reads[0][0]
        if node.op not in _ELEMENTWISE or not _all_in(_variables(node), inside):
            return
        yield node
        inside += [value for value in node.results if value is not None]


def _all_in(values: Sequence[Value], inside: Collection[Value]) -> bool:
    """Return whether all of these values are inside the chain."""
    return all(any(value is each for each in inside) for value in values)


def _variables(node: Node) -> Sequence[Value]:
    """Return the operands of a node that are not constants of one element."""
    return [value for value in node.operands if value is not None and not is_unit_constant(value)]


def _dtype(node: Node) -> str:
    """Return the element type of a node's first result; empty if there is none."""
    result = node.results[0] if node.results else None
    return result.dtype if result is not None else ""

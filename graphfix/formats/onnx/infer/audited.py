"""The operators of which onnx's inference of one node is believed: a test holds each against runtimes (the audit).

None of them has a rule of this program's own, and every other operator without a rule tells nothing.
"""

AUDITED: frozenset[tuple[str, str]] = frozenset(
    ("", op)
    for op in """
Det SoftmaxCrossEntropyLoss
""".split()
)
"""(domain, operator), for every version and all attributes."""

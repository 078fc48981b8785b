"""Patterns of nodes that onnxruntime fuses on a CPU if operands have certain shapes, with the versions that do.

A pattern has one line for each node. In `Add(x, b)` the operands have this order, in `Add(x | b)` either order. A name
that another line computes is a link: any node that is inserted between the two nodes prevents the fusion. Any other
name is an operand from outside the pattern. After such a name, three parts may follow: the condition of onnxruntime's
matcher (`:scalar`), a mark (`!`), and the number that the operand must contain (`{0.5}`). A mark states which part of
the shape must not change. If a link is written `n*`, more nodes may read it, if their operator is one of the pattern's.

    !  neither the rank nor the sizes may change, because the matcher compares the shape
    ~  the sizes may not change: the matcher accepts unit axes, but no constant of more elements
    ^  the sizes may not change; the rank may not change either if a size of the result is free. The matcher accepts
       unit axes only if onnxruntime's own inference knows the rank of the other operand, and it often knows less than
       graphfix

A version behind a mark, `~1.32`, is the first version of onnxruntime whose matcher compares that part. graphfix keeps
an operand if any measured version compares its shape, because a fixed model may run in any of these versions.

An operand without a mark may change. It may not be stretched to the run-time shape of a link, because that adds another
reader of the link.

Each line was measured: tests/targets/test_onnxruntime_fusions.py builds the patterns, changes one operand at a time,
and compares the fusions that onnxruntime makes (docs/decisions.md has the list).
"""

from __future__ import annotations

from itertools import product

from graphfix.results.records import dataclass
from graphfix.results.runtime_facts import EVERY, Versions, numbers


@dataclass(frozen=True, slots=True)
class Fusion:
    """A pattern of nodes that onnxruntime fuses into one operator."""

    name: str
    """The name of the fused operator, or of onnxruntime's rule if the rule leaves no operator."""
    pattern: str
    beside: str = ""
    """Lines that must match next to the pattern.

    Operands of these lines belong to another fusion and are not protected here.
    """
    until: int | None = None
    """The last operator set of a model in which onnxruntime makes this fusion; None: no limit."""
    versions: Versions = EVERY
    """The versions of onnxruntime in which this fusion was observed."""


_ERF = """
    d = Div(x, s:scalar!{1.41421356})
    e = Erf(d)
    a = Add(e | o:scalar!{1})
"""
_GELUS = (
    _ERF + "m = Mul(x | a)\n y = Mul(m | h:scalar!{0.5})",
    _ERF + "h = Mul(x | half:scalar!{0.5})\n y = Mul(h | a)",
)
_TANH = """
    t = Tanh(v)
    o = Add(t | one:scalar!{1})
    h = Mul(x | half:scalar!{0.5})
    y = Mul(h | o)
"""
_FAST_GELUS = (
    """
    p = Pow(x, e:scalar!{3})
    c = Mul(p | k:scalar!{0.044715})
    a = Add(x | c)
    v = Mul(a | r:scalar!{0.79788456})
"""
    + _TANH,
    """
    a = Mul(x | k:scalar!{0.044715})
    b = Mul(x | a)
    c = Add(b | e:scalar!{1})
    d = Mul(x | r:scalar!{0.79788456})
    v = Mul(d | c)
"""
    + _TANH,
)
_BIAS = "x = Add(before | bias:last!)\n"
_ROOT = """
    p = Pow(d, two:one{2})
    v = ReduceMean(p)
    q = Add(v, eps:constant~1.32)
    r = Sqrt(q)
"""
_SCALED = """
    n = Div(d, r)
    s = Mul(n | g:vector!)
    y = Add(s | b:vector!)
"""
_NORMS = (
    "m = ReduceMean(x)\n d = Sub(x, m)\n" + _ROOT + _SCALED,
    "m = ReduceMean(x)\n d = Sub(x, m)\n f = Sub(x, m)\n" + _ROOT + _SCALED.replace("Div(d", "Div(f"),
)
_SUM = "x = Add(u:whole!, k:whole!)\n"
_LEFT = "c = Add(u, e:last!)\n x = Add(c, k:whole!)\n"
_RIGHT = "c = Add(u, e:last!)\n x = Add(k:whole!, c)\n"
_INTEGERS = "i = MatMulInteger(q, w)\n c = Cast(i)\n"
_DYNAMIC = "q, f = DynamicQuantizeLinear(x)\n" + _INTEGERS + "k = Mul(f, ws)\n m = Mul(c | k)\n"
_FLOAT = _INTEGERS + "k = Mul(f, ws)\n m = Mul(c | k)\n"
_CONV = "c = Conv(x, w:constant)\n"
_CHANNELS = {
    "y = Add(c, b:channels~)": EVERY,
    "y = Mul(c, b:channels~)": EVERY,
    "y = Mul(b:channels~, c)": Versions(since="1.30"),
    "y = Mul(c, b:number!)": EVERY,
}
"""Line that onnxruntime fuses into a convolution `c` -> the versions that fuse it."""
_FLOATS = {"float": EVERY, "float64": Versions(since="1.30")}
"""Type of a product's first operand -> the versions that fuse the product with a scale."""
_SCALES = ("y = Mul(t | s:one^)", "y = Div(t, s:one^)")


def _after(first: str, second: str, link: str) -> str:
    """Return the pattern of two lines that read `link`; in the pattern the second line reads the first one's result."""
    before = first.replace("y =", "m =").replace("b:", "e:").replace("s:", "e:")
    return f"{before}\n" + second.replace(f"({link}", "(m").replace(f", {link})", ", m)")


def _both(one: Versions, two: Versions) -> Versions:
    """Return the versions that are in both ranges; both ranges must be without an end."""
    return max(one, two, key=lambda versions: numbers(versions.since))


_HEADS = """
    qm = MatMul(x, wq)
    qa = Add(qm, bq:vector!)
    qr = Reshape(qa)
    qt = Transpose(qr)
    km = MatMul(x, wk)
    ka = Add(km, bk:vector!)
    kr = Reshape(ka)
    kt = Transpose(kr)
    vm = MatMul(x, wv)
    va = Add(vm, bv:vector!)
    vr = Reshape(va)
    vt = Transpose(vr)
    qk = MatMul(qt, kt)
    qd = Div(qk, c:scalar!)
    mm* = Mul(ms, far:scalar!)
    ma = Add(qd, mm)
    sm = Softmax(ma)
    sv = MatMul(sm, vt)
    st = Transpose(sv)
    sr = Reshape(st)
    om = MatMul(sr, wo)
    oa = Add(om, bo:vector!)
    y = Add(oa, x)
"""
_ATTENTIONS = tuple(
    mask + _HEADS for mask in ("mc = Cast(m)\n ms = Sub(one:scalar!{1}, mc)", "ms = Sub(one:scalar!{1}, m)")
)
"""The attention of BERT, which onnxruntime fuses up to operator set 12."""

FUSIONS = (
    *(Fusion("Attention", attention, until=12) for attention in _ATTENTIONS),
    *(Fusion("BiasGelu", _BIAS, gelu) for gelu in (*_GELUS, *_FAST_GELUS)),
    *(Fusion("BiasGelu", _BIAS, f"y = {gelu}(x)") for gelu in ("Gelu", "com.microsoft.Gelu")),
    *(Fusion("Gelu", gelu) for gelu in _GELUS),
    *(Fusion("FastGelu", gelu) for gelu in _FAST_GELUS),
    Fusion("QuickGelu", "a = Mul(x | k:scalar!)\n s = Sigmoid(a)\n y = Mul(x | s)"),
    *(Fusion("LayerNormalization", norm) for norm in _NORMS),
    Fusion("SimplifiedLayerNormalization", _ROOT + "n = Div(d, r)\n y = Mul(n | g:vector!)"),
    Fusion("SimplifiedLayerNormalization", _ROOT + "i = Div(o:one~{1}, r)\n n = Mul(d | i)\n y = Mul(n | g:vector!)"),
    *(
        Fusion("SkipLayerNormalization", added, norm)
        for added in (_LEFT, _RIGHT, _SUM)
        for norm in ("y = LayerNormalization(x)", *_NORMS)
    ),
    Fusion("Gemm", "m = MatMul(x:fixed, w:matrix!)\n y = Add(m | b:columns!)"),
    Fusion("Gemm", "m = MatMul(x:matrix, w:matrix)\n y = Add(m | b:row)"),
    Fusion("Gemm", "m = Gemm(a, w)\n y = Sum(m | b:row)"),
    *(
        Fusion("FusedMatMul", f"t = MatMul(q:{kind}, k)\n{scales}", versions=versions)
        for kind, versions in _FLOATS.items()
        for scales in (*_SCALES, *(_after(first, second, "t") for first, second in product(_SCALES, repeat=2)))
    ),
    *(
        Fusion("FusedMatMul", f"t = {scaled}\n y = MatMul(t | k)", versions=versions)
        for kind, versions in _FLOATS.items()
        for scaled in (f"Mul(q:{kind} | s:one^)", f"Div(q:{kind}, s:one^)")
    ),
    *(Fusion("Conv", _CONV + line, versions=versions) for line, versions in _CHANNELS.items()),
    *(
        Fusion("Conv", _CONV + _after(first, second, "c"), versions=_both(_CHANNELS[first], _CHANNELS[second]))
        for first, second in product(_CHANNELS, repeat=2)
    ),
    Fusion("DynamicQuantizeMatMul", _DYNAMIC + "y = Add(m | b:constant~)"),
    Fusion("DynamicQuantizeMatMul", _DYNAMIC),
    Fusion("MatMulIntegerToFloat", _FLOAT + "y = Add(m | b:constant~)"),
    Fusion("MatMulIntegerToFloat", _FLOAT),
    Fusion("NoopElimination", "y = Add(x:made | z:one^{0})"),
    Fusion("NoopElimination", "y = Sub(x:made, z:one^{0})"),
    Fusion("NoopElimination", "y = Mul(x:made | z:one^{1})"),
    Fusion("NoopElimination", "y = Div(x:made, z:one^{1})"),
    Fusion("DivMulFusion", "d = Div(o:one~{1}, x)\n y = Mul(d | k)"),
    Fusion("NotWhereFusion", "n* = Not(c)\n y = Where(n, x, k)", versions=Versions(since="1.30")),
)
"""All patterns, longer patterns first, because the first fusion that a change prevents is reported."""
RAREST = (
    "Softmax Erf Tanh Sqrt Sigmoid Gelu LayerNormalization DynamicQuantizeLinear MatMulInteger Not Conv Gemm MatMul Sub"
    " Div".split()
)
"""Operators from rare to frequent. The search for a pattern begins at the first of them that the pattern contains."""

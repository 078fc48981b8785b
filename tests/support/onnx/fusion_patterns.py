"""The patterns that onnxruntime fuses, in the notation: what is asked of each is which operand's shape it matches."""

from __future__ import annotations

GELU = "d = Div(@, s:const[]{1.4142135})\ne = Erf(d)\na = Add(e, one:const[]{1.0})\n"
NORM = (
    "m = ReduceMean(@, axes:const{-1})\nd = Sub(@, m)\np = Pow(d, two:const[]{2.0})\nv = ReduceMean(p, axes)\n"
    "q = Add(v, eps:const[]{1e-5})\nr = Sqrt(q)\nn = Div(d, r)\n"
)
RMS = (
    "p = Pow(x[2,3,8], two:const[]{2.0})\nv = ReduceMean(p, axes:const{-1})\nq = Add(v, eps:const[]{1e-5})\n"
    "r = Sqrt(q)\n"
)
DYNAMIC = (
    "q:uint8, s:float32[], z:uint8[] = DynamicQuantizeLinear(x[2,3,8])\n"
    "i:int32 = MatMulInteger(q, w:const:int8[8,4], z)\nc:float32 = Cast(i, to=1)\n"
)
IN = "x:float32 = DequantizeLinear(xq:uint8[2,3,8], xs:const[]{0.1}, xz:const:uint8[]{7})\n"
OUT = "yq:uint8 = QuantizeLinear(y, ys:const[]{0.2}, yz:const:uint8[]{3})\n"
CONV = "c = Conv(x[1,3,8,8], w:const[16,3,3,3], wb:const[16])\n"
HEADS = "t = MatMul(q[2,4,3,8], k[2,4,8,3])\n"

ATTENTION = """
m = ReduceMean(i[N,S,8], axes=[-1])
d = Sub(i, m)
p = Pow(d, two:const[]{2.0})
v = ReduceMean(p, axes=[-1])
q = Add(v, eps:const[]{1e-5})
r = Sqrt(q)
n = Div(d, r)
s = Mul(n, g:const[8])
x = Add(s, b:const[8])
qm = MatMul(x, wq:const[8,8])
qa = Add(qm, bq:const[8])
qr = Reshape(qa, heads:const{0,0,2,4})
qt = Transpose(qr, perm=[0,2,1,3])
km = MatMul(x, wk:const[8,8])
ka = Add(km, bk:const[8])
kr = Reshape(ka, heads)
kt = Transpose(kr, perm=[0,2,3,1])
vm = MatMul(x, wv:const[8,8])
va = Add(vm, bv:const[8])
vr = Reshape(va, heads)
vt = Transpose(vr, perm=[0,2,1,3])
qk = MatMul(qt, kt)
qd = Div(qk, c:const[]{2.0})
u:int64 = Unsqueeze(mask:int64[N,S], axes=[1])
w:int64 = Unsqueeze(u, axes=[2])
mc = Cast(w, to=1)
ms = Sub(one:const[]{1.0}, mc)
mm = Mul(ms, far:const[]{-10000.0})
ma = Add(qd, mm)
sm = Softmax(ma, axis=3)
sv = MatMul(sm, vt)
st = Transpose(sv, perm=[0,2,1,3])
sr = Reshape(st, whole:const{0,0,8})
om = MatMul(sr, wo:const[8,8])
oa = Add(om, bo:const[8])
y = Add(oa, x)
z = Abs(y)
"""

PATTERNS = {
    "Attention": ATTENTION,
    "Attention, a mask of numbers": ATTENTION.replace("int64", "float32")
    .replace("mc = Cast(w, to=1)\n", "")
    .replace("mc", "w"),
    "Attention of a newer operator set": ATTENTION.replace(", axes=[-1])", ", axes:const{-1})")
    .replace("axes=[1]", "first:const{1}")
    .replace("axes=[2]", "second:const{2}"),
    "Gelu": GELU.replace("@", "x[2,3,8]") + "m = Mul(x, a)\ny = Mul(m, h:const[]{0.5})",
    "Gelu, the half first": GELU.replace("@", "x[2,3,8]") + "h = Mul(x, half:const[]{0.5})\ny = Mul(h, a)",
    "Gelu, the half with the sum": GELU.replace("@", "x[2,3,8]") + "h = Mul(a, half:const[]{0.5})\ny = Mul(x, h)",
    "Gelu of [1]": GELU.replace("@", "x[2,3,8]").replace("[]", "[1]") + "m = Mul(x, a)\ny = Mul(m, h:const[1]{0.5})",
    "Gelu by a product": GELU.replace("@", "x[2,3,8]").replace("Div", "Mul").replace("1.4142135", "0.70710678")
    + "m = Mul(x, a)\ny = Mul(m, h:const[]{0.5})",
    "Gelu, constants first": "d = Div(x[2,3,8], s:const[]{1.4142135})\ne = Erf(d)\na = Add(one:const[]{1.0}, e)\n"
    "m = Mul(a, x)\ny = Mul(h:const[]{0.5}, m)",
    "BiasGelu": "x = Add(i[2,3,8], b:const[8])\n"
    + GELU.replace("@", "x")
    + "m = Mul(x, a)\ny = Mul(m, h:const[]{0.5})",
    "BiasGelu, bias first": "x = Add(b:const[8], i[2,3,8])\n"
    + GELU.replace("@", "x")
    + "m = Mul(x, a)\ny = Mul(m, h:const[]{0.5})",
    "BiasGelu, the operator": "x = Add(i[2,3,8], b:const[8])\ny = Gelu(x)",
    "BiasGelu, the operator of a vector": "x = Add(i[2,3,8], b[8])\ny = Gelu(x)",
    "BiasGelu, com.microsoft": "x = Add(i[2,3,8], b:const[8])\ny = com.microsoft.Gelu(x)",
    "FastGelu by powers": "p = Pow(x[2,3,8], three:const[]{3.0})\nc = Mul(p, k:const[]{0.044715})\na = Add(x, c)\n"
    "m = Mul(a, r:const[]{0.7978846})\nt = Tanh(m)\no = Add(t, one:const[]{1.0})\n"
    "h = Mul(x, half:const[]{0.5})\ng = Mul(h, o)\ny = Abs(g)",
    "FastGelu by products": "a = Mul(x[2,3,8], k:const[]{0.044715})\nb = Mul(x, a)\nc = Add(b, one:const[]{1.0})\n"
    "d = Mul(x, r:const[]{0.7978846})\ne = Mul(d, c)\nt = Tanh(e)\no = Add(t, one)\n"
    "h = Mul(x, half:const[]{0.5})\ng = Mul(h, o)\ny = Abs(g)",
    "FastGelu by products with a bias": "x = Add(i[2,3,8], bias:const[8])\na = Mul(x, k:const[]{0.044715})\n"
    "b = Mul(x, a)\nc = Add(b, one:const[]{1.0})\nd = Mul(x, r:const[]{0.7978846})\ne = Mul(d, c)\nt = Tanh(e)\n"
    "o = Add(t, one)\nh = Mul(x, half:const[]{0.5})\ng = Mul(h, o)\ny = Abs(g)",
    "FastGelu with a bias": "x = Add(i[2,3,8], b:const[8])\np = Pow(x, three:const[]{3.0})\n"
    "c = Mul(p, k:const[]{0.044715})\na = Add(x, c)\nm = Mul(a, r:const[]{0.7978846})\nt = Tanh(m)\n"
    "o = Add(t, one:const[]{1.0})\nh = Mul(x, half:const[]{0.5})\ng = Mul(h, o)\ny = Abs(g)",
    "QuickGelu, product first": "a = Mul(k:const[]{1.702}, x[2,3,8])\ns = Sigmoid(a)\ny = Mul(s, x)",
    "FastGelu, constants first": "p = Pow(x[2,3,8], three:const[]{3.0})\nc = Mul(k:const[]{0.044715}, p)\n"
    "a = Add(x, c)\nm = Mul(r:const[]{0.7978846}, a)\nt = Tanh(m)\no = Add(one:const[]{1.0}, t)\n"
    "h = Mul(half:const[]{0.5}, x)\ng = Mul(h, o)\ny = Abs(g)",
    "FastGelu, half last": "p = Pow(x[2,3,8], three:const[]{3.0})\nc = Mul(p, k:const[]{0.044715})\na = Add(x, c)\n"
    "m = Mul(a, r:const[]{0.7978846})\nt = Tanh(m)\no = Add(t, one:const[]{1.0})\n"
    "h = Mul(x, o)\ng = Mul(h, half:const[]{0.5})\ny = Abs(g)",
    "QuickGelu": "a = Mul(x[2,3,8], k:const[]{1.702})\ns = Sigmoid(a)\ny = Mul(x, s)",
    "QuickGelu of [1]": "a = Mul(x[2,3,8], k:const[1]{1.702})\ns = Sigmoid(a)\ny = Mul(x, s)",
    "LayerNormalization": NORM.replace("@", "x[2,3,8]") + "s = Mul(n, g:const[8])\ny = Add(s, b:const[8])",
    "LayerNormalization, free sizes": NORM.replace("@", "x[N,S,8]") + "s = Mul(n, g:const[8])\ny = Add(s, b:const[8])",
    "LayerNormalization, constants first": NORM.replace("@", "x[2,3,8]")
    + "s = Mul(g:const[8], n)\ny = Add(b:const[8], s)",
    "LayerNormalization by a product": NORM.replace("@", "x[2,3,8]").replace("Pow(d, two:const[]{2.0})", "Mul(d, d)")
    + "s = Mul(n, g:const[8])\ny = Add(s, b:const[8])",
    "LayerNormalization without a bias": NORM.replace("@", "x[2,3,8]") + "y = Mul(n, g:const[8])",
    "LayerNormalization of two axes": NORM.replace("@", "x[2,3,8]").replace("{-1}", "{-2,-1}")
    + "s = Mul(n, g:const[3,8])\ny = Add(s, b:const[3,8])",
    "LayerNormalization, two differences": "m = ReduceMean(x[2,3,8], axes:const{-1})\nd = Sub(x, m)\nf = Sub(x, m)\n"
    "p = Pow(f, two:const[]{2.0})\nv = ReduceMean(p, axes)\nq = Add(v, eps:const[]{1e-5})\nr = Sqrt(q)\n"
    "n = Div(d, r)\ns = Mul(n, g:const[8])\ny = Add(s, b:const[8])",
    "SimplifiedLayerNormalization": RMS + "n = Div(x, r)\ny = Mul(n, g:const[8])",
    "SimplifiedLayerNormalization behind a Cast": RMS + "n = Div(x, r)\nc = Cast(n, to=1)\ny = Mul(g:const[8], c)",
    "SimplifiedLayerNormalization, scale first": RMS + "n = Div(x, r)\ny = Mul(g:const[8], n)",
    "SimplifiedLayerNormalization by a reciprocal": RMS + "i = Reciprocal(r)\nn = Mul(x, i)\ny = Mul(g:const[8], n)",
    "SimplifiedLayerNormalization by a quotient": RMS
    + "i = Div(one:const[]{1.0}, r)\nn = Mul(x, i)\ny = Mul(n, g:const[8])",
    "SkipLayerNormalization": "a = Add(x[2,3,8], k[2,3,8])\ny = LayerNormalization(a, g:const[8], b:const[8])",
    "SkipLayerNormalization, no bias": "a = Add(x[2,3,8], k[2,3,8])\ny = LayerNormalization(a, g:const[8])",
    "SkipLayerNormalization, skip of one": "a = Add(x[2,3,8], k[1,3,8])\n"
    "y = LayerNormalization(a, g:const[8], b:const[8])",
    "SkipLayerNormalization, skip of rank 2": "a = Add(x[2,3,8], k[3,8])\n"
    "y = LayerNormalization(a, g:const[8], b:const[8])",
    "SkipLayerNormalization, constant skip": "a = Add(x[2,3,8], k:const[3,8])\n"
    "y = LayerNormalization(a, g:const[8], b:const[8])",
    "SkipLayerNormalization, constant of rank 3": "a = Add(x[2,3,8], k:const[1,3,8])\n"
    "y = LayerNormalization(a, g:const[8], b:const[8])",
    "SkipLayerNormalization, bias on the left": "c = Add(x[2,3,8], e:const[8])\na = Add(c, k[2,3,8])\n"
    "y = LayerNormalization(a, g:const[8], b:const[8])",
    "SkipLayerNormalization, bias on the right": "c = Add(x[2,3,8], e:const[8])\na = Add(k[2,3,8], c)\n"
    "y = LayerNormalization(a, g:const[8], b:const[8])",
    "SkipLayerNormalization, bias first": "c = Add(e:const[8], x[2,3,8])\na = Add(k[2,3,8], c)\n"
    "y = LayerNormalization(a, g:const[8], b:const[8])",
    "SkipLayerNormalization, free sizes": "c = Add(x[N,S,8], e:const[8])\na = Add(c, k[N,S,8])\n"
    "y = LayerNormalization(a, g:const[8], b:const[8])",
    "SkipLayerNormalization, written out": "x = Add(i[2,3,8], k[2,3,8])\n"
    + NORM.replace("@", "x")
    + "s = Mul(n, g:const[8])\ny = Add(s, b:const[8])",
    "SkipLayerNormalization after a product": "u = MatMul(x[2,3,4], w:const[4,8])\nc = Add(u, e:const[8])\n"
    "a = Add(c, k[2,3,8])\ny = LayerNormalization(a, g:const[8], b:const[8])",
    "MatMulAdd of matrices": "m = MatMul(x[3,8], w:const[8,4])\ny = Add(m, b:const[4])",
    "MatMulAdd of matrices, free rows": "m = MatMul(x[N,8], w:const[8,4])\ny = Add(m, b:const[4])",
    "MatMulAdd of matrices, a row": "m = MatMul(x[3,8], w:const[8,4])\ny = Add(m, b:const[1,4])",
    "MatMulAdd of matrices, a free row": "m = MatMul(x[N,8], w:const[8,4])\ny = Add(m, b:const[1,4])",
    "MatMulAdd of matrices, a column": "m = MatMul(x[3,8], w:const[8,4])\ny = Add(m, b:const[3,1])",
    "MatMulAdd of matrices, a vector": "m = MatMul(x[3,8], w:const[8,4])\ny = Add(m, b[4])",
    "MatMulAdd of matrices, a scalar": "m = MatMul(x[3,8], w:const[8,4])\ny = Add(m, b:const[])",
    "MatMulAdd": "m = MatMul(x[2,3,8], w:const[8,4])\ny = Add(m, b:const[4])",
    "MatMulAdd, bias first": "m = MatMul(x[2,3,8], w:const[8,4])\ny = Add(b:const[4], m)",
    "MatMulAdd, a bias of one element": "m = MatMul(x[2,3,8], w:const[8,4])\ny = Add(m, b:const[1]{3.0})",
    "BiasGelu, a bias of one element": "x = Add(i[2,3,8], b:const[1]{3.0})\ny = com.microsoft.Gelu(x)",
    "SkipLayerNormalization, a bias of one element": "c = Add(x[2,3,8], e:const[1]{3.0})\na = Add(c, k[2,3,8])\n"
    "y = LayerNormalization(a, g:const[8], b:const[8])",
    "LayerNormalization, a scale of one element": NORM.replace("@", "x[2,3,8]")
    + "s = Mul(n, g:const[1]{3.0})\ny = Add(s, b:const[8])",
    "SimplifiedLayerNormalization, a scale of one element": RMS + "n = Div(x, r)\ny = Mul(n, g:const[1]{3.0})",
    "LayerNormalization, both of one element": NORM.replace("@", "x[2,3,8]")
    + "s = Mul(n, g:const[1]{3.0})\ny = Add(s, b:const[1]{3.0})",
    "MatMulAdd, a vector": "m = MatMul(x[2,3,8], w:const[8,4])\ny = Add(m, b[4])",
    "MatMulAdd, a weight that is computed": "m = MatMul(x[2,3,8], w[8,4])\ny = Add(m, b:const[4])",
    "MatMulAdd, a weight of one column": "m = MatMul(x[2,3,8], w:const[8,1])\ny = Add(m, b:const[1])",
    "MatMulAdd, free sizes": "m = MatMul(x[N,3,8], w:const[8,4])\ny = Add(m, b:const[4])",
    "MatMulAdd, an activation": "m = MatMul(x[2,3,8], w:const[8,4])\na = Add(m, b:const[4])\ny = Relu(a)",
    "MatMulAdd, two readers": "m = MatMul(x[2,3,8], w:const[8,4])\ny = Add(m, b:const[4])\nz = Relu(m)",
    "MatMulAdd of float64": "m:float64 = MatMul(x:float64[2,3,8], w:const:float64[8,4])\n"
    "y:float64 = Add(m, b:const:float64[4])",
    "MatMulAdd of a constant": "m = MatMul(w:const[2,3,8], x[8,4])\ny = Add(m, b:const[4])",
    "GemmSum": "g = Gemm(x[3,8], w:const[8,4])\ny = Sum(g, b:const[4])",
    "GemmSum, free rows": "g = Gemm(x[N,8], w:const[8,4])\ny = Sum(g, b:const[4])",
    "GemmSum, two": "g = Gemm(x[3,8], w:const[8,4])\ny = Sum(g, k[3,4])",
    "GemmSum, Add": "g = Gemm(x[3,8], w:const[8,4])\ny = Add(g, k[3,4])",
    "MatMulScale after": HEADS + "y = Mul(t, s:const[]{0.5})",
    "MatMulScale by a quotient": HEADS + "y = Div(t, s:const[]{2.0})",
    "MatMulScale before": "a = Mul(q[2,4,3,8], s:const[]{0.5})\ny = MatMul(a, k[2,4,8,3])",
    "MatMulScale before, the right": "a = Mul(k[2,4,8,3], s:const[]{0.5})\ny = MatMul(q[2,4,3,8], a)",
    "MatMulScale of [1]": HEADS + "y = Mul(t, s:const[1]{0.5})",
    "MatMulScale of [1,1]": HEADS + "y = Mul(t, s:const[1,1]{0.5})",
    "MatMulScale, scalar first": HEADS + "y = Mul(s:const[]{0.5}, t)",
    "MatMulScale, the reciprocal": HEADS + "y = Div(s:const[]{2.0}, t)",
    "MatMulScale of a vector": HEADS + "y = Mul(t, s:const[3])",
    "MatMulScale before, a quotient": "a = Div(q[2,4,3,8], s:const[]{0.5})\ny = MatMul(a, k[2,4,8,3])",
    "MatMulScale of float64": "t:float64 = MatMul(q:float64[2,4,3,8], k:float64[2,4,8,3])\n"
    "y:float64 = Mul(t, s:const:float64[]{0.5})",
    "MatMulScale before, two readers": "a = Mul(q[2,4,3,8], s:const[]{0.5})\ny = MatMul(a, k[2,4,8,3])\nz = Relu(a)",
    "MatMulScale after, two readers": HEADS + "y = Mul(t, s:const[]{0.5})\nz = Relu(t)",
    "MatMulScale of an input": HEADS + "y = Mul(t, s[])",
    "MatMulScale of a weight": "t = MatMul(q[2,3,8], w:const[8,4])\ny = Mul(t, s:const[]{0.5})",
    "MatMulScale, transposed": "r = Transpose(k[2,4,3,8], perm=[0,1,3,2])\nt = MatMul(q[2,4,3,8], r)\n"
    "y = Mul(t, s:const[]{0.5})",
    "MatMulScale, two factors": HEADS + "u = Mul(t, r:const[]{3.0})\ny = Div(u, s:const[]{0.5})",
    "MatMulScale of free sizes": "t = MatMul(q[N,4,S,8], k[N,4,8,S])\nu = Mul(t, r:const[]{3.0})\n"
    "y = Div(u, s:const[]{0.5})",
    "MatMulScale, a computed scalar": HEADS + "f = Sqrt(e:const[]{3.0})\ny = Div(t, f)",
    "MatMulScale behind an Identity": HEADS + "i = Identity(t)\ny = Mul(i, s:const[]{0.5})",
    "BiasSoftmax": HEADS + "a = Add(t, m[2,1,1,3])\ny = Softmax(a, axis=-1)",
    "BiasSoftmax of a vector": HEADS + "a = Add(t, m[3])\ny = Softmax(a, axis=-1)",
    "ConvAdd": CONV + "y = Add(c, b:const[16,1,1])\nz = Relu(y)",
    "ConvAdd of rank 4": CONV + "y = Add(c, b:const[1,16,1,1])\nz = Relu(y)",
    "ConvAdd of a constant that is computed": CONV + "r = Reshape(b:const[16], to:const{1,16,1,1})\ny = Add(c, r)\n"
    "z = Relu(y)",
    "ConvAdd, constant first": CONV + "y = Add(b:const[16,1,1], c)\nz = Relu(y)",
    "ConvAdd of a scalar": CONV + "y = Add(c, b:const[])\nz = Relu(y)",
    "ConvAdd, a single channel": "c = Conv(x[1,3,8,8], w:const[1,3,3,3])\ny = Add(c, b:const[1])\nz = Relu(y)",
    "ConvAdd without a bias": "c = Conv(x[1,3,8,8], w:const[16,3,3,3])\ny = Add(c, b:const[16,1,1])\nz = Relu(y)",
    "ConvMul": CONV + "y = Mul(c, b:const[16,1,1])\nz = Relu(y)",
    "ConvMul of rank 4": CONV + "y = Mul(c, b:const[1,16,1,1])\nz = Relu(y)",
    "ConvMul of a scalar": CONV + "y = Mul(c, b:const[]{2.0})\nz = Relu(y)",
    "ConvMul of [1]": CONV + "y = Mul(c, b:const[1]{2.0})\nz = Relu(y)",
    "ConvMul of [1,1,1,1]": CONV + "y = Mul(c, b:const[1,1,1,1]{2.0})\nz = Relu(y)",
    "ConvMul of channels, constant first": CONV + "y = Mul(b:const[16,1,1], c)\nz = Relu(y)",
    "ConvMul of a column": CONV + "y = Mul(c, b:const[6,1])\nz = Relu(y)",
    "ConvMul of a weight that is computed": "c = Conv(x[1,3,8,8], w[16,3,3,3])\ny = Mul(c, b:const[]{2.0})\n"
    "z = Relu(y)",
    "ConvMul, two readers": CONV + "y = Mul(c, b:const[]{2.0})\nz = Relu(c)",
    "ConvAdd of free sizes": "c = Conv(x[N,3,H,W], w:const[16,3,3,3])\ny = Add(c, b:const[16,1,1])\nz = Relu(y)",
    "ConvMul, constant first": CONV + "y = Mul(b:const[]{2.0}, c)\nz = Relu(y)",
    "ConvMul of one axis": "c = Conv(x[1,3,8], w:const[16,3,3])\ny = Mul(c, b:const[]{2.0})\nz = Relu(y)",
    "Conv with squeeze and excitation": CONV
    + "p = GlobalAveragePool(c)\nf = Conv(p, w2:const[16,16,1,1])\ng = Sigmoid(f)\ny = Mul(c, g)\n"
    "z = Conv(y, w3:const[16,16,1,1])",
    "Conv, hard sigmoid": CONV + "a = Add(c, three:const[]{3.0})\nl = Clip(a, lo:const[]{0.0}, hi:const[]{6.0})\n"
    "d = Div(l, six:const[]{6.0})\ny = Mul(c, d)\nz = Conv(y, w3:const[16,16,1,1])",
    "Conv, sum": CONV + "d = Conv(x, w2:const[16,3,3,3])\ny = Add(c, d)\nz = Relu(y)",
    "Conv, sum of one pixel": CONV + "d = Conv(x, w2:const[16,3,8,8])\ny = Add(c, d)\nz = Relu(y)",
    "ConvBatchNormalization by a product": CONV + "m = Mul(c, g:const[1,16,1,1])\ny = Add(m, b:const[1,16,1,1])",
    "no-op Add": "r = Relu(x[2,3,8])\na = Add(r, z:const[]{0.0})\ny = Abs(a)",
    "no-op Add of [1]": "r = Relu(x[2,3,8])\na = Add(r, z:const[1]{0.0})\ny = Abs(a)",
    "no-op Mul": "r = Relu(x[2,3,8])\na = Mul(r, z:const[]{1.0})\ny = Abs(a)",
    "no-op Div": "r = Relu(x[2,3,8])\na = Div(r, z:const[]{1.0})\ny = Abs(a)",
    "no-op Sub": "r = Relu(x[2,3,8])\na = Sub(r, z:const[]{0.0})\ny = Abs(a)",
    "no-op Mul, constant first": "r = Relu(x[2,3,8])\na = Mul(z:const[]{1.0}, r)\ny = Abs(a)",
    "no-op Add of a vector": "r = Relu(x[2,3,8])\na = Add(r, z:const[8]{0.0,0.0,0.0,0.0,0.0,0.0,0.0,0.0})\ny = Abs(a)",
    "no-op Mul of an input, for an output": "y = Mul(x[2,3,8], z:const[]{1.0})",
    "no-op Mul for an output": "r = Relu(x[2,3,8])\ny = Mul(r, z:const[]{1.0})",
    "no-op Mul of an input": "r = Mul(x[2,3,8], z:const[]{1.0})\ny = Relu(r)",
    "no-op Add of integers": "r:int64 = Abs(x:int64[2,3,8])\na:int64 = Add(r, z:const:int64[]{0})\ny:int64 = Abs(a)",
    "no-op Add of a higher rank": "r = Relu(x[8])\na = Add(r, z:const[1,1]{0.0})\ny = Abs(a)",
    "no-op Add of free sizes": "r = Relu(x[N,8])\na = Add(r, z:const[]{0.0})\ny = Abs(a)",
    "DivMul": "d = Div(one:const[]{1.0}, x[2,3,8])\nm = Mul(d, k[2,3,8])\ny = Abs(m)",
    "DivMul of [1]": "d = Div(one:const[1]{1.0}, x[2,3,8])\nm = Mul(d, k[2,3,8])\ny = Abs(m)",
    "DivMul of a lower rank": "d = Div(one:const[]{1.0}, x[8])\nm = Mul(d, k[2,3,8])\ny = Abs(m)",
    "DivMul, the other order": "d = Div(one:const[]{1.0}, x[2,3,8])\nm = Mul(k[2,3,8], d)\ny = Abs(m)",
    "NotWhere": "n:bool = Not(c:bool[8])\nw = Where(n, x[2,3,8], k[2,3,8])\ny = Abs(w)",
    "NotWhere of free sizes": "n:bool = Not(c:bool[N,1])\nw = Where(n, x[N,S], k:const[])\ny = Abs(w)",
    "NotWhere beside another reader": "n:bool = Not(c:bool[8])\nw = Where(n, x[2,3,8], k[2,3,8])\n"
    "v:bool = And(n, m:bool[8])\nu = Where(v, w, k)",
    "NotWhere for two": "n:bool = Not(c:bool[8])\nw = Where(n, x[2,3,8], k[2,3,8])\nv = Where(n, k, x)\ny = Add(w, v)",
    "DynamicQuantizeMatMul": DYNAMIC + "y = Mul(c, s)",
    "DynamicQuantizeMatMul, a scale": DYNAMIC + "k = Mul(s, ws:const[]{0.5})\ny = Mul(c, k)",
    "DynamicQuantizeMatMul, a scale of [1]": DYNAMIC + "k = Mul(s, ws:const[1]{0.5})\ny = Mul(c, k)",
    "DynamicQuantizeMatMul, scales": DYNAMIC + "k = Mul(s, ws:const[4])\ny = Mul(c, k)",
    "DynamicQuantizeMatMul, bias": DYNAMIC + "k = Mul(s, ws:const[4])\nm = Mul(c, k)\ny = Add(m, b:const[4])",
    "DynamicQuantizeMatMul, scale first": DYNAMIC + "k = Mul(ws:const[4], s)\nm = Mul(k, c)\ny = Add(b:const[4], m)",
    "MatMulIntegerToFloat": "i:int32 = MatMulInteger(q:uint8[2,3,8], w:const:int8[8,4], z:uint8[])\n"
    "c:float32 = Cast(i, to=1)\nk = Mul(s[], ws:const[]{0.5})\nm = Mul(c, k)\ny = Add(m, b:const[4])",
    "QLinearAdd": IN
    + "k:float32 = DequantizeLinear(kq:const:uint8[8], ks:const[]{0.3}, kz:const:uint8[]{1})\ny = Add(x, k)\n"
    + OUT,
    "QLinearAdd of an input": IN
    + "k:float32 = DequantizeLinear(kq:uint8[8], ks:const[]{0.3}, kz:const:uint8[]{1})\ny = Add(x, k)\n"
    + OUT,
    "QLinearAdd of one rank": IN
    + "k:float32 = DequantizeLinear(kq:uint8[1,1,8], ks:const[]{0.3}, kz:const:uint8[]{1})\ny = Add(x, k)\n"
    + OUT,
    "QLinearMul": IN
    + "k:float32 = DequantizeLinear(kq:const:uint8[], ks:const[]{0.3}, kz:const:uint8[]{1})\ny = Mul(x, k)\n"
    + OUT,
    "QLinearWhere": IN + "k:float32 = DequantizeLinear(kq:uint8[1,3,8], ks:const[]{0.3}, kz:const:uint8[]{1})\n"
    "y = Where(c:bool[8], x, k)\n" + OUT,
    "QLinearMatMul": IN
    + "k:float32 = DequantizeLinear(kq:uint8[8,4], ks:const[]{0.3}, kz:const:uint8[]{1})\ny = MatMul(x, k)\n"
    + OUT,
    "QLinearMatMul of a constant": IN
    + "k:float32 = DequantizeLinear(kq:const:uint8[1,8,4], ks:const[]{0.3}, kz:const:uint8[]{1})\ny = MatMul(x, k)\n"
    + OUT,
    "QGemm": "x:float32 = DequantizeLinear(xq:uint8[3,8], xs:const[]{0.1}, xz:const:uint8[]{7})\n"
    "k:float32 = DequantizeLinear(kq:const:uint8[8,4], ks:const[]{0.3}, kz:const:uint8[]{1})\n"
    "b:float32 = DequantizeLinear(bq:const:int32[4], bs:const[]{0.03}, bz:const:int32[]{0})\n"
    "y = Gemm(x, k, b)\n" + OUT,
    "QDQ MatMulAdd": IN + "k:float32 = DequantizeLinear(kq:const:uint8[8,4], ks:const[]{0.3}, kz:const:uint8[]{1})\n"
    "m = MatMul(x, k)\nb:float32 = DequantizeLinear(bq:const:int32[4], bs:const[]{0.03}, bz:const:int32[]{0})\n"
    "y = Add(m, b)\n" + OUT,
    "Transpose through a bias": "t = Transpose(x[2,3,8], perm=[0,2,1])\na = Add(t, b:const[3])\n"
    "y = Transpose(a, perm=[0,2,1])",
    "sum of embeddings": "w = Gather(we:const[20,8], ids:int64[2,3])\n"
    "p = Gather(pe:const[10,8], at:const:int64[1,3]{0,1,2})\nt = Gather(te:const[2,8], seg:int64[2,3])\n"
    "a = Add(w, t)\nb = Add(a, p)\ny = LayerNormalization(b, g:const[8], o:const[8])",
    "sum of embeddings without segments": "w = Gather(we:const[20,8], ids:int64[2,3])\n"
    "p = Gather(pe:const[10,8], at:const:int64[1,3]{0,1,2})\nb = Add(w, p)\n"
    "y = LayerNormalization(b, g:const[8], o:const[8])",
    "sum of embeddings, a constant of positions": "w = Gather(we:const[20,8], ids:int64[2,3])\n"
    "t = Gather(te:const[2,8], seg:int64[2,3])\na = Add(w, t)\nb = Add(a, p:const[1,3,8])\n"
    "y = LayerNormalization(b, g:const[8], o:const[8])",
}
"""What is asked by the name of the fusion and of the variant."""
OPSETS = {
    "Attention": 12,
    "Attention, a mask of numbers": 12,
    "BiasGelu, the operator": 20,
    "BiasGelu, the operator of a vector": 20,
    "QLinearWhere": 18,
}
CAUTIOUS = {
    # where sizes are free, onnxruntime often does not know the rank beside a scalar
    "Attention of a newer operator set": {("equalize-ranks", "qd", 1)},
    "MatMulScale of free sizes": {("equalize-ranks", "u", 1), ("equalize-ranks", "y", 1)},
    "no-op Add of free sizes": {("equalize-ranks", "a", 1)},
    # a scale and a bias of different sizes are no LayerNormalization; nobody writes it
    "LayerNormalization, a scale of one element": {
        ("materialize-broadcasts", "d", 1),
        ("equalize-ranks", "y", 1),
        ("materialize-broadcasts", "y", 1),
    },
}
"""What is left though a change of it alone ends nothing."""

"""The sizes that the proof knows of standard operators, as text in and text out; `?` is a size that is not known.

The numbers are those of the operators' specifications; `test_shapes.py` compares the rules with onnxruntime.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from graphfix.checker.proof.core.result import SOME_IMAGE, SOME_PIXELS, SOME_TERMS
from tests.support.shown_results import agree, assumed, results, without_a_rank

if TYPE_CHECKING:
    from pathlib import Path

IMAGE = "float[N,3,9,W] x, float[5,3,3,2] w"
PLANE = "float[N,3,9,8] x"
FILTERS = "float[N,4,9,W] x, float[4,5,3,3] w"
POINTS = ", uint8 p, uint8[N] z"
"""A zero point for all, and one for each column: which the terms of products leave to the rule of sizes."""
LSTM = "float[S,B,4] x, float[1,20,4] w, float[1,20,5] r"
BOTH = "float[S,B,4] x, float[2,20,4] w, float[2,20,5] r"
REGIONS = "float[N,3,9,8] x, float[R,4] r, int64[R] i"


def ints(name: str, *numbers: int) -> str:
    return f"{name} = Constant<value_ints = [{', '.join(map(str, numbers))}]>() "


WINDOWS: dict[str, tuple[str, str, list[str]]] = {
    "strides, gaps and pads": (
        IMAGE, "Conv<strides = [2, 1], dilations = [1, 2], pads = [1, 0, 2, 1]>(x, w)", ["float[N,5,5,W-1]"]),
    "a stride over a symbol": (IMAGE, "Conv<strides = [1, 2]>(x, w)", ["float[N,5,7,floor((W)/2)]"]),
    "as many as elements": (IMAGE, 'Conv<auto_pad = "SAME_UPPER">(x, w)', ["float[N,5,9,W]"]),
    "a part of the elements": (
        IMAGE, 'Conv<auto_pad = "SAME_LOWER", strides = [2, 1]>(x, w)', ["float[N,5,5,W]"]),
    "as many as elements, with gaps": (
        IMAGE, 'Conv<auto_pad = "SAME_UPPER", dilations = [2, 2]>(x, w)', ["float[N,5,?,?]"]),
    "as many as elements, rounded up": (
        PLANE, 'MaxPool<kernel_shape = [2, 2], auto_pad = "SAME_UPPER", ceil_mode = 1>(x)', ["float[N,3,?,?]"]),
    "no padding": (IMAGE, 'Conv<auto_pad = "VALID">(x, w)', ["float[N,5,7,W-1]"]),
    "an odd padding": (IMAGE, 'Conv<auto_pad = "SAME">(x, w)', ["float[N,5,?,?]"]),
    "too few strides": (IMAGE, "Conv<strides = [1]>(x, w)", ["float[N,5,?,?]"]),
    "too few gaps": (IMAGE, "Conv<dilations = [1]>(x, w)", ["float[N,5,?,?]"]),
    "too few pads": (IMAGE, "Conv<pads = [1, 1]>(x, w)", ["float[N,5,?,?]"]),
    "no stride": (IMAGE, "Conv<strides = [0, 1]>(x, w)", ["float[N,5,?,?]"]),
    "no gap": (IMAGE, "Conv<dilations = [1, 0]>(x, w)", ["float[N,5,?,?]"]),
    "a negative pad": (IMAGE, "Conv<pads = [1, 1, -1, 1]>(x, w)", ["float[N,5,?,?]"]),
    "filters of no size": ("float[N,3,9,8] x, float[5,3,0,3] w", "Conv(x, w)", ["float[N,5,?,?]"]),
    "filters of a free size": ("float[N,3,9,8] x, float[M,3,K,3] w", "Conv(x, w)", ["float[N,M,?,?]"]),
    "filters of another rank": ("float[N,3,9,8] x, float[5,3,3] w", "Conv(x, w)", ["float[N,?,?,?]"]),
    "filters of no rank": ("float[N,3,9,8] x, float[] w", "Conv(x, w)", ["float[N,?,?,?]"]),
    "an image without an axis": ("float[N,3] x, float[5,3] w", "Conv(x, w)", ["float[*]"]),
    "a kernel as large as the image": (PLANE, "MaxPool<kernel_shape = [9, 8]>(x)", ["float[N,3,1,1]"]),
    "a kernel larger than the image": (PLANE, "MaxPool<kernel_shape = [10, 8]>(x)", ["float[N,3,?,1]"]),
    "a pool and its indices": (
        PLANE, "MaxPool<kernel_shape = [2, 3], strides = [2, 2]>(x)", ["float[N,3,4,3]", "int64[N,3,4,3]"]),
    "a pool that rounds up": (
        PLANE, "MaxPool<kernel_shape = [2, 3], strides = [2, 2], ceil_mode = 1>(x)", ["float[N,3,5,4]"]),
    "a pool whose last window starts behind the end": (
        PLANE, "MaxPool<kernel_shape = [1, 1], strides = [3, 5], ceil_mode = 1>(x)", ["float[N,3,?,?]"]),
    "a pool whose last window starts at the last element": (
        PLANE, "MaxPool<kernel_shape = [2, 3], strides = [4, 7], ceil_mode = 1>(x)", ["float[N,3,3,2]"]),
    "a pad in front moves the last window": (
        "float[N,3,3] x", "MaxPool<kernel_shape = [2], strides = [3], pads = [1, 0], ceil_mode = 1>(x)",
        ["float[N,3,2]"]),
    "a pool without padding that rounds up": (
        PLANE, 'MaxPool<kernel_shape = [3, 3], strides = [2, 2], auto_pad = "VALID", ceil_mode = 1>(x)',
        ["float[N,3,4,?]"]),
    "an odd rounding": (PLANE, "MaxPool<kernel_shape = [2, 2], ceil_mode = 2>(x)", ["float[N,3,?,?]"]),
    "an odd rounding of a symbol": (
        "float[N,3,W] x", "MaxPool<kernel_shape = [2], ceil_mode = 2>(x)", ["float[N,3,?]"]),
    "a pool of a symbol that rounds up": (
        "float[N,3,W] x", "MaxPool<kernel_shape = [2], ceil_mode = 1>(x)", ["float[N,3,?]"]),
    "a pool of a symbol": ("float[N,3,W] x", "MaxPool<kernel_shape = [1]>(x)", ["float[N,3,W]"]),
    "a pool of a symbol in steps": (
        "float[N,3,W] x", "MaxPool<kernel_shape = [2], strides = [2], pads = [1, 0]>(x)",
        ["float[N,3,-floor((W)/2)+W]"]),
    "a pool of a symbol that a window may not fit": (
        "float[N,3,W] x", "MaxPool<kernel_shape = [2]>(x)", ["float[N,3,?]"]),
    "a padded pool of a symbol": (
        "float[N,3,W] x", "MaxPool<kernel_shape = [3], pads = [1, 1]>(x)", ["float[N,3,W]"]),
    "a pool of a symbol of as many": (
        "float[N,3,W] x", 'AveragePool<kernel_shape = [3], auto_pad = "SAME_UPPER">(x)', ["float[N,3,W]"]),
    "an odd padding of a symbol": ("float[N,3,W] x", 'LpPool<kernel_shape = [2], auto_pad = "X">(x)', ["float[N,3,?]"]),
    "a pool of nothing": ("float[N,3,0] x", "MaxPool<kernel_shape = [1]>(x)", ["float[N,3,?]"]),
    "a pool without a kernel": (PLANE, "MaxPool(x)", ["float[N,3,?,?]"]),
    "a pool of fewer axes": (PLANE, "MaxPool<kernel_shape = [2]>(x)", ["float[N,3,?,?]"]),
    "a pool without an axis": ("float[N,3] x", "MaxPool<kernel_shape = [2]>(x)", ["float[*]"]),
    "a pool over all": ("float[N,3,H,W] x", "GlobalAveragePool(x)", ["float[N,3,1,1]"]),
    "a pool over one axis": ("float[N,3,W] x", "GlobalMaxPool(x)", ["float[N,3,1]"]),
    "a pool over no axis": ("float[N,3] x", "GlobalLpPool(x)", ["float[*]"]),
    "bytes": (
        "uint8[N,3,9,8] x, uint8[5,3,3,2] w, float s, uint8 z", "QLinearConv(x, s, z, w, s, z, s, z)",
        ["uint8[N,5,7,7]"]),
    "integers": ("uint8[N,3,9,8] x, uint8[5,3,3,2] w", "ConvInteger(x, w)", ["int32[N,5,7,7]"]),
    "transposed": (
        FILTERS, "ConvTranspose<strides = [2, 3], output_padding = [1, 2], pads = [1, 0, 1, 0]>(x, w)",
        ["float[N,5,18,3*W+2]"]),
    "transposed in groups": (FILTERS, "ConvTranspose<group = 2>(x, w)", ["float[N,10,11,W+2]"]),
    "transposed in no groups": (FILTERS, "ConvTranspose<group = 0>(x, w)", ["float[N,?,?,?]"]),
    "transposed with gaps": (FILTERS, "ConvTranspose<dilations = [2, 3]>(x, w)", ["float[N,5,13,W+6]"]),
    "transposed to a stated shape": (FILTERS, "ConvTranspose<output_shape = [11, 9]>(x, w)", ["float[N,5,?,?]"]),
    "transposed with automatic padding": (
        FILTERS, 'ConvTranspose<auto_pad = "SAME_UPPER">(x, w)', ["float[N,5,?,?]"]),
    "transposed without padding": (FILTERS, 'ConvTranspose<auto_pad = "VALID">(x, w)', ["float[N,5,11,W+2]"]),
    "transposed with too little padding": (FILTERS, "ConvTranspose<output_padding = [1]>(x, w)", ["float[N,5,?,?]"]),
    "transposed with negative padding": (
        FILTERS, "ConvTranspose<output_padding = [0, -1]>(x, w)", ["float[N,5,?,?]"]),
    "transposed by filters of a free size": (
        "float[N,4,9,8] x, float[4,M,K,3] w", "ConvTranspose(x, w)", ["float[N,M,?,?]"]),
    "transposed by filters of another rank": (
        "float[N,4,9,8] x, float[4,5,3] w", "ConvTranspose(x, w)", ["float[N,?,?,?]"]),
    "transposed without an axis": ("float[N,4] x, float[4,5] w", "ConvTranspose(x, w)", ["float[*]"]),
    "transposed to one element": (
        "float[N,4,1] x, float[4,5,3] w", "ConvTranspose<pads = [1, 1]>(x, w)", ["float[N,5,1]"]),
    "transposed to nothing": ("float[N,4,1] x, float[4,5,3] w", "ConvTranspose<pads = [2, 1]>(x, w)", ["float[N,5,?]"]),
    "nothing transposed": ("float[N,4,0] x, float[4,5,3] w", "ConvTranspose(x, w)", ["float[N,5,?]"]),
}  # fmt: skip
NETWORKS: dict[str, tuple[str, str, list[str]]] = {
    "a product": ("float[M,K] x, float[K,N] y, float[N] z", "Gemm(x, y, z)", ["float[M,N]"]),
    "turned": ("float[K,M] x, float[N,K] y", "Gemm<transA = 1, transB = 1>(x, y)", ["float[M,N]"]),
    "beside a value of no rank": ("float[M,K] x, float[K,N] y, float[] z", "Gemm(x, y, z)", ["float[M,N]"]),
    "turned beside a value of no rank": (
        "float[K,M] x, float[N,K] y, float[] z", "Gemm<transA = 1, transB = 1>(x, y, z)", ["float[M,N]"]),
    "turned oddly beside a value of no rank": (
        "float[K,M] x, float[K,N] y, float[] z", "Gemm<transA = 2>(x, y, z)", ["float[?,N]"]),
    "the second turned oddly beside a value of no rank": (
        "float[M,K] x, float[K,N] y, float[] z", "Gemm<transB = 2>(x, y, z)", ["float[M,?]"]),
    "a value of no rank and columns": ("float[] x, float[K,N] y", "Gemm(x, y)", ["float[?,N]"]),
    "rows and a value of no rank": ("float[M,K] x, float[] y", "Gemm(x, y)", ["float[M,?]"]),
    "a sum of nothing over a batch of 1": (
        f"uint8[M,0] x, uint8[1,0,N] y{POINTS}", "MatMulInteger(x, y, p, z)", ["int32[1,M,N]"]),
    "an LSTM of data of another rank": (
        "float[S,4] x, float[1,20,4] w, float[1,20,5] r", "LSTM<hidden_size = 5>(x, w, r)", ["float[?,1,?,5]"]),
    "weights of another rank": ("float[S,B,4] x, float[1,20,4] w, float[20,5] r", "LSTM(x, w, r)", ["float[S,1,B,?]"]),
    "a stated size of weights of no rank": (
        "float[S,B,4] x, float[] w, float[] r", "RNN<hidden_size = 6>(x, w, r)", ["float[S,1,B,6]"]),
    "what is no letter": ("float[I,J] x", 'Einsum<equation = "i1->i">(x)', ["float[*]"]),
    "a letter too many in one term": (
        "float[I,J] x, float[J] y", 'Einsum<equation = "ij,jk->i">(x, y)', ["float[*]"]),
    "a letter that is stretched to 2": (
        "float[1,J] x, float[2,J] y", 'Einsum<equation = "ij,ij->i">(x, y)', ["float[2]"]),
    "a stack of rows": ("float[A,M,K] x, float[K,N] y", "Gemm(x, y)", ["float[?,N]"]),
    "a stack of columns": ("float[M,K] x, float[A,K,N] y", "Gemm(x, y)", ["float[M,?]"]),
    "stacks": (f"uint8[A,1,M,K] x, uint8[B,K,N] y{POINTS}", "MatMulInteger(x, y, p, z)", ["int32[A,B,M,N]"]),
    "a row": (f"uint8[3] x, uint8[3,N] y{POINTS}", "MatMulInteger(x, y, p, z)", ["int32[N]"]),
    "a column": (f"uint8[M,3] x, uint8[3] y{POINTS}", "MatMulInteger(x, y, p, z)", ["int32[M]"]),
    "a number": (f"uint8 x, uint8[3] y{POINTS}", "MatMulInteger(x, y, p, z)", ["int32[*]"]),
    "by a number": (f"uint8[3] x, uint8 y{POINTS}", "MatMulInteger(x, y, p, z)", ["int32[*]"]),
    "a sum of nothing over one batch": (
        f"uint8[2,M,0] x, uint8[2,0,N] y{POINTS}", "MatMulInteger(x, y, p, z)", ["int32[2,M,N]"]),
    "a sum of nothing over the first batch": (
        f"uint8[2,M,0] x, uint8[0,N] y{POINTS}", "MatMulInteger(x, y, p, z)", ["int32[2,M,N]"]),
    "a sum of nothing over two batches": (
        f"uint8[1,M,0] x, uint8[2,0,N] y{POINTS}", "MatMulInteger(x, y, p, z)", ["int32[*]"]),
    "columns of bytes": (
        "uint8[A,M,K] x, uint8[K,N] y, float s, uint8 z, float[N] t, uint8[N] u",
        "QLinearMatMul(x, s, z, y, t, u, s, z)", ["uint8[A,M,N]"]),
    "a product of bytes": (
        "uint8[A,M,K] x, uint8[K,N] y, float s, uint8 z", "QLinearMatMul(x, s, z, y, s, z, s, z)", ["uint8[A,M,N]"]),
    "LSTM": (LSTM, "LSTM<hidden_size = 5>(x, w, r)", ["float[S,1,B,5]", "float[1,B,5]", "float[1,B,5]"]),
    "in both directions": (
        BOTH, 'LSTM<hidden_size = 5, direction = "bidirectional">(x, w, r)',
        ["float[S,2,B,5]", "float[2,B,5]", "float[2,B,5]"]),
    "backwards": (LSTM, 'LSTM<hidden_size = 5, direction = "reverse">(x, w, r)', ["float[S,1,B,5]"]),
    "in an odd direction": (LSTM, 'LSTM<hidden_size = 5, direction = "up">(x, w, r)', ["float[S,?,B,5]"]),
    "a size that the weights have": (LSTM, "LSTM(x, w, r)", ["float[S,1,B,5]"]),
    "the batch in front": (
        "float[B,S,4] x, float[1,15,4] w, float[1,15,5] r", "GRU<hidden_size = 5, layout = 1>(x, w, r)",
        ["float[B,S,1,5]", "float[B,1,5]"]),
    "the batch anywhere": (LSTM, "LSTM<hidden_size = 5, layout = 2>(x, w, r)", ["float[*]"]),
    "data of no rank": (
        "float[] x, float[1,5,4] w, float[1,5,5] r", "RNN<hidden_size = 5>(x, w, r)",
        ["float[?,1,?,5]", "float[1,?,5]"]),
    "weights of no rank": ("float[S,B,4] x, float[] w, float[] r", "RNN(x, w, r)", ["float[S,1,B,?]"]),
    "letters": ("float[I,J] x, float[J,K] y", 'Einsum<equation = "ij,jk->ik">(x, y)', ["float[I,K]"]),
    "letters in order": ("float[B,I,J] x, float[B,J,K] y", 'Einsum<equation = "bij,bjk">(x, y)', ["float[I,K]"]),
    "letters with blanks": ("float[I,J] x", 'Einsum<equation = " i j -> j i ">(x)', ["float[J,I]"]),
    "a diagonal": ("float[3,3] x", 'Einsum<equation = "ii->i">(x)', ["float[3]"]),
    "a sum of all": ("float[I,J] x", 'Einsum<equation = "ij->">(x)', ["float[]"]),
    "other letters": ("float[I,J] x", 'Einsum<equation = "...j">(x)', ["float[*]"]),
    "a letter too many": ("float[I,J] x", 'Einsum<equation = "ijk->i">(x)', ["float[*]"]),
    "a term too many": ("float[I,J] x", 'Einsum<equation = "ij,jk->i">(x)', ["float[*]"]),
    "a letter that is stretched": ("float[1,J] x, float[3,J] y", 'Einsum<equation = "ij,ij->i">(x, y)', ["float[3]"]),
    "a letter of 1": ("float[1,J] x, float[1,J] y", 'Einsum<equation = "ij,ij->i">(x, y)', ["float[1]"]),
    "a letter of a symbol and a number": (
        "float[A,J] x, float[3,J] y", 'Einsum<equation = "ij,ij->i">(x, y)', ["float[3]"]),
    "a letter of two symbols": ("float[A,J] x, float[B,J] y", 'Einsum<equation = "ij,ij->i">(x, y)', ["float[?]"]),
    "a letter of a symbol and 1": ("float[A,J] x, float[1,J] y", 'Einsum<equation = "ij,ij->i">(x, y)', ["float[?]"]),
    "a letter of no rank": ("float[A,J] x, float[] y", 'Einsum<equation = "ij,ij->i">(x, y)', ["float[?]"]),
    "a letter of 3 and no rank": ("float[3,J] x, float[] y", 'Einsum<equation = "ij,ij->i">(x, y)', ["float[3]"]),
    "determinants": ("float[B,C,3,3] x", "Det(x)", ["float[B,C]"]),
    "a determinant": ("float[3,3] x", "Det(x)", ["float[]"]),
    "a determinant of a vector": ("float[3] x", "Det(x)", ["float[*]"]),
    "quantized": ("float[B,3] x", "DynamicQuantizeLinear(x)", ["uint8[B,3]", "float[]", "uint8[]"]),
    "normalized": ("float[2,3,9,8] x, float[3] s", "InstanceNormalization(x, s, s)", ["float[2,3,9,8]"]),
    "normalized without pixels": ("float[2,3,0,8] x, float[3] s", "InstanceNormalization(x, s, s)", ["float[*]"]),
    "normalized without images": ("float[0,3,9,8] x, float[3] s", "InstanceNormalization(x, s, s)", ["float[0,3,9,8]"]),
    "regions": (
        REGIONS, "RoiAlign<output_height = 5, output_width = 6>(x, r, i)", ["float[R,3,5,6]"]),
    "regions of one element": (REGIONS, "RoiAlign(x, r, i)", ["float[R,3,1,1]"]),
    "regions of another rank": (
        "float[N,3,9,8] x, float[R] r, int64[R] i", "RoiAlign(x, r, i)", ["float[*]"]),
    "regions of no rank": ("float[N,3,9,8] x, float[] r, int64[R] i", "RoiAlign(x, r, i)", ["float[*]"]),
    "regions of a line": ("float[N,3,9] x, float[R,4] r, int64[R] i", "RoiAlign(x, r, i)", ["float[*]"]),
    "regions without pixels": ("float[N,3,0,8] x, float[R,4] r, int64[R] i", "RoiAlign(x, r, i)", ["float[*]"]),
    "sampled": ("float[N,3,H,W] x, float[N,5,6,2] g", "GridSample(x, g)", ["float[N,3,5,6]"]),
    "sampled by another rank": ("float[N,3,H,W] x, float[N,5,2] g", "GridSample(x, g)", ["float[*]"]),
    "a sampled line": ("float[N,3,H] x, float[N,5,2] g", "GridSample(x, g)", ["float[*]"]),
    "boxes": ("float[N,B,4] x, float[N,C,B] s", "NonMaxSuppression(x, s)", ["int64[?,3]"]),
    "a loss": ("float[N,C,D] x, int64[N,D] t", "NegativeLogLikelihoodLoss(x, t)", ["float[]"]),
    "a loss for each": (
        "float[N,C,D] x, int64[N,D] t", 'SoftmaxCrossEntropyLoss<reduction = "none">(x, t)',
        ["float[N,D]", "float[N,C,D]"]),
    "drawn classes": ("float[N,C] x", "Multinomial<sample_size = 4>(x)", ["int32[N,4]"]),
    "a drawn class": ("float[N,C] x", "Multinomial(x)", ["int32[N,1]"]),
    "no drawn class": ("float[N,C] x", "Multinomial<sample_size = 0>(x)", ["int32[N,0]"]),
    "less than no drawn class": ("float[N,C] x", "Multinomial<sample_size = -1>(x)", ["int32[*]"]),
    "classes drawn of a vector": ("float[C] x", "Multinomial(x)", ["int32[*]"]),
}  # fmt: skip
CHOSEN: dict[str, tuple[str, str, list[str]]] = {
    "elements": ("float[A,B,C] x, int64[D,E] i", "Gather<axis = 1>(x, i)", ["float[A,D,E,C]"]),
    "elements of the last axis": ("float[A,B] x, int64 i", "Gather<axis = -1>(x, i)", ["float[A]"]),
    "elements of the first axis, counted back": (
        "float[A,B] x, int64[D] i", "Gather<axis = -2>(x, i)", ["float[D,B]"]),
    "elements of an axis that is none": ("float[A,B] x, int64 i", "Gather<axis = 2>(x, i)", ["float[*]"]),
    "elements of an axis before the first": ("float[A,B] x, int64 i", "Gather<axis = -3>(x, i)", ["float[*]"]),
    "points": ("float[A,B,C] x, int64[D,2] i", "GatherND(x, i)", ["float[D,C]"]),
    "points of all axes": ("float[A,B] x, int64[D,2] i", "GatherND(x, i)", ["float[D]"]),
    "points of one axis": ("float[A,B,C] x, int64[D,1] i", "GatherND(x, i)", ["float[D,B,C]"]),
    "a point": ("float[A,B,C] x, int64[1] i", "GatherND(x, i)", ["float[B,C]"]),
    "points of too many axes": ("float[A,B] x, int64[D,3] i", "GatherND(x, i)", ["float[*]"]),
    "points of no axes": ("float[A,B] x, int64[D,0] i", "GatherND(x, i)", ["float[*]"]),
    "points in batches": ("float[A,B,C] x, int64[A,D,1] i", "GatherND<batch_dims = 1>(x, i)", ["float[A,D,C]"]),
    "points in too many batches": ("float[A,B,C] x, int64[A,1] i", "GatherND<batch_dims = 2>(x, i)", ["float[*]"]),
    "points in fewer than no batches": (
        "float[A,B,C] x, int64[A,2] i", "GatherND<batch_dims = -1>(x, i)", ["float[*]"]),
    "points of a free number of axes": ("float[A,B,C] x, int64[A,K] i", "GatherND(x, i)", ["float[*]"]),
    "elements by elements": ("float[A,B] x, int64[C,B] i", "GatherElements(x, i)", ["float[C,B]"]),
    "one hot": ("int64[A,B] x, float[2] v", f"{ints('d', 4)} y = OneHot(x, d, v)", ["float[A,B,4]"]),
    "one hot in front": ("int64[A,B] x, float[2] v", f"{ints('d', 4)} y = OneHot<axis = 0>(x, d, v)", ["float[4,A,B]"]),
    "one hot before the last": (
        "int64[A,B] x, float[2] v", f"{ints('d', 4)} y = OneHot<axis = -2>(x, d, v)", ["float[A,4,B]"]),
    "one hot counted back to the front": (
        "int64[A,B] x, float[2] v", f"{ints('d', 4)} y = OneHot<axis = -3>(x, d, v)", ["float[4,A,B]"]),
    "one hot behind": ("int64[A,B] x, float[2] v", f"{ints('d', 4)} y = OneHot<axis = 2>(x, d, v)", ["float[A,B,4]"]),
    "one hot too far": ("int64[A,B] x, float[2] v", f"{ints('d', 4)} y = OneHot<axis = 3>(x, d, v)", ["float[*]"]),
    "one hot too far back": (
        "int64[A,B] x, float[2] v", f"{ints('d', 4)} y = OneHot<axis = -4>(x, d, v)", ["float[*]"]),
    "one hot of a free depth": ("int64[A,B] x, int64 d, float[2] v", "OneHot(x, d, v)", ["float[A,B,?]"]),
    "one hot of two depths": (
        "int64[A,B] x, float[2] v", f"{ints('d', 4, 5)} y = OneHot(x, d, v)", ["float[A,B,?]"]),
    "the greatest": ("float[A,B] x", f"{ints('k', 2)} y = TopK(x, k)", ["float[A,2]", "int64[A,2]"]),
    "the greatest of the first axis": ("float[A,B] x", f"{ints('k', 2)} y = TopK<axis = -2>(x, k)", ["float[2,B]"]),
    "the greatest of no axis": ("float[A,B] x", f"{ints('k', 2)} y = TopK<axis = 2>(x, k)", ["float[*]"]),
    "the greatest of an axis before the first": (
        "float[A,B] x", f"{ints('k', 2)} y = TopK<axis = -3>(x, k)", ["float[*]"]),
    "a free number of the greatest": ("float[A,B] x, int64[1] k", "TopK(x, k)", ["float[A,?]"]),
    "two numbers of the greatest": ("float[A,B] x", f"{ints('k', 2, 1)} y = TopK(x, k)", ["float[A,?]"]),
    "kept": ("float[A,B] x, bool[C] c", "Compress<axis = -1>(x, c)", ["float[A,?]"]),
    "kept of the first axis": ("float[A,B] x, bool[C] c", "Compress<axis = 0>(x, c)", ["float[?,B]"]),
    "kept of the first axis, counted back": ("float[A,B] x, bool[C] c", "Compress<axis = -2>(x, c)", ["float[?,B]"]),
    "kept of all": ("float[A,B] x, bool[C] c", "Compress(x, c)", ["float[?]"]),
    "kept of no axis": ("float[A,B] x, bool[C] c", "Compress<axis = 2>(x, c)", ["float[*]"]),
    "kept of an axis before the first": ("float[A,B] x, bool[C] c", "Compress<axis = -3>(x, c)", ["float[*]"]),
    "what is not 0": ("float[A,B] x", "NonZero(x)", ["int64[2,?]"]),
    "a number that is not 0": ("float x", "NonZero(x)", ["int64[?,?]"]),
}  # fmt: skip
EACH = "j = Constant<value = int64 {{{}}}>() q = SplitToSequence{}(x) y = SequenceAt(q, j)"
"""One of the parts of size 1: which, and attributes."""
OF = (
    "j = Constant<value = int64 {{{}}}>() k = Constant<value = int64 {{{}}}>()"
    " q = SplitToSequence{}(x, k) y = SequenceAt(q, j)"
)
"""One of the parts of a stated size: which, the size, and attributes."""
AT = "q = SplitToSequence(x, k) y = SequenceAt(q, j)"
FREE = (
    "j = Constant<value = int64 {{{}}}>() s = Shape<start = 0, end = 1>(z) t = Constant<value_ints = [2]>()"
    " k = Concat<axis = 0>(s, t) q = SplitToSequence(x, k) y = SequenceAt(q, j)"
)
"""One of two parts of which one has a free size."""
PARTS: dict[str, tuple[str, str, list[str]]] = {
    "of a free part": ("float[A,B] x, float[C] z", FREE.format(0), ["float[C,B]"]),
    "beside a free part": ("float[A,B] x, float[C] z", FREE.format(1), ["float[2,B]"]),
    "of a free part counted back": ("float[A,B] x, float[C] z", FREE.format(-2), ["float[C,B]"]),
    "behind a free part": ("float[A,B] x, float[C] z", FREE.format(2), ["float[*]"]),
    "before a free part": ("float[A,B] x, float[C] z", FREE.format(-3), ["float[*]"]),
    "the first": ("float[5,B] x", OF.format(0, 2, ""), ["float[2,B]"]),
    "the last, which is smaller": ("float[5,B] x", OF.format(2, 2, ""), ["float[1,B]"]),
    "the last counted back": ("float[5,B] x", OF.format(-1, 2, ""), ["float[1,B]"]),
    "the first counted back": ("float[5,B] x", OF.format(-3, 2, ""), ["float[2,B]"]),
    "one behind the last": ("float[5,B] x", OF.format(3, 2, ""), ["float[*]"]),
    "one before the first": ("float[5,B] x", OF.format(-4, 2, ""), ["float[*]"]),
    "of the last axis": ("float[A,4] x", OF.format(1, 2, "<axis = -1>"), ["float[A,2]"]),
    "of an axis that is none": ("float[A,4] x", OF.format(1, 2, "<axis = 2>"), ["float[*]"]),
    "of an axis before the first": ("float[A,4] x", OF.format(1, 2, "<axis = -3>"), ["float[*]"]),
    "of a free size": ("float[A,4] x", OF.format(1, 2, ""), ["float[*]"]),
    "of no size": ("float[3,4] x", OF.format(0, 0, ""), ["float[*]"]),
    "of no size, of nothing": ("float[0,4] x", OF.format(0, 0, ""), ["float[*]"]),
    "of less than no size": ("float[3,4] x", OF.format(0, -1, ""), ["float[*]"]),
    "as many as are counted": ("float[64,4] x", OF.format(0, 1, ""), ["float[1,4]"]),
    "more than are counted": ("float[65,4] x", OF.format(0, 1, ""), ["float[*]"]),
    "as many larger ones as are counted": ("float[128,4] x", OF.format(0, 2, ""), ["float[2,4]"]),
    "more larger ones than are counted": ("float[129,4] x", OF.format(0, 2, ""), ["float[*]"]),
    "one each": ("float[4,B] x", EACH.format(1, ""), ["float[1,B]"]),
    "one each with its axis": ("float[4,B] x", EACH.format(1, "<keepdims = 1>"), ["float[1,B]"]),
    "one each without its axis": ("float[4,B] x", EACH.format(1, "<keepdims = 0>"), ["float[B]"]),
    "one each without the last axis": ("float[A,4] x", EACH.format(1, "<axis = 1, keepdims = 0>"), ["float[A]"]),
    "stated ones without their axis": ("float[4,B] x", OF.format(1, 2, "<keepdims = 0>"), ["float[*]"]),
    "of sizes that are computed": (
        "float[4,B] x, int64[2] k", "q = SplitToSequence(x, k) j = Constant<value = int64 {1}>() y = SequenceAt(q, j)",
        ["float[*]"]),
    "of a stated number of sizes": (
        "float[5,B] x", f"{ints('k', 2, 3)} j = Constant<value = int64 {{1}}>() {AT}", ["float[3,B]"]),
    "one behind a stated number": (
        "float[5,B] x", f"{ints('k', 2, 3)} j = Constant<value = int64 {{2}}>() {AT}", ["float[*]"]),
    "a vector of places": (
        "float[5,B] x", f"{ints('k', 2, 3)}{ints('j', 1)} q = SplitToSequence(x, k) y = SequenceAt(q, j)",
        ["float[*]"]),
    "any": ("float[5,B] x, int64 j", f"{ints('k', 2, 3)} q = SplitToSequence(x, k) y = SequenceAt(q, j)", ["float[*]"]),
}  # fmt: skip
CASES = {
    f"{room}: {name}": case
    for room, cases in (("windows", WINDOWS), ("networks", NETWORKS), ("chosen", CHOSEN), ("parts", PARTS))
    for name, case in cases.items()
}


@pytest.mark.parametrize(("inputs", "node", "expected"), CASES.values(), ids=list(CASES))
def test_sizes_of_results(inputs: str, node: str, expected: list[str], tmp_path: Path) -> None:
    assert results(tmp_path, inputs, node, len(expected)) == expected


@pytest.mark.parametrize(("inputs", "node", "expected"), CASES.values(), ids=list(CASES))
def test_an_operand_of_no_rank_leaves_sizes_open(inputs: str, node: str, expected: list[str], tmp_path: Path) -> None:
    for less in without_a_rank(inputs):
        assert all(map(agree, results(tmp_path, less, node, len(expected)), expected)), less


RANKLESS: dict[str, str] = {
    "ReduceSum": "ReduceSum(x, i)", "ArgMax": "ArgMax(x)", "Gather": "Gather(x, i)", "GatherND": "GatherND(x, i)",
    "OneHot": "OneHot(x, i, v)", "TopK": "TopK(x, i)", "Compress": "Compress<axis = 0>(x, c)", "Det": "Det(x)",
    "Tile": "Tile(x, i)", "Resize": 'Resize(x, "", v)', "Transpose": "Transpose(x)", "Squeeze": "Squeeze(x, i)",
    "Squeeze of all": "Squeeze(x)", "Unsqueeze": "Unsqueeze(x, i)", "DepthToSpace": "DepthToSpace<blocksize = 2>(x)",
    "Slice": "Slice(x, i, i)", "Pad": "Pad(x, i)", "Split": "Split<num_outputs = 1>(x)",
    "Concat": "Concat<axis = 0>(x, x)",
    "Conv": "Conv(x, w)", "ConvTranspose": "ConvTranspose(x, w)", "MaxPool": "MaxPool<kernel_shape = [2]>(x)",
    "GlobalMaxPool": "GlobalMaxPool(x)", "RoiAlign": "RoiAlign(x, w, i)", "GridSample": "GridSample(x, w)",
    "InstanceNormalization": "InstanceNormalization(x, v, v)", "Multinomial": "Multinomial(x)",
}  # fmt: skip


@pytest.mark.parametrize("node", RANKLESS.values(), ids=list(RANKLESS))
def test_of_a_value_of_no_rank_no_rank_is_known(node: str, tmp_path: Path) -> None:
    inputs = "float[] x, int64[1] i, float[2] v, bool[2] c, float[5,3,2,2] w"
    (found,) = results(tmp_path, inputs, node, 1, opset=18)
    assert found.endswith("[*]")


SECOND: dict[str, tuple[str, str, str]] = {
    "Gather": ("int64[] i", "Gather(x, i)", "float[*]"),
    "GatherND": ("int64[] i", "GatherND(x, i)", "float[*]"),
    "GatherElements": ("int64[] i", "GatherElements(x, i)", "float[*]"),
    "GridSample": ("float[] i", "GridSample(x, i)", "float[*]"),
    "TopK": ("int64[] i", "TopK(x, i)", "float[A,B,3,?]"),
    "OneHot": ("int64[] i, int64[A,B] j, float[2] v", "OneHot(j, i, v)", "float[A,B,?]"),
    "Compress": ("bool[] i", "Compress<axis = 1>(x, i)", "float[A,?,3,4]"),
    "Tile": ("int64[] i", "Tile(x, i)", "float[?,?,?,?]"),
    "Reshape": ("int64[] i", "Reshape(x, i)", "float[*]"),
    "ReduceSum": ("int64[] i", "ReduceSum(x, i)", "float[?,?,?,?]"),
    "Slice": ("int64[] i", "Slice(x, i, i)", "float[?,?,?,?]"),
    "Pad": ("int64[] i", "Pad(x, i)", "float[?,?,?,?]"),
    "Squeeze": ("int64[] i", "Squeeze(x, i)", "float[*]"),
    "Unsqueeze": ("int64[] i", "Unsqueeze(x, i)", "float[*]"),
    "Split": ("int64[] i", "Split<axis = 1>(x, i)", "float[A,?,3,4]"),
    "Resize": ("float[] i", 'Resize(x, "", i)', "float[?,?,?,?]"),
    "Resize to sizes": ("int64[] i", 'Resize(x, "", "", i)', "float[?,?,?,?]"),
    "ConstantOfShape": ("int64[] i", "ConstantOfShape(i)", "float[*]"),
    "MatMulInteger": (f"uint8[3,4] a, uint8[] b{POINTS}", "MatMulInteger(a, b, p, z)", "int32[*]"),
    "MatMulInteger of no rank": (f"uint8[] a, uint8[4,5] b{POINTS}", "MatMulInteger(a, b, p, z)", "int32[*]"),
}  # fmt: skip
"""By name: an operand of no rank beside x, a node, and what is known of its result."""


@pytest.mark.parametrize(("inputs", "node", "expected"), SECOND.values(), ids=list(SECOND))
def test_sizes_beside_a_value_of_no_rank(inputs: str, node: str, expected: str, tmp_path: Path) -> None:
    assert results(tmp_path, f"float[A,B,3,4] x, {inputs}", node, 1) == [expected]


TEXTS: dict[str, tuple[str, str, list[str]]] = {
    "split": ("string[A,2] x", "StringSplit(x)", ["string[A,2,?]", "int64[A,2]"]),
    "one split": ("string x", "StringSplit(x)", ["string[?]", "int64[]"]),
    "split of no rank": ("string[] x", "StringSplit(x)", ["string[*]", "int64[*]"]),
    "matched": ("string[A,2] x", 'RegexFullMatch<pattern = "a">(x)', ["bool[A,2]"]),
}  # fmt: skip


@pytest.mark.parametrize(("inputs", "node", "expected"), TEXTS.values(), ids=list(TEXTS))
def test_sizes_of_texts(inputs: str, node: str, expected: list[str], tmp_path: Path) -> None:
    assert results(tmp_path, inputs, node, len(expected), opset=20) == expected


POOL = "MaxPool<kernel_shape = [2], strides = [2], pads = [1, 0]>(x)"
ASSUMED: dict[str, tuple[str, str, list[str]]] = {
    "a pool of what may be nothing": ("float[N,3,W] x", POOL, [SOME_IMAGE]),
    "a pool of nothing in a batch of a known size": ("float[2,3,W] x", POOL, []),
    "a pool in steps of 1": ("float[N,3,W] x", "MaxPool<kernel_shape = [1]>(x)", []),
    "a pool of padded nothing": ("float[N,3,W] x", "MaxPool<kernel_shape = [2], strides = [2], pads = [1, 1]>(x)", []),
    "a pool of an empty batch": ("float[0,3,W] x", POOL, [SOME_IMAGE]),
    "a normalization of what may be nothing": (
        "float[N,3,W] x, float[3] s", "InstanceNormalization(x, s, s)", [SOME_PIXELS]),
    "a normalization of rows of what may be nothing": (
        "float[N,3,9,W] x, float[3] s", "InstanceNormalization(x, s, s)", [SOME_PIXELS]),
    "a normalization of channels that may be nothing": (
        "float[N,C,9] x, float[C] s", "InstanceNormalization(x, s, s)", []),
    "a normalization of one pixel": ("float[N,3,1] x, float[3] s", "InstanceNormalization(x, s, s)", []),
    "a normalization of an image": ("float[N,3,9] x, float[3] s", "InstanceNormalization(x, s, s)", []),
    "two batches of sums over what may be nothing": (
        "uint8[1,M,K] x, uint8[2,K,N] y", "MatMulInteger(x, y)", [SOME_TERMS]),
    "two batches of columns of sums over what may be nothing": (
        f"uint8[1,M,K] x, uint8[2,K,N] y{POINTS}", "MatMulInteger(x, y, p, z)", [SOME_TERMS]),
    "two batches of columns of sums over elements": (
        f"uint8[1,M,K] x, uint8[2,3,N] y{POINTS}", "MatMulInteger(x, y, p, z)", []),
    "two batches of sums over nothing": (f"uint8[1,M,0] x, uint8[2,0,N] y{POINTS}", "MatMulInteger(x, y, p, z)", []),
    "two batches of sums over one element": (
        f"uint8[1,M,1] x, uint8[2,1,N] y{POINTS}", "MatMulInteger(x, y, p, z)", []),
    "one batch of sums over what may be nothing": ("uint8[2,M,K] x, uint8[2,K,N] y", "MatMulInteger(x, y)", []),
    "two batches of sums over elements": ("uint8[1,M,3] x, uint8[2,3,N] y", "MatMulInteger(x, y)", []),
    "two batches of sums over elements by one side": ("uint8[1,M,K] x, uint8[2,3,N] y", "MatMulInteger(x, y)", []),
}  # fmt: skip


@pytest.mark.parametrize(("inputs", "node", "expected"), ASSUMED.values(), ids=list(ASSUMED))
def test_what_is_assumed_of_sizes(inputs: str, node: str, expected: list[str], tmp_path: Path) -> None:
    assert assumed(tmp_path, inputs, node) == expected


def numbers(start: int, end: int, step: int) -> str:
    values = zip("abc", (start, end, step), strict=True)
    return "".join(f"{name} = Constant<value_int = {value}>() " for name, value in values)


SHAPE = "s = Shape(x) "
STATED: dict[str, tuple[str, str, str]] = {
    "random numbers": ("float x", "RandomNormal<shape = [2, 3]>()", "float[2,3]"),
    "no random numbers": ("float x", "RandomUniform<shape = [2, 0]>()", "float[2,0]"),
    "random numbers below 0": ("float x", "RandomNormal<shape = [2, -3]>()", "float[*]"),
    "random numbers of one size below 0": ("float x", "RandomUniform<shape = [-1]>()", "float[*]"),
    "random numbers of no shape": ("float x", "RandomNormal()", "float[*]"),
    "zeros": ("float[A,3] x", f"{SHAPE}y = ConstantOfShape(s)", "float[A,3]"),
    "zeros of no rank": ("float[] x", f"{SHAPE}y = ConstantOfShape(s)", "float[*]"),
    "zeros below 0": ("float x", f"{ints('c', 2, -3)}y = ConstantOfShape(c)", "float[2,?]"),
    "zeros of one size below 0": ("float x", f"{ints('c', -3)}y = ConstantOfShape(c)", "float[?]"),
    "no zeros": ("float x", f"{ints('c', 2, 0)}y = ConstantOfShape(c)", "float[2,0]"),
    "zeros of a free shape": ("int64[3] x", "ConstantOfShape(x)", "float[?,?,?]"),
    "zeros of a free rank": ("int64[N] x", "ConstantOfShape(x)", "float[*]"),
    "a range": ("float x", f"{numbers(0, 5, 1)}y = Range(a, b, c)", "int64[5]"),
    "a range in steps of 2": ("float x", f"{numbers(0, 5, 2)}y = Range(a, b, c)", "int64[3]"),
    "a range backwards": ("float x", f"{numbers(5, 0, -2)}y = Range(a, b, c)", "int64[3]"),
    "an empty range": ("float x", f"{numbers(5, 0, 1)}y = Range(a, b, c)", "int64[0]"),
    "a range without steps": ("float x", f"{numbers(0, 5, 0)}y = Range(a, b, c)", "int64[?]"),
    "a range to a size": (
        "float[A,3] x", f"{numbers(0, 0, 1)}{SHAPE}d = Gather(s, a) y = Range(a, d, c)", "int64[A]"),
    "a range to a free number": ("int64 d", f"{numbers(0, 0, 1)}y = Range(a, d, c)", "int64[?]"),
    "a range as far as all count": ("float x", f"{numbers(0, (1 << 53) - 1, 1 << 50)}y = Range(a, b, c)", "int64[8]"),
    "a range farther than all count": ("float x", f"{numbers(0, 1 << 53, 1 << 50)}y = Range(a, b, c)", "int64[?]"),
    "a range from farther than all count": (
        "float x", f"{numbers(-(1 << 53), 0, 1 << 50)}y = Range(a, b, c)", "int64[?]"),
}  # fmt: skip


@pytest.mark.parametrize(("inputs", "node", "expected"), STATED.values(), ids=list(STATED))
def test_sizes_that_are_stated(inputs: str, node: str, expected: str, tmp_path: Path) -> None:
    assert results(tmp_path, inputs, node, 1) == [expected]

"""Operators of TFLite on small operands, each with the shape or the elements of its result.

A shape: `[*]` is a rank that does not follow from what is written here, `?` a size that does not. Elements: numbers,
N for the free size of an input, the range of one that has no name. What is inferred is asked, and what is proved.
"""

from __future__ import annotations


def ints(name: str, *numbers: int) -> str:
    """A constant vector."""
    return f"{name}:const:int32[{len(numbers)}]{{{','.join(map(str, numbers))}}}"


def one(name: str, number: int) -> str:
    """A constant scalar."""
    return f"{name}:const:int32[]{{{number}}}"


def pairs(name: str, *numbers: int) -> str:
    """A constant of two columns."""
    return f"{name}:const:int32[{len(numbers) // 2},2]{{{','.join(map(str, numbers))}}}"


WINDOW = "stride_h=1, stride_w=2, filter_height=3, filter_width=2"
CONV = "stride_h=1, stride_w=2, dilation_h_factor=2, dilation_w_factor=1"

REDUCTIONS = {
    "MEAN of two axes": (f"MEAN(x[2,3,4], {ints('a', 0, -1)})", "[3]"),
    "MEAN of the first axis, from the end": (f"MEAN(x[2,3,4], {ints('a', -3)})", "[3, 4]"),
    "MEAN of an axis behind the last": (f"MEAN(x[2,3,4], {ints('a', 3)})", "[*]"),
    "MEAN of an axis before the first": (f"MEAN(x[2,3,4], {ints('a', -4)})", "[*]"),
    "MEAN of computed axes": ("MEAN(x[2,3,4], a:int32[1])", "[*]"),
    "MEAN of computed axes that are kept": ("MEAN(x[2,3,4], a:int32[1], keep_dims=True)", "[?, ?, ?]"),
    "SUM that keeps its axes": (f"SUM(x[2,3,4], {ints('a', 1)}, keep_dims=True)", "[2, 1, 4]"),
    "REDUCE_MIN": (f"REDUCE_MIN(x[2,3,4], {ints('a', 1)})", "[2, 4]"),
    "REDUCE_MAX of an unranked tensor": (f"REDUCE_MAX(x[*], {ints('a', 1)})", "[*]"),
    "ARG_MAX": (f"ARG_MAX(x[2,3,4], {one('a', 1)}, output_type=INT32)", "[2, 4]", "int32"),
    "ARG_MIN from the end": (f"ARG_MIN(x[2,3,4], {one('a', -3)}, output_type=INT32)", "[3, 4]", "int32"),
    "ARG_MAX of an axis behind the last": (f"ARG_MAX(x[2,3,4], {one('a', 3)}, output_type=INT32)", "[?, ?]", "int32"),
    "ARG_MAX of an axis before the first": (f"ARG_MAX(x[2,3,4], {one('a', -4)}, output_type=INT32)", "[?, ?]", "int32"),
    "ARG_MAX of a computed axis": ("ARG_MAX(x[2,3,4], a:int32[], output_type=INT32)", "[?, ?]", "int32"),
    "ARG_MAX of a scalar": (f"ARG_MAX(x[], {one('a', 0)}, output_type=INT32)", "[*]", "int32"),
    "UNSORTED_SEGMENT_SUM": (f"UNSORTED_SEGMENT_SUM(x[2,3,4], i:int32[2], {one('n', 5)})", "[5, 3, 4]"),
    "UNSORTED_SEGMENT_MAX of pairs": (f"UNSORTED_SEGMENT_MAX(x[2,3,4], i:int32[2,3], {one('n', 5)})", "[5, 4]"),
    "UNSORTED_SEGMENT_MIN of all": (f"UNSORTED_SEGMENT_MIN(x[2,3], i:int32[2,3], {one('n', 5)})", "[5]"),
    "UNSORTED_SEGMENT_SUM into a computed number": ("UNSORTED_SEGMENT_SUM(x[2,3], i:int32[2], n:int32[])", "[?, 3]"),
    "UNSORTED_SEGMENT_SUM by more axes": (f"UNSORTED_SEGMENT_SUM(x[2], i:int32[2,3], {one('n', 5)})", "[*]"),
    "UNSORTED_SEGMENT_PROD": (f"UNSORTED_SEGMENT_PROD(x[2,3], i:int32[2], {one('n', 5)})", "[5, 3]"),
    "SEGMENT_SUM": (f"SEGMENT_SUM(x[4,3], {ints('i', 0, 0, 1, 4)})", "[5, 3]"),
    "SEGMENT_SUM of negative numbers": (f"SEGMENT_SUM(x[1,3], {ints('i', -3)})", "[0, 3]"),
    "SEGMENT_SUM by computed numbers": ("SEGMENT_SUM(x[4,3], i:int32[4])", "[?, 3]"),
    "SEGMENT_SUM of a scalar": (f"SEGMENT_SUM(x[], {ints('i', 0)})", "[*]"),
}
IMAGES = {
    "RESIZE_BILINEAR": (f"RESIZE_BILINEAR(x[2,5,6,3], {ints('s', 8, 9)})", "[2, 8, 9, 3]"),
    "RESIZE_NEAREST_NEIGHBOR": (f"RESIZE_NEAREST_NEIGHBOR(x[2,5,6,3], {ints('s', 8, 9)})", "[2, 8, 9, 3]"),
    "RESIZE_BILINEAR to three sizes": (f"RESIZE_BILINEAR(x[2,5,6,3], {ints('s', 8, 9, 7)})", "[2, ?, ?, 3]"),
    "RESIZE_BILINEAR of a matrix": (f"RESIZE_BILINEAR(x[5,6], {ints('s', 8, 9)})", "[*]"),
    "PAD": (f"PAD(x[2,5], {pairs('p', 0, 1, 2, 3)})", "[3, 10]"),
    "PADV2": (f"PADV2(x[2,5], {pairs('p', 0, 1, 2, 3)}, v:const[]{{1.0}})", "[3, 10]"),
    "MIRROR_PAD": (f"MIRROR_PAD(x[2,5], {pairs('p', 0, 1, 2, 3)})", "[3, 10]"),
    "PAD by computed numbers": ("PAD(x[2,5], p:int32[2,2])", "[?, ?]"),
    "PAD of too few axes": (f"PAD(x[2,5], {pairs('p', 0, 1)})", "[?, ?]"),
    "PAD of an unranked tensor": (f"PAD(x[*], {pairs('p', 0, 1)})", "[*]"),
    "SPACE_TO_DEPTH": ("SPACE_TO_DEPTH(x[5,6,9,2], block_size=3)", "[5, 2, 3, 18]"),
    "SPACE_TO_DEPTH by 1": ("SPACE_TO_DEPTH(x[5,6,9,2], block_size=1)", "[5, 6, 9, 2]"),
    "SPACE_TO_DEPTH by 0": ("SPACE_TO_DEPTH(x[5,6,9,2], block_size=0)", "[*]"),
    "SPACE_TO_DEPTH of three axes": ("SPACE_TO_DEPTH(x[6,9,2], block_size=3)", "[*]"),
    "DEPTH_TO_SPACE": ("DEPTH_TO_SPACE(x[5,2,3,18], block_size=3)", "[5, 6, 9, 2]"),
    "DEPTH_TO_SPACE by 1": ("DEPTH_TO_SPACE(x[5,2,3,18], block_size=1)", "[5, 2, 3, 18]"),
    "DEPTH_TO_SPACE by 0": ("DEPTH_TO_SPACE(x[5,2,3,18], block_size=0)", "[*]"),
    "DEPTH_TO_SPACE of three axes": ("DEPTH_TO_SPACE(x[2,3,18], block_size=3)", "[*]"),
    "SPACE_TO_BATCH_ND": (
        f"SPACE_TO_BATCH_ND(x[5,4,6,7], {ints('k', 2, 3)}, {pairs('p', 0, 2, 1, 2)})",
        "[30, 3, 3, 7]",
    ),
    "SPACE_TO_BATCH_ND of one axis": (f"SPACE_TO_BATCH_ND(x[5,4], {ints('k', 2)}, {pairs('p', 0, 2)})", "[10, 3]"),
    "SPACE_TO_BATCH_ND of more axes than there are": (
        f"SPACE_TO_BATCH_ND(x[5,4], {ints('k', 2, 1)}, {pairs('p', 0, 2, 0, 0)})",
        "[?, ?]",
    ),
    "SPACE_TO_BATCH_ND of no axis": ("SPACE_TO_BATCH_ND(x[5,4], k:const:int32[0], p:const:int32[0,2])", "[?, ?]"),
    "SPACE_TO_BATCH_ND by computed blocks": (f"SPACE_TO_BATCH_ND(x[5,4], k:int32[1], {pairs('p', 0, 2)})", "[?, ?]"),
    "SPACE_TO_BATCH_ND by computed paddings": (f"SPACE_TO_BATCH_ND(x[5,4], {ints('k', 2)}, p:int32[1,2])", "[?, ?]"),
    "SPACE_TO_BATCH_ND of too few paddings": (
        f"SPACE_TO_BATCH_ND(x[5,4,6], {ints('k', 2, 3)}, {pairs('p', 0, 2)})",
        "[?, ?, ?]",
    ),
    "BATCH_TO_SPACE_ND": (
        f"BATCH_TO_SPACE_ND(x[30,3,3,7], {ints('k', 2, 3)}, {pairs('p', 0, 2, 1, 2)})",
        "[5, 4, 6, 7]",
    ),
    "BATCH_TO_SPACE_ND of one axis": (f"BATCH_TO_SPACE_ND(x[10,3], {ints('k', 2)}, {pairs('p', 0, 2)})", "[5, 4]"),
    "BATCH_TO_SPACE_ND of more axes than there are": (
        f"BATCH_TO_SPACE_ND(x[10,4], {ints('k', 2, 1)}, {pairs('p', 0, 2, 0, 0)})",
        "[?, ?]",
    ),
    "BATCH_TO_SPACE_ND of no axis": ("BATCH_TO_SPACE_ND(x[5,4], k:const:int32[0], p:const:int32[0,2])", "[?, ?]"),
    "BATCH_TO_SPACE_ND by computed blocks": (f"BATCH_TO_SPACE_ND(x[10,3], k:int32[1], {pairs('p', 0, 2)})", "[?, ?]"),
    "BATCH_TO_SPACE_ND by computed crops": (f"BATCH_TO_SPACE_ND(x[10,3], {ints('k', 2)}, p:int32[1,2])", "[?, ?]"),
    "BATCH_TO_SPACE_ND of too few crops": (
        f"BATCH_TO_SPACE_ND(x[6,4,6], {ints('k', 2, 3)}, {pairs('p', 0, 2)})",
        "[?, ?, ?]",
    ),
    "RFFT2D": (f"RFFT2D(x[2,8,9], {ints('l', 4, 6)})", "[2, 4, 4]", "complex64"),
    "RFFT2D of a matrix": (f"RFFT2D(x[8,9], {ints('l', 4, 7)})", "[4, 4]", "complex64"),
    "RFFT2D of a vector": (f"RFFT2D(x[8], {ints('l', 4, 6)})", "[*]", "complex64"),
    "RFFT2D of a computed length": ("RFFT2D(x[2,8,9], l:int32[3])", "[2, ?, ?]", "complex64"),
}
PRODUCTS = {
    "BATCH_MATMUL": ("BATCH_MATMUL(x[7,1,2,3], z[6,3,5])", "[7, 6, 2, 5]"),
    "BATCH_MATMUL, the first swapped": ("BATCH_MATMUL(x[3,2], z[3,5], adj_x=True)", "[2, 5]"),
    "BATCH_MATMUL, the second swapped": ("BATCH_MATMUL(x[2,3], z[5,3], adj_y=True)", "[2, 5]"),
    "BATCH_MATMUL with a vector": ("BATCH_MATMUL(x[2,3], z[3])", "[*]"),
    "BATCH_MATMUL with an unranked tensor": ("BATCH_MATMUL(x[*], z[3,5])", "[*]"),
    "FULLY_CONNECTED": ("FULLY_CONNECTED(x[7,2,3], w[5,6], )", "[7, 5]"),
    "FULLY_CONNECTED with its axes": ("FULLY_CONNECTED(x[7,2,3], w[5,3], , keep_num_dims=True)", "[7, 2, 5]"),
    "FULLY_CONNECTED by nothing": ("FULLY_CONNECTED(x[7,0], w[5,0], )", "[?, 5]"),
    "FULLY_CONNECTED by three axes": ("FULLY_CONNECTED(x[7,3], w[5,3,1], )", "[*]"),
    "CONV_2D, VALID": (f"CONV_2D(x[4,9,11,2], w[6,3,4,2], b[6], padding=VALID, {CONV})", "[4, 5, 4, 6]"),
    "CONV_2D, SAME": (f"CONV_2D(x[4,9,11,2], w[6,3,4,2], b[6], padding=SAME, {CONV})", "[4, 9, 6, 6]"),
    "CONV_2D, exactly one window": (f"CONV_2D(x[4,5,4,2], w[6,3,4,2], b[6], padding=VALID, {CONV})", "[4, 1, 1, 6]"),
    "CONV_2D, no window in the rows": (
        f"CONV_2D(x[4,4,4,2], w[6,3,4,2], b[6], padding=VALID, {CONV})",
        "[4, ?, ?, 6]",
    ),
    "CONV_2D, no window in the columns": (
        f"CONV_2D(x[4,5,3,2], w[6,3,4,2], b[6], padding=VALID, {CONV})",
        "[4, ?, ?, 6]",
    ),
    "CONV_2D by a stride of 0": ("CONV_2D(x[4,9,9,2], w[6,3,3,2], b[6], stride_h=0, stride_w=1)", "[4, ?, 9, 6]"),
    "CONV_2D by a dilation of 0": (
        "CONV_2D(x[4,9,9,2], w[6,3,3,2], b[6], stride_h=1, stride_w=1, dilation_h_factor=0, dilation_w_factor=1)",
        "[4, ?, 9, 6]",
    ),
    "CONV_2D of three axes": (f"CONV_2D(x[9,11,2], w[6,3,4,2], b[6], padding=VALID, {CONV})", "[*]"),
    "CONV_2D by three axes": (f"CONV_2D(x[4,9,11,2], w[3,4,2], b[6], padding=VALID, {CONV})", "[*]"),
    "DEPTHWISE_CONV_2D": (
        f"DEPTHWISE_CONV_2D(x[4,9,11,2], w[1,3,4,6], b[6], padding=VALID, {CONV}, depth_multiplier=3)",
        "[4, 5, 4, 6]",
    ),
    "AVERAGE_POOL_2D": (f"AVERAGE_POOL_2D(x[4,9,11,2], padding=VALID, {WINDOW})", "[4, 7, 5, 2]"),
    "L2_POOL_2D": (f"L2_POOL_2D(x[4,9,11,2], padding=SAME, {WINDOW})", "[4, 9, 6, 2]"),
    "MAX_POOL_2D, no window": (f"MAX_POOL_2D(x[4,2,11,7], padding=VALID, {WINDOW})", "[4, ?, ?, 7]"),
    "MAX_POOL_2D of three axes": (f"MAX_POOL_2D(x[9,11,2], padding=VALID, {WINDOW})", "[*]"),
    "CONV_3D": (
        "CONV_3D(x[2,5,6,7,3], w[2,2,2,3,8], stride_d=1, stride_h=1, stride_w=1)",
        "[2, ?, ?, ?, 8]",
    ),
    "CONV_3D by four axes": ("CONV_3D(x[2,5,6,7,3], w[2,2,3,8], stride_d=1, stride_h=1, stride_w=1)", "[*]"),
    "TRANSPOSE_CONV": (
        f"TRANSPOSE_CONV({ints('s', 2, 9, 8, 5)}, w[5,3,3,2], x[2,9,8,2], stride_h=1, stride_w=1)",
        "[2, 9, 8, 5]",
    ),
    "TRANSPOSE_CONV to computed sizes": (
        "TRANSPOSE_CONV(s:int32[4], w[5,3,3,2], x[2,9,8,2], stride_h=1, stride_w=1)",
        "[?, ?, ?, ?]",
    ),
    "CONV_3D_TRANSPOSE": (
        f"CONV_3D_TRANSPOSE({ints('s', 2, 3, 4, 5, 6)}, w[1,1,1,6,3], x[2,3,4,5,3])",
        "[2, 3, 4, 5, 6]",
    ),
}
SELECTION = {
    "SLICE": (f"SLICE(x[5,6], {ints('b', 1, 2)}, {ints('z', 3, -1)})", "[3, 4]"),
    "SLICE of a whole axis": (f"SLICE(x[5,6], {ints('b', 0, 0)}, {ints('z', -1, 1)})", "[5, 1]"),
    "SLICE from a computed place": (f"SLICE(x[5,6], b:int32[2], {ints('z', 3, -1)})", "[3, ?]"),
    "SLICE of computed sizes": (f"SLICE(x[5,6], {ints('b', 1, 2)}, z:int32[2])", "[?, ?]"),
    "SLICE of a negative size": (f"SLICE(x[5,6], {ints('b', 1, 2)}, {ints('z', -2, 2)})", "[?, 2]"),
    "SLICE of one size": (f"SLICE(x[5,6], {ints('b', 1, 2)}, {ints('z', 2)})", "[?, ?]"),
    "SLICE from one place": (f"SLICE(x[5,6], {ints('b', 1)}, {ints('z', 2, -1)})", "[2, ?]"),
    "SLICE of an unranked tensor": (f"SLICE(x[*], {ints('b', 1)}, {ints('z', 2)})", "[*]"),
    "GATHER": ("GATHER(x[5,6,7], i:int32[2,3], axis=1)", "[5, 2, 3, 7]"),
    "GATHER along the first axis, from the end": ("GATHER(x[5,6,7], i:int32[2,3], axis=-3)", "[2, 3, 6, 7]"),
    "GATHER along the last axis": ("GATHER(x[5,6,7], i:int32[], axis=2)", "[5, 6]"),
    "GATHER by batch": ("GATHER(x[5,6,7], i:int32[5,3], axis=1, batch_dims=1)", "[5, 3, 7]"),
    "GATHER by batch, from the end": ("GATHER(x[5,6,7], i:int32[5,3], axis=1, batch_dims=-1)", "[5, 3, 7]"),
    "GATHER by all axes of the batch": ("GATHER(x[5,6,7], i:int32[5], axis=1, batch_dims=1)", "[5, 7]"),
    "GATHER by all axes of the batch, from the end": (
        "GATHER(x[5,6,7], i:int32[5,6], axis=2, batch_dims=-2)",
        "[5, 6, 5, 6]",
    ),
    "GATHER along an axis behind the last": ("GATHER(x[5,6,7], i:int32[2], axis=3)", "[*]"),
    "GATHER along an axis before the first": ("GATHER(x[5,6,7], i:int32[2], axis=-4)", "[*]"),
    "GATHER by too many axes of the batch": ("GATHER(x[5,6,7], i:int32[5], axis=2, batch_dims=2)", "[*]"),
    "GATHER by too many axes of the batch, from the end": (
        "GATHER(x[5,6,7], i:int32[5], axis=2, batch_dims=-2)",
        "[*]",
    ),
    "GATHER of an unranked tensor": ("GATHER(x[*], i:int32[5], axis=0)", "[*]"),
    "GATHER_ND": ("GATHER_ND(x[5,6,7], i:int32[4,3,2])", "[4, 3, 7]"),
    "GATHER_ND of elements": ("GATHER_ND(x[5,6,7], i:int32[4,3])", "[4]"),
    "GATHER_ND by a scalar": ("GATHER_ND(x[5,6,7], i:int32[])", "[*]"),
    "GATHER_ND by a free number of indices": ("GATHER_ND(x[5,6,7], i:int32[4,?])", "[*]"),
    "EMBEDDING_LOOKUP": ("EMBEDDING_LOOKUP(i:int32[4], x[5,6,7])", "[4, 6, 7]"),
    "EMBEDDING_LOOKUP by a scalar": ("EMBEDDING_LOOKUP(i:int32[], x[5,6])", "[*]"),
    "EMBEDDING_LOOKUP in a scalar": ("EMBEDDING_LOOKUP(i:int32[4], x[])", "[*]"),
    "ONE_HOT": (f"ONE_HOT(i:int32[2,3], {one('d', 4)}, u:const[]{{1.0}}, v:const[]{{0.0}}, axis=-1)", "[2, 3, 4]"),
    "ONE_HOT in front": (
        f"ONE_HOT(i:int32[2,3], {one('d', 4)}, u:const[]{{1.0}}, v:const[]{{0.0}}, axis=0)",
        "[4, 2, 3]",
    ),
    "ONE_HOT behind": (
        f"ONE_HOT(i:int32[2,3], {one('d', 4)}, u:const[]{{1.0}}, v:const[]{{0.0}}, axis=2)",
        "[2, 3, 4]",
    ),
    "ONE_HOT further behind": (
        f"ONE_HOT(i:int32[2,3], {one('d', 4)}, u:const[]{{1.0}}, v:const[]{{0.0}}, axis=3)",
        "[*]",
    ),
    "ONE_HOT before the last": (
        f"ONE_HOT(i:int32[2,3], {one('d', 4)}, u:const[]{{1.0}}, v:const[]{{0.0}}, axis=-2)",
        "[*]",
    ),
    "ONE_HOT of a computed depth": (
        "ONE_HOT(i:int32[2,3], d:int32[], u:const[]{1.0}, v:const[]{0.0}, axis=1)",
        "[2, ?, 3]",
    ),
    "WHERE": ("WHERE(c:bool[5,6,7])", "[?, 3]", "int64"),
    "WHERE of an unranked tensor": ("WHERE(c:bool[*])", "[*]", "int64"),
}
LAYOUT = {
    "RESHAPE": (f"RESHAPE(x[2,3,4], {ints('s', 6, -1)})", "[6, 4]"),
    "RESHAPE by new_shape": ("RESHAPE(x[2,3,4], new_shape=[-1,3])", "[8, 3]"),
    "RESHAPE to a scalar, as old files write it": ("RESHAPE(x[1,1], new_shape=[0])", "[]"),
    "RESHAPE to nothing": (f"RESHAPE(x[2,0], {ints('s', 0, 7)})", "[0, 7]"),
    "RESHAPE beside a size of 0": (f"RESHAPE(x[2,0], {ints('s', 0, -1)})", "[0, ?]"),
    "RESHAPE to two open sizes": (f"RESHAPE(x[2,3,4], {ints('s', -1, 6, -1)})", "[?, 6, ?]"),
    "RESHAPE to computed sizes": ("RESHAPE(x[2,3,4], s:int32[2])", "[?, ?]"),
    "RESHAPE to as many sizes as are not known": ("RESHAPE(x[2,3,4], s:int32[?])", "[*]"),
    "RESHAPE by a matrix goes by new_shape": ("RESHAPE(x[2,3,4], s:const:int32[1,2]{4,6}, new_shape=[6,4])", "[6, 4]"),
    "RESHAPE by int64 goes by new_shape": ("RESHAPE(x[2,3,4], s:const:int64[2]{4,6}, new_shape=[6,4])", "[6, 4]"),
    "RESHAPE of an unranked tensor": (f"RESHAPE(x[*], {ints('s', 6, -1)})", "[6, ?]"),
    "EXPAND_DIMS": (f"EXPAND_DIMS(x[2,3], {one('a', 1)})", "[2, 1, 3]"),
    "EXPAND_DIMS behind": (f"EXPAND_DIMS(x[2,3], {one('a', 2)})", "[2, 3, 1]"),
    "EXPAND_DIMS in front, from the end": (f"EXPAND_DIMS(x[2,3], {one('a', -3)})", "[1, 2, 3]"),
    "EXPAND_DIMS further behind": (f"EXPAND_DIMS(x[2,3], {one('a', 3)})", "[?, ?, ?]"),
    "EXPAND_DIMS further in front": (f"EXPAND_DIMS(x[2,3], {one('a', -4)})", "[?, ?, ?]"),
    "EXPAND_DIMS at a computed place": ("EXPAND_DIMS(x[2,3], a:int32[])", "[?, ?, ?]"),
    "SQUEEZE": ("SQUEEZE(x[1,3,1], squeeze_dims=[-3])", "[3, 1]"),
    "SQUEEZE of all": ("SQUEEZE(x[1,3,1])", "[3]"),
    "SQUEEZE of a free size": ("SQUEEZE(x[1,?,1])", "[*]"),
    "SQUEEZE of an axis behind the last": ("SQUEEZE(x[1,3,1], squeeze_dims=[3])", "[*]"),
    "SQUEEZE of an axis that is there and one behind the last": ("SQUEEZE(x[1,3,1], squeeze_dims=[0,3])", "[*]"),
    "SQUEEZE of an axis before the first": ("SQUEEZE(x[1,3,1], squeeze_dims=[-4])", "[*]"),
    "TRANSPOSE": (f"TRANSPOSE(x[2,3,4], {ints('p', 2, 0, 1)})", "[4, 2, 3]"),
    "TRANSPOSE from the end": (f"TRANSPOSE(x[2,3,4], {ints('p', -1, 0, -2)})", "[4, 2, 3]"),
    "TRANSPOSE that names an axis twice": (f"TRANSPOSE(x[2,3,4], {ints('p', 2, 0, 0)})", "[?, ?, ?]"),
    "TRANSPOSE of two axes alone": (f"TRANSPOSE(x[2,3,4], {ints('p', 1, 0)})", "[?, ?, ?]"),
    "TRANSPOSE in a computed order": ("TRANSPOSE(x[2,3,4], p:int32[3])", "[?, ?, ?]"),
    "TILE": (f"TILE(x[2,3], {ints('m', 2, 5)})", "[4, 15]"),
    "TILE of one number": (f"TILE(x[2,3], {ints('m', 2)})", "[?, ?]"),
    "TILE by computed numbers": ("TILE(x[2,3], m:int32[2])", "[?, ?]"),
    "MATRIX_DIAG": ("MATRIX_DIAG(x[2,3])", "[2, 3, 3]"),
    "MATRIX_DIAG of a scalar": ("MATRIX_DIAG(x[])", "[*]"),
    "CONCATENATION": ("CONCATENATION(x[2,3], z[2,5], axis=1)", "[2, 8]"),
    "CONCATENATION from the end": ("CONCATENATION(x[2,3], z[4,3], axis=-2)", "[6, 3]"),
    "CONCATENATION behind the last axis": ("CONCATENATION(x[2,3], z[2,3], axis=2)", "[*]"),
    "CONCATENATION before the first axis": ("CONCATENATION(x[2,3], z[2,3], axis=-3)", "[*]"),
    "CONCATENATION of two ranks": ("CONCATENATION(x[2,3], z[2], axis=0)", "[*]"),
    "CONCATENATION with a free size": ("CONCATENATION(x[?,3], z[2,5], axis=1)", "[2, 8]"),
    "CONCATENATION of sizes that do not fit": ("CONCATENATION(x[4,3], z[2,5], axis=1)", "[*]"),
    "PACK": ("PACK(x[2,3], z[2,3], axis=1, values_count=2)", "[2, 2, 3]"),
    "PACK behind": ("PACK(x[5,3], z[5,3], axis=2, values_count=2)", "[5, 3, 2]"),
    "PACK in front, from the end": ("PACK(x[5,3], z[5,3], axis=-3, values_count=2)", "[2, 5, 3]"),
    "PACK further behind": ("PACK(x[5,3], z[5,3], axis=3, values_count=2)", "[*]"),
    "PACK further in front": ("PACK(x[5,3], z[5,3], axis=-4, values_count=2)", "[*]"),
    "PACK of two ranks": ("PACK(x[5,3], z[5], axis=0, values_count=2)", "[*]"),
    "PACK with a free size": ("PACK(x[?,3], z[5,3], axis=0, values_count=2)", "[2, 5, 3]"),
}
SIZES = {
    "SHAPE": ("SHAPE(x[2,3,4], out_type=INT32)", "[3]", "int32"),
    "SHAPE of an unranked tensor": ("SHAPE(x[*], out_type=INT32)", "[?]", "int32"),
    "RANK": ("RANK(x[2,3,4])", "[]", "int32"),
    "BROADCAST_ARGS": (f"BROADCAST_ARGS({ints('a', 2, 3)}, {ints('b', 4, 1, 1)})", "[3]", "int32"),
    "BROADCAST_ARGS of a length that is not known": (f"BROADCAST_ARGS(a:int32[?], {ints('b', 4)})", "[?]", "int32"),
    "RANGE": (f"RANGE({one('a', 1)}, {one('b', 8)}, {one('c', 3)})", "[3]", "int32"),
    "RANGE back": (f"RANGE({one('a', 8)}, {one('b', 1)}, {one('c', -2)})", "[4]", "int32"),
    "RANGE the other way": (f"RANGE({one('a', 8)}, {one('b', 1)}, {one('c', 2)})", "[0]", "int32"),
    "RANGE by 0": (f"RANGE({one('a', 1)}, {one('b', 8)}, {one('c', 0)})", "[?]", "int32"),
    "RANGE by a computed step": (f"RANGE({one('a', 1)}, {one('b', 8)}, c:int32[])", "[?]", "int32"),
    "FILL": (f"FILL({ints('d', 2, 3)}, v:const[]{{1.0}})", "[2, 3]"),
    "FILL of computed sizes": ("FILL(d:int32[2], v:const[]{1.0})", "[?, ?]"),
    "FILL of as many sizes as are not known": ("FILL(d:int32[?], v:const[]{1.0})", "[*]"),
    "BROADCAST_TO": (f"BROADCAST_TO(x[3], {ints('s', 2, 3)})", "[2, 3]"),
    "SPARSE_TO_DENSE": (
        f"SPARSE_TO_DENSE(i:int32[4,2], {ints('s', 5, 6)}, x[4], d:const[]{{0.0}}, validate_indices=False)",
        "[5, 6]",
    ),
    "SCATTER_ND": (f"SCATTER_ND(i:int32[4,1], x[4,6], {ints('s', 5, 6)})", "[5, 6]"),
    "RANDOM_UNIFORM": (f"RANDOM_UNIFORM({ints('s', 5, 6)})", "[5, 6]"),
    "RANDOM_STANDARD_NORMAL": (f"RANDOM_STANDARD_NORMAL({ints('s', 5, 6)})", "[5, 6]"),
}
ELEMENTWISE = {
    "SELECT by rows": ("SELECT(c:bool[5], x[5,3], z[5,3])", "[5, 3]"),
    "SELECT_V2": ("SELECT_V2(c:bool[5,1], x[3], z[1,1,3])", "[1, 5, 3]"),
    "ADD": ("ADD(x[5,1], z[3])", "[5, 3]"),
    "ADD of sizes that do not fit": ("ADD(x[5,4], z[3])", "[*]"),
    "MAXIMUM": ("MAXIMUM(x[5,1], z[3])", "[5, 3]"),
    "ADD_N": ("ADD_N(x[5,?], z[?,3])", "[5, 3]"),
    "ADD_N of two ranks": ("ADD_N(x[5,3], z[3])", "[*]"),
    "ADD_N of sizes that do not fit": ("ADD_N(x[5,3], z[5,4])", "[*]"),
    "ADD_N of unranked tensors": ("ADD_N(x[*], z[*])", "[*]"),
    "ADD_N of one that has a rank": ("ADD_N(x[*], z[5,4])", "[5, 4]"),
    "ADD of a constant of more axes to 8 bits": ("ADD(x:int8[2,3], c:const:int8[1,1,1]{5})", "[*]", "int8"),
    "SUB of a constant of more axes from 8 bits": ("SUB(x:uint8[2,3], c:const:uint8[1,1,1]{5})", "[*]", "uint8"),
    "MUL of a constant of more axes by 8 bits": ("MUL(c:const:int8[1,1,1]{5}, x:int8[2,3])", "[*]", "int8"),
    "ADD of a constant of as many axes to 8 bits": ("ADD(x:int8[2,3], c:const:int8[1,1]{5})", "[2, 3]", "int8"),
    "ADD of a constant of more elements to 8 bits": ("ADD(x:int8[2,3], c:const:int8[1,1,3])", "[1, 2, 3]", "int8"),
    "ADD of an input of more axes to 8 bits": ("ADD(x:int8[2,3], z:int8[1,1,1])", "[1, 2, 3]", "int8"),
    "MAXIMUM of 8 bits": ("MAXIMUM(x:int8[2,3], c:const:int8[1,1,1]{5})", "[1, 2, 3]", "int8"),
    "ADD of a constant of more axes to floats": ("ADD(x[2,3], c:const[1,1,1]{0.5})", "[1, 2, 3]"),
    "ADD of a constant of more axes to 16 bits": ("ADD(x:int16[2,3], c:const:int16[1,1,1]{5})", "[1, 2, 3]", "int16"),
    "SOFTMAX": ("SOFTMAX(x[5,3], beta=1.0)", "[5, 3]"),
}
BEHIND_BYTES = {
    "floats that are computed from 8 bits": (
        "f[*] = DEQUANTIZE(x:int8[2,3])\ny[*] = ADD(f, c:const[1,1,1]{0.5})",
        "[*]",
    ),
    "two operators behind 8 bits": (
        "f[*] = DEQUANTIZE(x:int8[2,3])\ng[*] = NEG(f)\ny[*] = MAXIMUM(g, c:const[1,1,1]{0.5})",
        "[*]",
    ),
    "behind an operator that moves elements": (
        (
            "f[*] = DEQUANTIZE(x:int8[2,3])\ng[*] = TRANSPOSE(f, p:const:int32[2]{1,0})\n"
            "y[*] = ADD(g, c:const[1,1,1]{0.5})"
        ),
        "[1, 3, 2]",
    ),
    "a constant of as many axes behind 8 bits": (
        "f[*] = DEQUANTIZE(x:int8[2,3])\ny[*] = ADD(f, c:const[1,1]{0.5})",
        "[2, 3]",
    ),
    "integers behind 8 bits": (
        (
            "f:int32[*] = CAST(x:int8[2,3], in_data_type=INT8, out_data_type=INT32)\n"
            "y:int32[*] = ADD(f, c:const:int32[1,1,1]{5})"
        ),
        "[1, 2, 3]",
    ),
}
"""Whole texts: XNNPACK may compute y by a lookup table, which loses the rank of a constant of one element."""
PARTS = {
    "UNPACK": ("a[*], y[*] = UNPACK(x[4,2,3], axis=1, num=2)", "[4, 3]"),
    "UNPACK from the end": ("a[*], y[*] = UNPACK(x[2,4,3], axis=-3, num=2)", "[4, 3]"),
    "UNPACK behind the last axis": ("a[*], y[*] = UNPACK(x[4,2,3], axis=3, num=2)", "[*]"),
    "UNPACK before the first axis": ("a[*], y[*] = UNPACK(x[4,2,3], axis=-4, num=2)", "[*]"),
    "UNPACK of an unranked tensor": ("a[*], y[*] = UNPACK(x[*], axis=1, num=2)", "[*]"),
    "SPLIT": (f"a[*], y[*] = SPLIT({one('d', 1)}, x[4,6,3], num_splits=2)", "[4, 3, 3]"),
    "SPLIT from the end": (f"a[*], y[*] = SPLIT({one('d', -3)}, x[4,6,3], num_splits=2)", "[2, 6, 3]"),
    "SPLIT behind the last axis": (f"a[*], y[*] = SPLIT({one('d', 2)}, x[4,6], num_splits=2)", "[?, ?]"),
    "SPLIT before the first axis": (f"a[*], y[*] = SPLIT({one('d', -3)}, x[4,6], num_splits=2)", "[?, ?]"),
    "SPLIT along a computed axis": ("a[*], y[*] = SPLIT(d:int32[], x[4,6], num_splits=2)", "[?, ?]"),
    "SPLIT_V": (
        f"a[*], y[*] = SPLIT_V(x[4,6,3], {ints('s', 2, 4)}, {one('d', 1)}, num_splits=2)",
        "[4, 4, 3]",
    ),
    "SPLIT_V of the rest": (f"a[*], y[*] = SPLIT_V(x[4,6], {ints('s', 1, -1)}, {one('d', 1)}, num_splits=2)", "[4, 5]"),
    "SPLIT_V from the end": (
        f"a[*], y[*] = SPLIT_V(x[4,6], {ints('s', 1, -1)}, {one('d', -2)}, num_splits=2)",
        "[3, 6]",
    ),
    "SPLIT_V behind the last axis": (
        f"a[*], y[*] = SPLIT_V(x[4,6], {ints('s', 2, 4)}, {one('d', 2)}, num_splits=2)",
        "[?, ?]",
    ),
    "SPLIT_V before the first axis": (
        f"a[*], y[*] = SPLIT_V(x[4,6], {ints('s', 2, 4)}, {one('d', -3)}, num_splits=2)",
        "[?, ?]",
    ),
    "SPLIT_V into three": (
        f"a[*], y[*] = SPLIT_V(x[4,6], {ints('s', 2, 2, 2)}, {one('d', 1)}, num_splits=2)",
        "[?, ?]",
    ),
    "SPLIT_V by computed sizes": (f"a[*], y[*] = SPLIT_V(x[4,6], s:int32[2], {one('d', 1)}, num_splits=2)", "[4, ?]"),
    "TOPK_V2": (f"y[*], i:int32[*] = TOPK_V2(x[4,6], {one('k', 2)})", "[4, 2]"),
    "the places of TOPK_V2": (f"a[*], y:int32[*] = TOPK_V2(x[4,6], {one('k', 2)})", "[4, 2]"),
    "TOPK_V2 of a computed number": ("y[*], i:int32[*] = TOPK_V2(x[4,6], k:int32[])", "[4, ?]"),
    "TOPK_V2 of a scalar": (f"y[*], i:int32[*] = TOPK_V2(x[], {one('k', 2)})", "[*]"),
    "the elements of UNIQUE": ("y[*], i:int32[*] = UNIQUE(x[4], idx_out_type=INT32)", "[?]"),
    "the places of UNIQUE": ("a[*], y:int32[*] = UNIQUE(x[4], idx_out_type=INT32)", "[4]"),
}
"""Whole texts of operators with several results."""
FAMILIES = (REDUCTIONS, IMAGES, PRODUCTS, SELECTION, LAYOUT, SIZES, ELEMENTWISE)
SHAPES = {name: row for family in FAMILIES for name, row in family.items()}


OF_X = "s:int32[4] = SHAPE(x[?,3,4,5], out_type=INT32)\n"
"""The sizes of an input: N, 3, 4, 5."""


def cut(length: object, begin: str = "1", end: str = "3", stride: str = "1", more: str = "") -> str:
    """A STRIDED_SLICE of 3, 4, 5, 6; an empty bound is computed."""
    bounds = (
        f"{name}:const:int32[1]{{{given}}}" if given else f"{name}:int32[1]"
        for name, given in zip("bet", (begin, end, stride), strict=True)
    )
    return f"y:int32[{length}] = STRIDED_SLICE(v:const:int32[4]{{3,4,5,6}}, {', '.join(bounds)}{more})"


# text -> the elements of y: numbers, N, or the range of one that has no name
ELEMENTS = {
    "STRIDED_SLICE": (cut(2), "4, 5"),
    "by 2": (cut(1, stride="2"), "4"),
    "back": (cut(2, begin="3", end="1", stride="-1"), "6, 5"),
    "a computed stride": (cut("?", stride=""), "not known"),
    "a computed begin": (cut(3, begin=""), "not known"),
    "a computed end": (cut(3, end=""), "not known"),
    "a computed begin that is masked": (cut(3, begin="", more=", begin_mask=1"), "3, 4, 5"),
    "a computed end that is masked": (cut(3, end="", more=", end_mask=1"), "4, 5, 6"),
    "a stride of 0": (cut("?", stride="0"), "not known"),
    "one element": (cut("", more=", shrink_axis_mask=1"), "4"),
    "one element from a computed place": (cut("", begin="", more=", shrink_axis_mask=1"), "not known"),
    "the last element": (cut("", begin="3", more=", shrink_axis_mask=1"), "6"),
    "the last element, from the end": (cut("", begin="-1", more=", shrink_axis_mask=1"), "6"),
    "the first element, from the end": (cut("", begin="-4", more=", shrink_axis_mask=1"), "3"),
    "an element behind the last": (cut("", begin="4", more=", shrink_axis_mask=1"), "not known"),
    "an element before the first": (cut("", begin="-5", more=", shrink_axis_mask=1"), "not known"),
    "one element from the masked begin": (cut("", begin="2", more=", begin_mask=1, shrink_axis_mask=1"), "3"),
    "bounds of an unknown length": (
        "y:int32[?] = STRIDED_SLICE(v:const:int32[4]{3,4,5,6}, b:int32[?], e:int32[?], t:int32[?])",
        "not known",
    ),
    "a part of an unknown length": (
        (
            "s:int32[?] = RESHAPE(w:int32[?], n:const:int32[1]{-1})\n"
            "y:int32[?] = STRIDED_SLICE(s, b:const:int32[1]{0}, e:const:int32[1]{1}, t:const:int32[1]{1})"
        ),
        "not known",
    ),
    "SLICE": (OF_X + "y:int32[2] = SLICE(s, b:const:int32[1]{1}, z:const:int32[1]{2})", "3, 4"),
    "SLICE of the rest": (OF_X + "y:int32[3] = SLICE(s, b:const:int32[1]{1}, z:const:int32[1]{-1})", "3, 4, 5"),
    "SLICE from a negative place": (
        OF_X + "y:int32[?] = SLICE(s, b:const:int32[1]{-1}, z:const:int32[1]{1})",
        "not known",
    ),
    "SLICE from a computed place": (OF_X + "y:int32[?] = SLICE(s, b:int32[1], z:const:int32[1]{1})", "not known"),
    "SLICE of a computed length": (OF_X + "y:int32[?] = SLICE(s, b:const:int32[1]{1}, z:int32[1])", "not known"),
    "GATHER": (OF_X + "y:int32[2] = GATHER(s, i:const:int32[2]{3,0})", "5, N"),
    "GATHER behind the last": (OF_X + "y:int32[2] = GATHER(s, i:const:int32[2]{4,0})", "not known"),
    "GATHER from a negative place": (OF_X + "y:int32[2] = GATHER(s, i:const:int32[2]{-1,0})", "not known"),
    "GATHER from computed places": (OF_X + "y:int32[2] = GATHER(s, i:int32[2])", "not known"),
    "REDUCE_PROD": (OF_X + "y:int32[] = REDUCE_PROD(s, a:const:int32[1]{0})", "0.."),
    "REDUCE_PROD of the last axis": (OF_X + "y:int32[] = REDUCE_PROD(s, a:const:int32[1]{-1})", "0.."),
    "REDUCE_PROD of a computed axis": (OF_X + "y:int32[] = REDUCE_PROD(s, a:int32[1])", "not known"),
    "NEG": (OF_X + "y:int32[4] = NEG(s)", "..0, -3, -4, -5"),
    "RANGE": ("y:int32[3] = RANGE(a:const:int32[]{1}, b:const:int32[]{7}, c:const:int32[]{2})", "1, 3, 5"),
    "RANGE back": ("y:int32[3] = RANGE(a:const:int32[]{7}, b:const:int32[]{1}, c:const:int32[]{-2})", "7, 5, 3"),
    "RANGE of nothing": ("y:int32[0] = RANGE(a:const:int32[]{7}, b:const:int32[]{1}, c:const:int32[]{2})", ""),
    "RANGE by 0": ("y:int32[?] = RANGE(a:const:int32[]{7}, b:const:int32[]{1}, c:const:int32[]{0})", "not known"),
    "FILL": ("y:int32[3] = FILL(a:const:int32[1]{3}, b:const:int32[]{7})", "7, 7, 7"),
    "FILL of a computed length": ("y:int32[?] = FILL(a:int32[1], b:const:int32[]{7})", "not known"),
    "FILL of a negative length": ("y:int32[?] = FILL(a:const:int32[1]{-3}, b:const:int32[]{7})", "not known"),
    "FLOOR_DIV by 0": (OF_X + "y:int32[4] = FLOOR_DIV(s, c:const:int32[]{0})", ".., .., .., .."),
    "FLOOR_MOD": (OF_X + "y:int32[4] = FLOOR_MOD(s, c:const:int32[]{4})", "0..3, 3, 0, 1"),
    "FLOOR_MOD by 0": (OF_X + "y:int32[4] = FLOOR_MOD(s, c:const:int32[]{0})", ".., .., .., .."),
    "MAXIMUM": (OF_X + "y:int32[4] = MAXIMUM(s, c:const:int32[]{4})", "4.., 4, 4, 5"),
    "MINIMUM": (OF_X + "y:int32[4] = MINIMUM(s, c:const:int32[]{4})", "0.., 3, 4, 4"),
    "SUB": (OF_X + "y:int32[4] = SUB(s, c:const:int32[]{1})", "-1.., 2, 3, 4"),
    "SUB of the sizes": (OF_X + "y:int32[4] = SUB(c:const:int32[]{9}, s)", "..9, 6, 5, 4"),
    "ADD of two lengths": ("y:int32[?] = ADD(a:const:int32[2]{1,2}, b:const:int32[3]{1,2,3})", "not known"),
    "ADD of a matrix": ("y:int32[2,2] = ADD(a:const:int32[2,2]{1,2,3,4}, b:const:int32[]{1})", "not known"),
    "GREATER": (OF_X + "y:bool[4] = GREATER(s, c:const:int32[]{4})", "0..1, 0, 0, 1"),
    "GREATER_EQUAL": (OF_X + "y:bool[4] = GREATER_EQUAL(s, c:const:int32[]{4})", "0..1, 0, 1, 1"),
    "LESS": (OF_X + "y:bool[4] = LESS(s, c:const:int32[]{4})", "0..1, 1, 0, 0"),
    "LESS_EQUAL": (OF_X + "y:bool[4] = LESS_EQUAL(s, c:const:int32[]{4})", "0..1, 1, 1, 0"),
    "EQUAL": (OF_X + "y:bool[4] = EQUAL(s, c:const:int32[]{4})", "0..1, 0, 1, 0"),
    "GREATER_EQUAL of any size": (OF_X + "y:bool[4] = GREATER_EQUAL(s, c:const:int32[]{0})", "1, 1, 1, 1"),
    "GREATER of any size": (OF_X + "y:bool[4] = GREATER(s, c:const:int32[]{-1})", "1, 1, 1, 1"),
    "LOGICAL_AND of a truth value": ("y:bool[] = LOGICAL_AND(a:const:bool[]{1}, b:bool[])", "0..1"),
    "LOGICAL_AND with false": ("y:bool[] = LOGICAL_AND(a:const:bool[]{0}, b:bool[])", "0"),
    "LOGICAL_AND of two that are true": ("y:bool[] = LOGICAL_AND(a:const:bool[]{1}, b:const:bool[]{1})", "1"),
    "BROADCAST_ARGS": (OF_X + "y:int32[4] = BROADCAST_ARGS(s, c:const:int32[4]{1,3,1,5})", "N, 3, 4, 5"),
    "BROADCAST_ARGS of a negative size": (
        OF_X + "y:int32[4] = BROADCAST_ARGS(s, c:const:int32[4]{1,3,-1,5})",
        "not known",
    ),
    "BROADCAST_ARGS that do not fit": (
        OF_X + "y:int32[4] = BROADCAST_ARGS(s, c:const:int32[4]{1,2,1,5})",
        "not known",
    ),
    "FLOOR_DIV": (OF_X + "y:int32[4] = FLOOR_DIV(s, c:const:int32[]{2})", "0.., 1, 2, 2"),
    "FLOOR_DIV by the sizes": (OF_X + "y:int32[4] = FLOOR_DIV(c:const:int32[]{12}, s)", ".., 4, 3, 2"),
    "SELECT_V2 of known truth values": (
        OF_X + "y:int32[4] = SELECT_V2(c:const:bool[4]{1,0,1,0}, s, o:const:int32[4]{7,8,9,10})",
        "N, 8, 4, 10",
    ),
    "SELECT_V2 of computed truth values": (
        OF_X + "y:int32[4] = SELECT_V2(c:bool[4], s, o:const:int32[4]{7,8,9,10})",
        ".., .., .., ..",
    ),
    "RANK": ("y:int32[] = RANK(x[?,3])", "2"),
    "CAST to bool": (OF_X + "y:bool[4] = CAST(s, in_data_type=INT32, out_data_type=BOOL)", "0..1, 1, 1, 1"),
    "CAST to bool and back": (
        (
            "b:bool[4] = CAST(v:const:int32[4]{0,1,-2,3}, in_data_type=INT32, out_data_type=BOOL)\n"
            "y:int32[4] = CAST(b, in_data_type=BOOL, out_data_type=INT32)"
        ),
        "0, 1, 1, 1",
    ),
    "UNSORTED_SEGMENT_PROD": (
        "y:int32[3] = UNSORTED_SEGMENT_PROD(v:const:int32[4]{2,3,4,5}, i:const:int32[4]{0,0,2,2}, n:const:int32[]{3})",
        "6, 1, 20",
    ),
    "UNSORTED_SEGMENT_PROD by computed numbers": (
        "y:int32[3] = UNSORTED_SEGMENT_PROD(v:const:int32[4]{2,3,4,5}, i:int32[4], n:const:int32[]{3})",
        "not known",
    ),
    "SPLIT": (OF_X + "a:int32[2], y:int32[2] = SPLIT(d:const:int32[]{0}, s, num_splits=2)", "4, 5"),
    "SPLIT, the first part": (OF_X + "y:int32[2], b:int32[2] = SPLIT(d:const:int32[]{0}, s, num_splits=2)", "N, 3"),
    "SPLIT_V": (
        OF_X + "a:int32[1], y:int32[3] = SPLIT_V(s, z:const:int32[2]{1,3}, d:const:int32[]{0}, num_splits=2)",
        "3, 4, 5",
    ),
    "UNPACK": (OF_X + "a:int32[], b:int32[], y:int32[], c:int32[] = UNPACK(s, axis=0, num=4)", "4"),
    "PACK": (
        OF_X
        + "u:int32[] = REDUCE_PROD(s, a:const:int32[1]{0})\ny:int32[2] = PACK(u, k:const:int32[]{7}, values_count=2)",
        "0.., 7",
    ),
    "CONCATENATION": (OF_X + "y:int32[6] = CONCATENATION(s, k:const:int32[2]{7,8}, axis=0)", "N, 3, 4, 5, 7, 8"),
    "CONCATENATION of matrices": (
        "y:int32[2,1] = CONCATENATION(k:const:int32[1,1]{7}, l:const:int32[1,1]{8}, axis=0)",
        "not known",
    ),
}

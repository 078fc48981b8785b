"""What the shape rules of ONNX return where an operand, an attribute or a size is not known, or is wrong.

A rule that returns more than it knows makes a wrong rewrite, so each guard of a rule has a row that fails without it.
"""

from __future__ import annotations

import pytest

import graphfix
from tests.support.notation import model
from tests.support.onnx.fixing import printed

LAYOUT = {
    "Unsqueeze by axes that are computed": ("y[*] = Unsqueeze(x[N,4], a:int64[2])", "y[?,?,?,?]"),
    "Unsqueeze by axes of unknown number": ("y[*] = Unsqueeze(x[N,4], a:int64[K])", "y[*]"),
    "Unsqueeze at one axis twice": ("y[*] = Unsqueeze(x[N,4], a:const{0,-4})", "y[*]"),
    "Unsqueeze at an axis that is not there": ("y[*] = Unsqueeze(x[N,4], a:const{3})", "y[*]"),
    "Unsqueeze at the last axis": ("y[*] = Unsqueeze(x[N,4], a:const{2,-4})", "y[1,N,1,4]"),
    "Squeeze by one axis that is computed": ("y[*] = Squeeze(x[N,1,4], a:int64[1])", "y[?,?]"),
    "Squeeze by two axes that are computed, perhaps one axis twice": ("y[*] = Squeeze(x[N,1,4], a:int64[2])", "y[*]"),
    "Squeeze of an unknown rank": ("y[*] = Squeeze(x[*], a:const{0})", "y[*]"),
    "Squeeze of every unit axis": ("y[*] = Squeeze(x[1,4,1])", "y[4]"),
    "Squeeze of every unit axis where a free size may be 1": ("y[*] = Squeeze(x[N,4,1])", "y[*]"),
    "Squeeze from both ends": ("y[*] = Squeeze(x[1,N,1,4], a:const{0,-2})", "y[N,4]"),
    "Squeeze of one axis by two numbers": ("y[*] = Squeeze(x[1,N,4], a:const{0,-3})", "y[*]"),
    "Squeeze of an axis that is not there": ("y[*] = Squeeze(x[1,N,4], a:const{3})", "y[*]"),
    "Squeeze of the first axis, from the end": ("y[*] = Squeeze(x[1,N,4], a:const{-3})", "y[N,4]"),
    "Transpose without an order": ("y[*] = Transpose(x[N,4])", "y[4,N]"),
    "Transpose that repeats an axis": ("y[*] = Transpose(x[N,4], perm=[0,0])", "y[*]"),
    "Transpose of another rank": ("y[*] = Transpose(x[N,4], perm=[0,1,2])", "y[*]"),
    "Reshape to an unknown rank": ("y[*] = Reshape(x[N,4], s:int64[K])", "y[*]"),
    "Reshape that copies a size": ("y[*] = Reshape(x[N,4], s:const{0,2,2})", "y[N,2,2]"),
    "Reshape that copies a size that is not there": ("y[*] = Reshape(x[N,4], s:const{2,2,0})", "y[2,2,?]"),
    "Reshape to no elements": ("y[*] = Reshape(x[N,0], s:const{0,3}, allowzero=1)", "y[0,3]"),
    "Reshape to no elements and what is left": ("y[*] = Reshape(x[N,0], s:const{0,-1}, allowzero=1)", "y[0,?]"),
    "Reshape with an odd flag": ("y[*] = Reshape(x[N,0], s:const{0,3}, allowzero=2)", "y[?,?]"),
    "Reshape to a negative size": ("y[*] = Reshape(x[N,4], s:const{-2,4})", "y[*]"),
    "Reshape of an unknown rank": ("y[*] = Reshape(x[*], s:const{0,-1,4})", "y[?,?,?]"),
    "Reshape to sizes that do not divide": ("y[*] = Reshape(x[3,5], s:const{4,-1})", "y[4,?]"),
    "Reshape with what is left of no elements": ("y[*] = Reshape(x[3,0], s:const{0,-1})", "y[3,0]"),
    "Reshape to sizes that may not divide a free size": ("y[*] = Reshape(x[N,4,6], s:const{8,-1})", "y[8,?]"),
    "Gather": ("y[*] = Gather(x[N,4], i:int64[2,K], axis=1)", "y[N,2,K]"),
    "Gather along an axis from the end": ("y[*] = Gather(x[N,4], i:int64[2,K], axis=-2)", "y[2,K,4]"),
    "Gather behind the last axis": ("y[*] = Gather(x[N,4], i:int64[2], axis=2)", "y[*]"),
    "Gather before the first axis": ("y[*] = Gather(x[N,4], i:int64[2], axis=-3)", "y[*]"),
    "Gather from an unknown rank": ("y[*] = Gather(x[*], i:int64[2])", "y[*]"),
    "Gather by indices of unknown rank": ("y[*] = Gather(x[N,4], i:int64[*])", "y[*]"),
    "GatherND": ("y[*] = GatherND(x[N,4,5], i:int64[2,1])", "y[2,4,5]"),
    "GatherND in a batch": ("y[*] = GatherND(x[N,4,5], i:int64[N,3,1], batch_dims=1)", "y[N,3,5]"),
    "GatherND of single elements": ("y[*] = GatherND(x[N,4], i:int64[3,2])", "y[3]"),
    "GatherND by too many numbers": ("y[*] = GatherND(x[N,4], i:int64[3,3])", "y[*]"),
    "GatherND in a batch of all axes of the indices": ("y[*] = GatherND(x[2,4,5], i:int64[2], batch_dims=1)", "y[*]"),
    "GatherND by an unknown count of numbers": ("y[*] = GatherND(x[N,4], i:int64[3,K])", "y[*]"),
    "GatherND by a scalar": ("y[*] = GatherND(x[N,4], i:int64[])", "y[*]"),
    "GatherND in a negative batch": ("y[*] = GatherND(x[N,4], i:int64[3,1], batch_dims=-1)", "y[*]"),
    "Tile": ("y[*] = Tile(x[N,4], r:const{1,2})", "y[N,8]"),
    "Tile by computed repeats": ("y[*] = Tile(x[N,4], r:int64[2])", "y[?,?]"),
    "Tile by too few repeats": ("y[*] = Tile(x[N,4], r:const{2})", "y[?,?]"),
    "Tile by a negative number": ("y[*] = Tile(x[N,4], r:const{1,-1})", "y[?,?]"),
    "Tile to no elements": ("y[*] = Tile(x[N,4], r:const{1,0})", "y[N,0]"),
    "Tile of an unknown rank": ("y[*] = Tile(x[*], r:const{1,0})", "y[*]"),
    "Flatten": ("y[*] = Flatten(x[N,4,5])", "y[N,20]"),
    "Flatten in front of the first axis": ("y[*] = Flatten(x[3,4,5], axis=0)", "y[1,60]"),
    "Flatten behind the last axis": ("y[*] = Flatten(x[3,4,5], axis=3)", "y[60,1]"),
    "Flatten from the end": ("y[*] = Flatten(x[3,4,5], axis=-1)", "y[12,5]"),
    "Flatten at the first axis, from the end": ("y[*] = Flatten(x[3,4,5], axis=-3)", "y[1,60]"),
    "Flatten at an axis that is not there": ("y[*] = Flatten(x[3,4,5], axis=4)", "y[?,?]"),
    "Flatten at an axis that is not there, from the end": ("y[*] = Flatten(x[3,4,5], axis=-4)", "y[?,?]"),
    "Flatten of an unknown rank": ("y[*] = Flatten(x[*])", "y[?,?]"),
    "DepthToSpace": ("y[*] = DepthToSpace(x[N,8,3,W], blocksize=2)", "y[N,2,6,?]"),
    "DepthToSpace of channels that do not divide": ("y[*] = DepthToSpace(x[N,6,3,4], blocksize=2)", "y[N,?,6,8]"),
    "DepthToSpace of another rank": ("y[*] = DepthToSpace(x[N,8,3], blocksize=2)", "y[?,?,?]"),
    "DepthToSpace by 0": ("y[*] = DepthToSpace(x[N,8,3,4], blocksize=0)", "y[?,?,?,?]"),
    "DepthToSpace by 1": ("y[*] = DepthToSpace(x[N,8,3,4], blocksize=1)", "y[N,8,3,4]"),
    "DepthToSpace of an unknown rank": ("y[*] = DepthToSpace(x[*], blocksize=2)", "y[*]"),
    "SpaceToDepth": ("y[*] = SpaceToDepth(x[N,2,6,4], blocksize=2)", "y[N,8,3,2]"),
    "SpaceToDepth of rows that do not divide": ("y[*] = SpaceToDepth(x[N,2,5,4], blocksize=2)", "y[N,8,?,2]"),
    "SpaceToDepth of another rank": ("y[*] = SpaceToDepth(x[N,2,4], blocksize=2)", "y[?,?,?]"),
    "SpaceToDepth by 0": ("y[*] = SpaceToDepth(x[N,2,6,4], blocksize=0)", "y[?,?,?,?]"),
    "SpaceToDepth by 1": ("y[*] = SpaceToDepth(x[N,2,6,4], blocksize=1)", "y[N,2,6,4]"),
    "SpaceToDepth of an unknown rank": ("y[*] = SpaceToDepth(x[*], blocksize=2)", "y[*]"),
}


@pytest.mark.parametrize(("text", "result"), LAYOUT.values(), ids=LAYOUT)
def test_a_layout_rule_returns_what_is_known(text: str, result: str) -> None:
    (line,) = printed(graphfix.load(model(text)))
    assert line.startswith(f"{result} = ")

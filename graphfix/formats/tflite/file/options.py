"""The builtin options that graphfix reads: the fields of each member of the options unions."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from graphfix.formats.tflite.file.reader import FlatBuffer
from graphfix.formats.tflite.file.records import Options
from graphfix.formats.tflite.file.schema import OPERATOR, Layout, layout

_CONVOLUTION: Final = "padding:b stride_w:i stride_h:i"
_DILATIONS: Final = "dilation_w_factor:i=1 dilation_h_factor:i=1"
_ACTIVATION: Final = "fused_activation_function:b"
_CORNERS: Final = "align_corners:? half_pixel_centers:?"

_FIRST: Final[Mapping[int, str]] = {
    1: f"{_CONVOLUTION} {_ACTIVATION} {_DILATIONS}",  # CONV_2D
    2: f"{_CONVOLUTION} depth_multiplier:i {_ACTIVATION} {_DILATIONS}",  # DEPTHWISE_CONV_2D
    5: f"{_CONVOLUTION} filter_width:i filter_height:i {_ACTIVATION}",  # pools
    8: f"{_ACTIVATION} weights_format:b keep_num_dims:?",  # FULLY_CONNECTED
    9: "beta:f",  # SOFTMAX
    10: f"axis:i {_ACTIVATION}",  # CONCATENATION
    11: _ACTIVATION,  # ADD
    15: f"-:i -:i {_CORNERS}",  # RESIZE_BILINEAR
    16: "subgraph:I",  # CALL
    17: "new_shape:i*",  # RESHAPE
    19: "block_size:i",  # SPACE_TO_DEPTH
    21: _ACTIVATION,  # MUL
    23: "axis:i batch_dims:i",  # GATHER
    28: _ACTIVATION,  # SUB
    27: "keep_dims:?",  # MEAN, SUM, REDUCE_*
    30: "squeeze_dims:i*",  # SQUEEZE
    32: "begin_mask:i end_mask:i ellipsis_mask:i new_axis_mask:i shrink_axis_mask:i offset:?",  # STRIDED_SLICE
    35: "num_splits:i",  # SPLIT
    37: "in_data_type:b out_data_type:b",  # CAST
    40: "output_type:b",  # ARG_MAX
    49: f"{_CONVOLUTION} {_ACTIVATION}",  # TRANSPOSE_CONV
    55: "out_type:b",  # SHAPE
    57: "output_type:b",  # ARG_MIN
    59: "values_count:i axis:i",  # PACK
    61: "axis:i",  # ONE_HOT
    64: "num:i axis:i",  # UNPACK
    71: f"{_ACTIVATION} cell_clip:f proj_clip:f time_major:? asymmetric_quantize_inputs:? diagonal_recurrent_tensors:?",
    # 71: UNIDIRECTIONAL_SEQUENCE_LSTM
    74: _CORNERS,  # RESIZE_NEAREST_NEIGHBOR
    79: "num_splits:i",  # SPLIT_V
    92: "then_subgraph_index:i else_subgraph_index:i",  # IF
    93: "cond_subgraph_index:i body_subgraph_index:i",  # WHILE
    94: "block_size:i",  # DEPTH_TO_SPACE
    101: "adj_x:? adj_y:?",  # BATCH_MATMUL
    102: "exclusive:? reverse:?",  # CUMSUM
    103: "init_subgraph_index:i",  # CALL_ONCE
    116: "approximate:?",  # GELU
}
"""For each member of the union BuiltinOptions, its fields by slot; `i*` and `q*` are vectors, `-` is not read."""

_SECOND: Final[Mapping[int, str]] = {
    2: "broadcast_dimensions:q*",  # STABLEHLO_BROADCAST_IN_DIM
    15: "cond_subgraph_index:i body_subgraph_index:i",  # STABLEHLO_WHILE
    21: "-:o decomposition_subgraph_index:i",  # STABLEHLO_COMPOSITE
    23: "branch_subgraph_indices:i*",  # STABLEHLO_CASE
}
"""For each member of the union BuiltinOptions2, its fields by slot; `i*` and `q*` are vectors, `-` is not read."""

LAYOUTS: Final[Mapping[tuple[str, int], Layout]] = {
    (union, kind): layout("options", fields)
    for union, kinds in (("builtin_options", _FIRST), ("builtin_options_2", _SECOND))
    for kind, fields in kinds.items()
}
BODIES: Final = frozenset(name for form in LAYOUTS.values() for name in form.names if "subgraph" in name)
"""The names of the options that contain indices of subgraphs, which the operator runs."""


def read_options(flat: FlatBuffer, place: int) -> Mapping[str, object]:
    """Read the builtin options of the Operator table at `place`, by the schema's names.

    A missing field has the schema's default; a missing vector is (). Return {} if the operator has no options, or
    options that graphfix does not read. Raises MalformedError if a table or vector is broken.
    """
    found = flat.fields(place, OPERATOR)
    for union in ("builtin_options", "builtin_options_2"):
        form = LAYOUTS.get((union, found.get(f"{union}_type", 0)))
        if form is not None and union in found:
            return _values(flat, found[union], form)
    return {}


def _values(flat: FlatBuffer, place: int, form: Layout) -> dict[str, object]:
    """Read the fields of an options table by name, without those named `-`."""
    read = {"i*": flat.integers, "q*": flat.long_integers}
    return {
        name: read[kind](value) if kind in read else value
        for name, kind, value in zip(form.names, form.formats, flat.table(place, form), strict=True)
        if name != "-"
    }


def options_of(kind: int, values: Mapping[str, object]) -> Options:
    """Return new builtin options with these values; `kind` is the number of the member of BuiltinOptions.

    Values that are no fields of this member are dropped.
    """
    form = LAYOUTS.get(("builtin_options", kind))
    slots = () if form is None else enumerate(zip(form.names, form.formats, strict=True))
    return Options(kind, tuple((slot, format_, values[name]) for slot, (name, format_) in slots if name in values))


def values_of(options: Options) -> Mapping[str, object]:
    """Return the values of new builtin options by name, as `read_options` will read them from the written file."""
    form = LAYOUTS.get(("builtin_options", options.kind))
    if form is None:
        return {}
    given = {slot: value for slot, _, value in options.fields}
    fields = enumerate(zip(form.names, form.formats, form.defaults, strict=True))
    return {
        name: given.get(slot, () if format_.endswith("*") else default)
        for slot, (name, format_, default) in fields
        if name != "-"
    }


def bodies(options: Mapping[str, object]) -> list[int]:
    """Return the indices of the subgraphs that an operator with these options runs."""
    found: list[int] = []
    for name in BODIES.intersection(options):
        value = options[name]
        found.extend([value] if isinstance(value, int) else value if isinstance(value, tuple) else ())
    return found

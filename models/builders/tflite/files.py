"""Small TFLite models, each with one feature of a file, a body or a broadcast that is written out already."""

from __future__ import annotations

from models.builders.tflite.features import ARITHMETIC, Feature
from models.builders.tflite.text import Signature

_EXPLICIT = (
    Feature(
        "explicit/broadcast_to",
        "BROADCAST_TO that changes the rank",
        """
        b:T[2,3] = BROADCAST_TO(x:T[3], s:const:int32{2,3})
        y:T[2,3] = ADD(b, z:T[2,3])
        """,
        ARITHMETIC,
    ),
    Feature(
        "explicit/broadcast_to_no_op",
        "BROADCAST_TO to the shape that is there",
        """
        b:T[2,3] = BROADCAST_TO(x:T[2,3], s:const:int32{2,3})
        y:T[2,3] = ADD(b, z:T[2,3])
        """,
        ARITHMETIC,
    ),
    Feature(
        "explicit/tile",
        "TILE that stretches and TILE that does nothing",
        """
        b:T[2,3] = TILE(x:T[1,3], m:const:int32{2,1})
        c:T[2,3] = TILE(b, n:const:int32{1,1})
        y:T[2,3] = ADD(c, z:T[2,3])
        """,
        ("float32", "int32"),
    ),
    Feature(
        "explicit/tile_int8",
        "the same in int8, where TILE is of version 3",
        """
        b:int8[2,3] = TILE(x:int8[1,3], m:const:int32{2,1})
        c:int8[2,3] = TILE(b, n:const:int32{1,1})
        y:int8[2,3] = ADD(c, z:int8[2,3])
        """,
        kind="partly",
    ),
    Feature(
        "explicit/run_time_form",
        "free sizes already stretched by SHAPE, BROADCAST_ARGS and BROADCAST_TO: nothing is left to do",
        """
        sx:int32[2] = SHAPE(x[M,3], out_type=INT32)
        sy:int32[2] = SHAPE(z[1,N], out_type=INT32)
        s:int32[2] = BROADCAST_ARGS(sx, sy)
        a[M,N] = BROADCAST_TO(x, s)
        b[M,N] = BROADCAST_TO(z, s)
        y[M,N] = ADD(a, b)
        """,
    ),
    Feature(
        "explicit/broadcast_in_dim",
        "STABLEHLO_BROADCAST_IN_DIM along the first and along the last axis",
        """
        a[2,3] = STABLEHLO_BROADCAST_IN_DIM(x[2], broadcast_dimensions=[0])
        b[2,3] = STABLEHLO_BROADCAST_IN_DIM(z[3], broadcast_dimensions=[1])
        y[2,3] = ADD(a, b)
        """,
        kind="no kernel",
    ),
)

_CONTAINERS = (
    Feature(
        "bodies/if",
        "IF: both branches broadcast",
        """
        y:T[2,3] = IF(c:bool[], x:T[2,3], b:T[3], then=yes, else=no)
        subgraph yes(x:T[2,3], b:T[3]):
        t:T[2,3] = ADD(x, b)
        subgraph no(x:T[2,3], b:T[3]):
        e:T[2,3] = MUL(x, s:const:T[])
        """,
        ARITHMETIC,
    ),
    Feature(
        "bodies/while",
        "WHILE: the condition and the body broadcast",
        """
        last:int32[], y:T[2,3] = WHILE(i:int32[], x:T[2,3], cond=test, body=turn)
        subgraph test(i:int32[], x:T[2,3]):
        go:bool[1] = LESS(i, n:const:int32[1]{5})
        subgraph turn(i:int32[], x:T[2,3]) -> j, w:
        j:int32[] = ADD(i, one:const:int32[]{1})
        w:T[2,3] = ADD(x, b:const:T[3])
        """,
        ARITHMETIC,
        options={"outputs": ["last", "y"]},
    ),
    Feature(
        "files/signatures",
        "two signatures, one for each of two subgraphs, whose names are not the tensors'",
        """
        y[2,3] = ADD(x[2,3], b:const[3])
        subgraph second:
        w[2,2,3] = MUL(z[2,2,3], c:const[3])
        """,
        options={
            "signatures": {
                "serving_default": Signature("main", {"image": "x"}, {"scores": "y"}),
                "scaled": Signature("second", {"image": "z"}, {"scores": "w"}),
            }
        },
    ),
    Feature(
        "files/archive",
        "metadata entries, and a ZIP with labels behind the model",
        "y[2,3] = ADD(x[2,3], b:const[3])",
        options={
            "metadata": {"min_runtime_version": b"1.5.0".ljust(16, b"\0"), "note": b"kept as it is"},
            "archive": {"labels.txt": b"cat\ndog\n", "vocabulary.txt": b"a\nb\n"},
        },
    ),
    Feature(
        "files/control_dependencies",
        "a metadata entry that names operators by index (version 1, one subgraph, one edge: 0 before 1)",
        """
        s[2,3] = ADD(x[2,3], b:const[3])
        y[2,3] = MUL(z[2,3], c:const[3])
        """,
        options={"metadata": {"model_control_dependencies": bytes([1, 1, 1, 0, 2])}, "outputs": ["s", "y"]},
    ),
)

FILE_FEATURES = (*_EXPLICIT, *_CONTAINERS)

"""The whole pipeline on random small TFLite models: nothing changes but how broadcasts are spelled."""

from __future__ import annotations

import numpy as np
import pytest

from graphfix.shapes.dim import Dim, Shape
from tests.support import engine
from tests.support.fuzz.tflite.compare_runs import broadcasts, difference, examine, no_instance
from tests.support.fuzz.tflite.graph_builder import Draft, Known, aligned, together
from tests.support.fuzz.tflite.graphs import draft
from tests.support.runtimes.litert_groups import Ran

SEEDS = [
    range(40),
    pytest.param(range(40, 180), marks=pytest.mark.ci),
    pytest.param(range(180, 4300), marks=pytest.mark.full),
]

ONCE_WRONG = {
    "SELECT of single elements has the shape that the file states": """
        # shape x 1
        s:int32[*] = SELECT(c:bool[1], k:const:int32[1], x:int32[*])
    """,
    "operands of SELECT_V2 with a size above 1 are no single elements": """
        # sizes N=2 M=3
        s[?,3,?] = SELECT_V2(c:const:bool[3,1], x[N,3,M], n:const[1,1])
        t[*] = SELECT_V2(d:const:bool[3,1], x, m:const[1,3,1])
        # shape z 2,3,3
        u[*] = SELECT_V2(d, z[*], x)
    """,
    "a constant with a scale for each index is not written out without elements": """
        # scales c 0.25,0.5 0,0 0
        d[2,1] = DEQUANTIZE(c:const:int8[2,1])
        m[?,0] = MUL(d, x[N,0])
    """,
    "a copy of a constant stays where LiteRT refuses the constant itself": """
        b:int8[3,3,0] = BROADCAST_TO(c:const:int8[3,3,0], t:const:int32[3]{3, 3, 0})
        s:int32[3] = SHAPE(c, out_type=INT32)
        r:int8[3,3,0] = RESHAPE(b, s)
        y:float32[?,3,3] = ADD(x[N,3,3], z[3])
    """,
    "a copy of a constant that is dequantized stays": """
        # sizes N=2
        p[?,?,?,?] = PAD(x[2,N,3,2], a:const:int32[4,2]{0, 0, 0, 1, 0, 1, 0, 1})
        i[?,?,?,?] = IF(k:const:bool[]{False}, x, p, then=yes, else=no)
        m:int8[1,3,?] = MAXIMUM(z:int8[1,3,N], z)
        subgraph yes(q[2,?,3,2], r[?,?,?,?]) -> s:
        s[?,?,?,?] = MEAN(q, e:const:int32[2]{0, 2}, keep_dims=True)
        subgraph no(u[2,?,3,2], v[?,?,?,?]) -> d:
        f:int32[4] = SHAPE(c:const:int8[1,1,2,2], out_type=INT32)
        g:int32[?] = STRIDED_SLICE(f, h:const:int32[1]{0}, j:const:int32[1]{2}, l:const:int32[1]{1})
        t:int32[4] = CONCATENATION(g, w:const:int32[2]{2, 2}, axis=0)
        b:int8[1,1,2,2] = BROADCAST_TO(c, t)
        d[1,1,2,2] = DEQUANTIZE(b)
    """,
    "the axis of several scales is lifted with them": """
        # scales c 0.25,0.5 0,0 0
        d[2,1] = DEQUANTIZE(c:const:int8[2,1])
        y[?,2,3] = ADD(x[N,2,3], d)
    """,
    "places of operators that run bodies change": """
        # sizes N=2
        a[2,?,3] = ADD(x[2,N,3], b[3])
        y[?,3] = IF(c:bool[], v[N,3], then=yes, else=no)
        subgraph yes(p[?,3]) -> q:
        q[?,3] = ADD(p, r:const[3])
        subgraph no(s[?,3]) -> t:
        t[?,3] = MUL(s, u:const[1,3])
    """,
    "a value that grows in a loop has sizes that no turn keeps": """
        # sizes N=1
        n:int32[], w[*] = WHILE(i:const:int32[]{0}, x[N,3], cond=test, body=step)
        subgraph test(j:int32[], v[?,3]) -> l:
        l:bool[] = LESS(j, three:const:int32[]{3})
        subgraph step(k:int32[], s[?,3]) -> m, t:
        m:int32[] = ADD(k, one:const:int32[]{1})
        t[?,3] = ADD(s, c:const[2,1])
    """,
}
"""What must hold -> the model."""


@pytest.mark.parametrize("seeds", SEEDS, ids=str)
def test_random_models_compute_the_same_and_nothing_is_left_to_do(seeds: range) -> None:
    found, silent = examine({seed: draft(seed) for seed in seeds})
    assert found == []
    assert silent < len(seeds) // 10


def test_models_that_once_came_out_wrong() -> None:
    found, silent = examine({at: Draft(text) for at, text in enumerate(ONCE_WRONG.values())}, every=True)
    assert found == []
    assert silent == 0


def test_an_assumption_is_noted_once() -> None:
    model = engine.load(Draft("y:bool[2,1,2] = LOGICAL_AND(a:bool[2,1,N], b:bool[2,1,2])").file())
    assert engine.fix(model, unknown="assume").assumes
    data = model.tobytes()
    again = engine.load(data)
    assert not engine.fix(again, unknown="assume").changed
    assert again.tobytes() == data


def test_a_draft_is_what_its_text_and_its_comments_say() -> None:
    made = Draft(
        "# sizes N=2 M=3\n# shape u 4,M\ny[?,3] = ADD(x:float32[N,3], u:float32[*])\nz:int8[2] = ABS(w:int8[2])"
    )
    assert made.sizes == {"N": 2, "M": 3, "K": 2, "L": 2}
    assert made.inputs == [("x", ("N", 3), "float32"), ("u", (4, "M"), "float32"), ("w", (2,), "int8")]


def test_shapes_broadcast_by_numpys_rule() -> None:
    assert together((2, 1, 3), (5, 3)) == (2, 5, 3)
    assert together((2,), (3,)) is None
    assert together((0,), (1,)) == (0,)


def test_a_size_of_a_broadcast_varies_where_that_of_an_operand_does() -> None:
    wide, flat, hidden = (
        Known("a", (2, 3), "", (True, False)),
        Known("b", (3,), "", (False,)),
        Known("c", (3,), "", None),
    )
    assert aligned([wide, flat]) == (True, False)
    assert aligned([wide, hidden]) is None


def test_the_comparison_sees_shapes_signs_and_failures() -> None:
    zero, minus = (np.zeros((1, 1), np.float32) for _ in range(2))
    fine = Ran((zero,))
    assert difference(fine, Ran((zero,))) == ""
    assert "other elements" in difference(fine, Ran((-minus,)))
    assert "not float32(1, 1)" in difference(fine, Ran((zero[0],)))
    assert "SIGABRT" in difference(fine, Ran(signal="SIGABRT"))
    assert "SIGABRT" in difference(Ran(error="no"), Ran(signal="SIGABRT"))
    assert "the original fails" in difference(Ran(error="no"), fine)
    assert difference(Ran(error="no"), Ran(error="neither")) == ""


def test_a_shape_is_an_instance_only_where_numbers_and_names_agree() -> None:
    free = Dim(("?x.0",))
    assert no_instance(Shape((free, 3)), (2, 3), {}) == ""
    assert no_instance(Shape((free, free)), (2, 3), {})
    assert no_instance(Shape((free, 3)), (2, 4), {})
    assert no_instance(Shape((free,)), (2, 3), {})
    assert no_instance(Shape((Dim(("?x.0",), 2),)), (1,), {})
    assert no_instance(Shape((free, Dim(("?y.0",)), Dim(("?x.0", "?y.0")))), (1, 3, 3), {}) == ""
    assert no_instance(Shape((free, Dim(("?y.0",)), Dim(("?x.0", "?y.0")))), (1, 3, 2), {})


def test_what_is_broadcast_still_is_seen() -> None:
    assert broadcasts([(2, 3), (3,)], (2, 3), None)
    assert not broadcasts([(2, 3), (1, 3)], (2, 3), None)
    assert broadcasts([(2, 3), (1, 3)], (2, 3), 0)
    assert not broadcasts([(2, 3), (1, 3)], (2, 3), 1)
    assert broadcasts([(2, 1), (1, 3)], (2, 3), 1)

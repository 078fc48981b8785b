"""Local functions: one summary a function, of what its calls agree on; deep nests stay linear."""

from __future__ import annotations

import time

import onnx
import pytest

from graphfix.formats.onnx.infer.analysis import _callers_first
from graphfix.formats.onnx.infer.functions import DEPTH, Calls
from graphfix.formats.onnx.infer.scope import scope_of
from tests.support import engine
from tests.support.notation import parsed
from tests.support.onnx.fixing import fixed, lines

HEAD = '<domain: "local", opset_import: ["" : 18, "local" : 1]>'


def view(text: str) -> list[str]:
    return [line for line in lines(engine.load(parsed(text)).graphs) if line.startswith("function")]


def test_calls_that_agree_give_the_functions_shapes() -> None:
    assert view(f"""main (float[2,3] x, float[3] b) => (float[2,3] y) {{ v = local.f(x, b) y = local.f(v, b) }}
        {HEAD} f (p, q) => (r) {{ r = Add(p, q) }}""") == ["function local.f: r[2,3] = Add(p[2,3], q[3])"]


def test_calls_that_differ_in_a_size_leave_it_open() -> None:
    assert view(f"""main (float[2,3] x, float[5,3] z) => (float[2,3] y, float[5,3] w) {{
            y = local.f(x) w = local.f(z) }}
        {HEAD} f (p) => (r) {{ r = Neg(p) }}""") == ["function local.f: r[?,3] = Neg(p[?,3])"]


def test_calls_that_differ_in_rank_leave_it_open() -> None:
    assert view(f"""main (float[2,3] x, float[3] z) => (float[2,3] y, float[3] w) {{ y = local.f(x) w = local.f(z) }}
        {HEAD} f (p) => (r) {{ r = Neg(p) }}""") == ["function local.f: r[*] = Neg(p[*])"]


def test_sizes_of_different_callers_are_no_one_symbol() -> None:
    """N of the first call and M of the second: nothing proves that operand and bias have one size inside."""
    text = f"""main (float[N] x, float[N] b, float[M] z, float[M] d) => (float[N] y, float[M] w) {{
            y = local.f(x, b) w = local.f(z, d) }}
        {HEAD} f (p, q) => (r) {{ r = Add(p, q) }}"""
    result = fixed(parsed(text), target="explicit")
    assert result.counts == {"materialize-broadcasts": 2}


def test_calls_with_the_same_shapes_return_no_one_size_that_depends_on_data() -> None:
    """Twice as many as x has elements that are not 0, and z: the name of that size holds a name of the function."""
    text = f"""main (float[N] x, float[N] z) => (float[M] y) {{ v = local.f(x) w = local.f(z) y = Add(v, w) }}
        {HEAD} f (p) => (r) {{
            places = NonZero(p)
            twice = Concat <axis = 1> (places, places)
            axis = Constant <value_ints = [0]> ()
            numbers = Squeeze(twice, axis)
            r = Cast <to = 1> (numbers) }}"""
    result = fixed(parsed(text), target="explicit")
    assert result.counts == {"materialize-broadcasts": 2}


def test_an_attribute_of_the_call_reaches_the_body() -> None:
    text = """main (float[2,3] x) => (float[3,2] y) { y = local.f <order = [1, 0]> (x) }
        <domain: "local", opset_import: ["" : 18]> f <order> (p) => (r) { r = Transpose <perm: ints = @order> (p) }"""
    assert view(text) == ["function local.f: r[3,2] = Transpose(p[2,3])"]


def test_a_body_has_the_attribute_that_the_call_gives_and_not_the_default() -> None:
    """Without it a Transpose turns the axes round, and a Concat has none."""
    text = """main (float[2,3,4] x) => (float[4,2,3] y) { y = local.f <order = [2, 0, 1], at = 1> (x) }
        <domain: "local", opset_import: ["" : 18]> f <order, at> (p) => (r) {
            t = Transpose <perm: ints = @order> (p)
            r = Concat <axis: int = @at> (t, t) }"""
    assert view(text) == [
        "function local.f: t[4,2,3] = Transpose(p[2,3,4])",
        "function local.f: r[4,4,3] = Concat(t[4,2,3], t[4,2,3])",
    ]


def test_an_attribute_that_the_call_leaves_out_leaves_the_result_open() -> None:
    text = """main (float[2,3] x) => (float[3,2] y) { y = local.f (x) }
        <domain: "local", opset_import: ["" : 18]> f <order> (p) => (r) { r = Transpose <perm: ints = @order> (p) }"""
    assert "r[3,2]" not in view(text)[0]
    assert "r[2,3]" not in view(text)[0]


def test_an_attribute_that_the_calls_disagree_on_leaves_the_result_open() -> None:
    text = """main (float[2,3] x) => (float[3,2] y, float[2,3] z) {
            y = local.f <order = [1, 0]> (x) z = local.f <order = [0, 1]> (x) }
        <domain: "local", opset_import: ["" : 18]> f <order> (p) => (r) { r = Transpose <perm: ints = @order> (p) }"""
    assert "r[3,2]" not in view(text)[0]
    assert "r[2,3]" not in view(text)[0]


def test_a_function_called_in_a_function_and_in_a_body() -> None:
    text = f"""main (bool c, float[2,3] x, float[3] b) => (float[2,3] y) {{
            y = If (c) <then_branch = yes () => (float[2,3] t) {{ t = local.outer(x, b) }},
                        else_branch = no () => (float[2,3] e) {{ e = local.inner(x, b) }}> }}
        {HEAD} inner (v, w) => (r) {{ r = Add(v, w) }}
        {HEAD} outer (v, w) => (r) {{ s = local.inner(v, w) r = Sub(s, w) }}"""
    assert view(text) == [
        "function local.outer: s[2,3] = inner(v[2,3], w[3])",
        "function local.outer: r[2,3] = Sub(s[2,3], w[3])",
        "function local.inner: r[2,3] = Add(v[2,3], w[3])",
    ]


def test_a_body_inside_a_function_is_a_scope() -> None:
    text = f"""main (bool c, float[2,3] x, float[3] b) => (float[2,3] y) {{ y = local.f(c, x, b) }}
        {HEAD} f (c, p, q) => (r) {{
            [pick] r = If (c) <then_branch = yes () => (float[2,3] t) {{ t = Add(p, q) }},
                               else_branch = no () => (float[2,3] e) {{ e = Identity(p) }}> }}"""
    result = fixed(parsed(text), target="ranks")
    assert "pick.then_branch: t[2,3] = Add(p[2,3], q_lifted[1,3])" in result.everything


def test_an_uncalled_function_is_left_as_it_is() -> None:
    text = f"""main (float[2,3] x) => (float[2,3] y) {{ y = Neg(x) }}
        {HEAD} f (p, q) => (r) {{ r = Add(p, q) }}"""
    result = fixed(parsed(text), target="explicit")
    assert result.after == result.before
    assert result.everything == ["main: y[2,3] = Neg(x[2,3])"]


def nest(levels: int) -> onnx.ModelProto:
    """Each level calls the next one twice: 2^levels additions if every call were followed."""
    functions = [f"{HEAD} f0 (v, w) => (r) {{ r = Add(v, w) }}"]
    functions += [
        f"{HEAD} f{at} (v, w) => (r) {{ s = local.f{at - 1}(v, w) r = local.f{at - 1}(s, w) }}"
        for at in range(1, levels + 1)
    ]
    calls = f"y = local.f{levels}(x, b)"
    return parsed(f"main (float[2,3] x, float[3] b) => (float[2,3] y) {{ {calls} }}\n" + "\n".join(functions))


def test_doubling_calls_25_levels_deep_are_followed_once_each() -> None:
    proto = nest(25)
    started = time.perf_counter()
    opened = engine.load(proto)
    assert time.perf_counter() - started < 10  # each call followed: 2^25 additions, hours
    assert [graph.path for graph in opened.graphs] == [
        "main",
        *(f"function local.f{at}" for at in range(25, -1, -1)),
    ]


@pytest.mark.parametrize("levels", [3, 25], ids=["few calls", "2^25 calls"])
def test_the_innermost_function_of_a_nest_is_rewritten(levels: int) -> None:
    result = fixed(nest(levels), target="explicit", stable=levels < 25)
    inside = [line.partition(": ")[2] for line in result.everything if line.startswith("function local.f0:")]
    assert inside[-1].startswith("r[") or inside[-1].startswith("r ")
    assert sum("Expand(" in line for line in inside) >= 1


BUILT_IN = {
    "of the standard domain": ("ai.onnx", "Relu", "[2,3]"),
    "of onnxruntime's": ("com.microsoft", "FastGelu", "[2,3]"),
    "that onnxruntime does not have": ("com.microsoft", "Unheard", "[*]"),
    "in a domain of its own": ("local", "Relu", "[4,3]"),
}


@pytest.mark.parametrize(("domain", "name", "shape"), BUILT_IN.values(), ids=BUILT_IN)
def test_a_function_with_the_name_of_an_operator_is_what_runtimes_run(domain: str, name: str, shape: str) -> None:
    proto = parsed(f"""main (float[2,3] x) => (float y) {{ y = {domain}.{name}(x) }}
        <domain: "{domain}", opset_import: ["" : 18]> {name} (p) => (r) {{ r = Concat <axis = 0> (p, p) }}""")
    del proto.opset_import[:]
    proto.opset_import.extend([onnx.helper.make_opsetid(*it) for it in (("", 18), ("local", 1), ("com.microsoft", 1))])
    proto.graph.output[0].type.tensor_type.ClearField("shape")
    assert lines(engine.load(proto).graphs)[0].startswith(f"main: y{shape} = ")


def test_each_call_is_read_with_its_own_shapes() -> None:
    proto = parsed(f"""main (float[2,3] x, float[5] z) => (float y, float w) {{ y = local.f(x) w = local.f(z) }}
        {HEAD} f (p) => (r) {{ r = Concat <axis = 0> (p, p) }}""")
    for value in proto.graph.output:
        value.type.tensor_type.ClearField("shape")
    main = [line for line in lines(engine.load(proto).graphs) if line.startswith("main")]
    assert main == ["main: y[4,3] = f(x[2,3])", "main: w[10] = f(z[5])"]


@pytest.mark.parametrize(("other", "result"), [("[1, 0]", "r[3,2]"), ("[0, 1]", "r[*]")])
def test_an_attribute_is_passed_on_where_all_calls_around_agree(other: str, result: str) -> None:
    text = f"""main (float[2,3] x) => (float[] y, float[] z) {{
            y = local.g <order = [1, 0]> (x) z = local.g <order = {other}> (x) }}
        {HEAD} g <order> (p) => (r) {{ r = local.f <order: ints = @order> (p) }}
        {HEAD} f <order> (p) => (r) {{ r = Transpose <perm: ints = @order> (p) }}"""
    assert f"function local.f: {result} = Transpose(p[2,3])" in view(text)


@pytest.mark.parametrize("order", ["abc", "cba", "bca", "acb"])
def test_functions_are_followed_from_their_callers_in_whatever_order_they_stand(order: str) -> None:
    bodies = {"a": "r = local.b(p)", "b": "r = local.c(p)", "c": "r = Neg(p)"}
    text = "main (float[2,3] x) => (float[2,3] y) { y = local.a(x) }\n"
    text += "\n".join(f"{HEAD} {name} (p) => (r) {{ {bodies[name]} }}" for name in order)
    assert view(text) == [
        "function local.a: r[2,3] = b(p[2,3])",
        "function local.b: r[2,3] = c(p[2,3])",
        "function local.c: r[2,3] = Neg(p[2,3])",
    ]


@pytest.mark.parametrize(
    ("open_now", "read"),
    [
        (["f"], False),
        (["g", "f", "h"], False),
        (["g"], True),
        ([str(at) for at in range(DEPTH)], True),
        ([str(at) for at in range(DEPTH + 1)], False),
    ],
    ids=["it calls itself", "it calls one that calls it", "another calls it", "deep", "too deep"],
)
def test_a_function_is_not_read_inside_of_itself_or_too_deep(open_now: list[str], *, read: bool) -> None:
    proto = parsed(f"main (float[2] x) => (float[2] y) {{ y = local.f(x) }} {HEAD} f (p) => (r) {{ r = Neg(p) }}")
    calls = Calls({("local", "f"): proto.functions[0]})
    calls._open += [("local", name) for name in open_now]
    was: list[int] = []
    found = calls.results(
        lambda *_: was.append(len(calls._open)), scope_of(proto.graph, "main", None, {}), proto.graph.node[0]
    )
    assert (len(found), was) == ((1, [len(open_now) + 1]) if read else (0, []))
    assert len(calls._open) == len(open_now)


def test_what_was_read_for_one_call_serves_for_the_same_call_again() -> None:
    proto = parsed(f"main (float[2] x) => (float[2] y) {{ y = local.f(x) }} {HEAD} f (p) => (r) {{ r = Neg(p) }}")
    calls, scope = Calls({("local", "f"): proto.functions[0]}), scope_of(proto.graph, "main", None, {})
    was: list[int] = []
    for _ in range(2):
        assert len(calls.results(lambda *_: was.append(1), scope, proto.graph.node[0])) == 1
    assert was == [1]


def test_functions_stand_behind_all_that_call_them_each_once() -> None:
    made = parsed(f"""main (float[2] x) => (float[2] y) {{ y = local.f(x) }}
        {HEAD} h (p) => (r) {{ r = Neg(p) }}
        {HEAD} f (p) => (r) {{ s = local.g(p) t = local.g(s) u = local.h(t) r = local.missing(u) }}
        {HEAD} g (p) => (r) {{ c = Cast <to = 9> (p)
            r = If (c) <then_branch = a () => (float[2] q) {{ q = local.k(p) }},
                else_branch = b () => (float[2] q) {{ q = local.h(p) }}> }}
        {HEAD} k (p) => (r) {{ r = local.h(p) }}""")
    bodies = {(function.domain, function.name): function for function in made.functions}
    assert _callers_first(bodies) == [("local", name) for name in "fgkh"]

"""The models of two MLIR documents: the RFC on element-wise TOSA operators, the Broadcastable trait."""

from __future__ import annotations

from models.builders.onnx.cases import Case, Kind, case

# name, kind, operator, operand shapes, declared result, what the document says. Dims: a number, ? for
# unknown, a name for a symbol; "*" is an unranked shape. The RFC's tensors are f32, the trait's i32; the
# condition of a select is a bool.
Row = tuple[str, Kind, str, tuple[str, ...], str, str]

RFC: tuple[Row, ...] = (
    (
        "dynamic_2d",
        "sound",
        "Add",
        ("?,?", "?,?"),
        "?,?",
        "fully dynamic in two dims: four run-time stretches",
    ),
    ("dynamic_2d_symbols", "sound", "Add", ("M,N", "P,Q"), "?,?", "the same with four symbols"),
    (
        "dynamic_2d_same",
        "sound",
        "Add",
        ("M,N", "M,N"),
        "M,N",
        "the same symbols on both: provably no stretch",
    ),
    (
        "unit_row_dynamic",
        "sound",
        "Add",
        ("1,?", "?,?"),
        "?,?",
        "a static 1 above an unknown, an unknown above one",
    ),
    ("incompatible", "refused", "Add", ("2,3", "4,3"), "?,?", "2 and 4 do not broadcast"),
    ("incompatible_both", "refused", "Add", ("5,7", "8,9"), "?,?", "neither axis broadcasts"),
    (
        "unit_row_static",
        "sound",
        "Add",
        ("1,5", "3,5"),
        "?,?",
        "a static stretch under a looser declared result",
    ),
    (
        "equal_static_2d",
        "sound",
        "Add",
        ("3,5", "3,5"),
        "?,?",
        "nothing to stretch, a looser declared result",
    ),
    ("half_dynamic", "sound", "Add", ("2,?", "?,?"), "?,?", "a static 2 above an unknown"),
    ("half_dynamic_swapped", "sound", "Add", ("?,?", "2,?"), "?,?", "the same with the operands exchanged"),
    ("static_dynamic_2d", "sound", "Add", ("2,2", "?,?"), "?,?", "static 2-D, unknown 2-D"),
    ("crossed_dynamic", "sound", "Add", ("?,2", "2,?"), "?,?", "each knows the axis that the other does not"),
    ("equal_static_1d", "sound", "Add", ("3", "3"), "3", "static dims of equal size"),
    ("unary_dynamic", "sound", "Abs", ("?",), "?", "an unknown dim in a unary operator"),
    ("unary_cast_result", "sound", "Abs", ("5",), "?", "the declared result is looser than the inferred one"),
    ("static_to_static", "sound", "Add", ("1", "3"), "3", "fully static broadcasting"),
    ("dynamic_to_static", "sound", "Add", ("5", "?"), "5", "the unknown dim is 1 or 5"),
    ("static_to_dynamic", "sound", "Add", ("1", "?"), "?", "a static 1 follows any size"),
    ("static_to_symbol", "sound", "Add", ("1", "N"), "N", "the same with a symbol"),
    ("dynamic_1d", "sound", "Add", ("?", "?"), "?", "fully dynamic: either may be 1"),
    ("dynamic_1d_symbols", "sound", "Add", ("N", "M"), "?", "the same with two symbols"),
    ("zero_dimensional", "sound", "Add", ("scalar", "scalar"), "scalar", "two scalars"),
    ("rank_expansion", "sound", "Add", ("3,4", "2,3,4"), "2,3,4", "one more axis on the left"),
    ("select_one_dynamic", "sound", "Where", ("2,?", "2,?", "2,?"), "2,?", "ternary, one unknown dim each"),
    ("select_symbols", "sound", "Where", ("2,K", "2,M", "2,N"), "2,?", "the same with three symbols"),
    ("result_stretched", "stale", "Add", ("1", "1"), "5", "a result is never stretched (Modification 1)"),
    (
        "result_cast",
        "sound",
        "Add",
        ("?", "?"),
        "5",
        "unknown, declared static (Modification 2, undone later)",
    ),
    ("erased_dims", "sound", "Add", ("2", "1"), "2", "static twin of dynamic_1d in the RFC's discussion"),
)

_TRAIT: tuple[Row, ...] = (
    ("exact_match", "sound", "Add", ("1,2", "1,2"), "1,2", "exact match of static sizes"),
    ("dynamic_match", "sound", "Add", ("?", "?"), "?", "unknown sizes that are to agree at run time"),
    ("unit", "sound", "Add", ("1", "4"), "4", "[1] is stretched to [4]"),
    ("looser_result", "sound", "Max", ("4",), "?", "one operand; the declared result is looser"),
    ("rank_expansion", "sound", "Add", ("4", "2,3,4"), "2,3,4", "[4] -> [1,1,4] -> [2,3,4]"),
    ("unranked_result", "unranked", "Max", ("2",), "*", "one operand; no shape is declared for the result"),
    ("unranked_operands", "unranked", "Add", ("*", "*"), "2", "nothing is known of the operands"),
    ("unranked_operand", "unranked", "Max", ("*", "4", "2,3,4"), "*", "n-ary, one operand unranked"),
    ("three_operands", "sound", "Max", ("4", "3,1", "2,1,1"), "2,3,4", "n-ary, every operand stretched"),
    (
        "three_incompatible",
        "refused",
        "Max",
        ("2", "1", "3"),
        "?",
        "jointly incompatible, though 1 fits both",
    ),
    ("bad_operands", "refused", "Add", ("3", "2"), "?", "incorrect: static, not equal"),
    ("bad_rank", "stale", "Add", ("3", "3"), "1,3", "incorrect: inferred and declared ranks differ"),
    (
        "bad_cast",
        "sound",
        "Add",
        ("?", "?"),
        "4",
        "called incorrect there, allowed by the document's own table",
    ),
    ("bad_result", "stale", "Add", ("2", "2"), "4", "incorrect: inferred [2], declared [4]"),
    ("bad_stretch", "stale", "Add", ("1", "1"), "4", "incorrect: a result does not broadcast"),
)

_WRITTEN: tuple[tuple[str, Kind, str, str], ...] = (
    (
        "rfc/consumer_broadcast",
        "sound",
        "the one element of a sum is stretched by its consumer",
        "main (float[1] a, float[1] b, float[5] c) => (float[5] z) { y = Add(a, b) z = Sub(c, y) }",
    ),
    (
        "rfc/value_info_looser",
        "sound",
        "a stored shape in the middle is looser than the inferred one",
        "main (float[1,5] a, float[3,5] b) => (float[3,5] z) <float[?,?] y> { y = Add(a, b) z = Abs(y) }",
    ),
    (
        "rfc/value_info_wrong_dim",
        "stale",
        "a stored shape in the middle has a wrong dim",
        "main (float[1,5] a, float[3,5] b) => (float[3,5] z) <float[4,5] y> { y = Add(a, b) z = Abs(y) }",
    ),
    (
        "rfc/value_info_wrong_rank",
        "stale",
        "a stored shape in the middle has a wrong rank",
        "main (float[1,5] a, float[3,5] b) => (float[3,5] z) <float[1,3,5] y> { y = Add(a, b) z = Abs(y) }",
    ),
    (
        "rfc/operations",
        "sound",
        "the ONNX counterpart of every operator that the RFC lists, with operands of two ranks",
        """main (float[2,3] f, float[3] g, uint8[2,3] i, uint8[3] j, bool[2,3] p, bool[3] q) =>
        (float[2,3] o0, uint8[2,3] o1, int32[2,3] o2, float[2,3] o3, float[2,3] o4, float[2,3] o5,
         float[2,3] o6, float[2,3] o7, float[2,3] o8, bool[2,3] o9, float[2,3] o10, float[2,3] o11,
         float[2,3] o12, float[2,3] o13, float[2,3] o14, float[2,3] o15, uint8[2,3] o16, uint8[2,3] o17,
         uint8[2,3] o18, uint8[2,3] o19, float[2,3] o20, bool[2,3] o21, bool[2,3] o22, bool[2,3] o23,
         bool[2,3] o24, uint8[2,3] o25, bool[2,3] o26, bool[2,3] o27, float[2,3] o28, float[2,3] o29,
         float[2,3] o30, float[2,3] o31, float[2,3] o32, float[2,3] o33)
        <float lo = {0.0}, float hi = {6.0}> {
            o0 = Abs(f) o1 = BitwiseNot(i) o2 = Cast <to: int = 6> (f) o3 = Ceil(f) o4 = Clip(f, lo, hi)
            o5 = Erf(f) o6 = Exp(f) o7 = Floor(f) o8 = Log(f) o9 = Not(p) o10 = Neg(f) o11 = Reciprocal(f)
            root = Sqrt(f) o12 = Reciprocal(root) o13 = Sigmoid(f) o14 = Tanh(f)
            o15 = Add(f, g) o16 = BitShift <direction: string = "RIGHT"> (i, j) o17 = BitwiseAnd(i, j)
            o18 = BitwiseOr(i, j) o19 = BitwiseXor(i, j) o20 = Div(f, g) o21 = Equal(f, g)
            o22 = Greater(f, g) o23 = GreaterOrEqual(f, g) o24 = And(p, q)
            o25 = BitShift <direction: string = "LEFT"> (i, j) o26 = Or(p, q) o27 = Xor(p, q)
            o28 = Max(f, g) o29 = Min(f, g) o30 = Mul(f, g) o31 = Pow(f, g) o32 = Sub(f, g)
            o33 = Where(q, f, g)
        }""",
    ),
    (
        "trait/element_types",
        "sound",
        "operands of two element types (no ONNX operator has the document's third one for its result)",
        "main (bool[2] c, int32[2] x, int32[2] y) => (int32[2] z) { z = Where(c, x, y) }",
    ),
)


def _declared(element: str, shape: str) -> str:
    """Return a tensor's type in onnx's notation, where `float[]` is unranked and `float` a scalar."""
    return {"scalar": element, "*": f"{element}[]"}.get(shape, f"{element}[{shape}]")


AT_THE_TOP = {"rfc/rank_expansion": "rfc_rank_expansion"}
"""What the README names."""


def _from_row(folder: str, element: str, row: Row) -> Case:
    name, kind, op, shapes, result, line = row
    elements = ["bool" if op == "Where" and index == 0 else element for index in range(len(shapes))]
    names = [f"x{index}" for index in range(len(shapes))]
    declared = [
        f"{_declared(*pair)} {name}" for pair, name in zip(zip(elements, shapes, strict=True), names, strict=True)
    ]
    text = (
        f"main ({', '.join(declared)}) => ({_declared(element, result)} y)"
        f" {{ [{op.lower()}] y = {op}({', '.join(names)}) }}"
    )
    return case(AT_THE_TOP.get(f"{folder}/{name}", f"{folder}/{name}"), kind, line, text)


def reference_cases() -> list[Case]:
    """Every combination of the RFC and every example of the trait's document that ONNX can express."""
    rows = [_from_row("rfc", "float", row) for row in RFC] + [_from_row("trait", "int32", row) for row in _TRAIT]
    return rows + [case(*written) for written in _WRITTEN]

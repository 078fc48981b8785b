"""What is named of single operators before a conversion, beside what the TOSA tools were seen to do (tables of docs).

Models that are rewritten first are left to tests/tosa, which run the tools.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from types import ModuleType

import pytest
import tosa_values_onnx
import tosa_values_tflite

from graphfix import formats
from graphfix.graph.edits import Leave
from graphfix.targets.tosa import questions
from tests.support.notation import model, node
from tests.support.places import ROOT

ROW = re.compile(
    r"\| (\w+) \| ([\w ]*) \| ([^|]*) \| (agrees[^|]*|(?:needlessly )?named: GF305 \w+: (.*?)(?: \(it agrees\))?) \|"
)
REWRITTEN = "linear to sizes"
"""Forms of Resize that are rewritten, and named then."""


def seen(document: str) -> Mapping[tuple[str, str, str], set[str | None]]:
    """By operator, types and form: why it is named; None where it agrees as it is."""
    found: dict[tuple[str, str, str], set[str | None]] = defaultdict(set)
    for row in map(ROW.fullmatch, (ROOT / "docs" / document).read_text(encoding="utf-8").splitlines()):
        if row is not None and not row[3].startswith(REWRITTEN):
            found[row[1], row[2], row[3].strip()].add(row[5])
    return found


@pytest.mark.parametrize(
    ("script", "document", "least"),
    [(tosa_values_onnx, "tosa-values-onnx.md", 290), (tosa_values_tflite, "tosa-values-tflite.md", 400)],
    ids=["onnx", "tflite"],
)
def test_what_the_tools_get_wrong_is_named_and_nothing_else(
    script: ModuleType, document: str, least: int, tmp_path: Path
) -> None:
    wanted = seen(document)
    assert len(wanted) >= least
    wrong = []
    for number, case in enumerate(script.cases()):
        reasons = wanted.get((case.operator, case.types, case.note))
        if reasons is None or (reasons == {None} and number % 3):  # a third of those that agree is enough
            continue
        path = tmp_path / f"m{case.suffix}"
        path.write_bytes(case.data)
        found = [left.reason for each in formats.load(path).graphs[0].nodes if (left := questions.unconvertible(each))]
        if not reasons & {*found, *([] if found else [None])}:
            wrong.append((case.operator, case.types, case.note, found))
    assert not wrong


def asked(text: str) -> Leave | None:
    """What is said of a node, whose attributes are tuples as in the views of both formats."""
    about = node(text)
    tuples = {name: tuple(value) if isinstance(value, list) else value for name, value in about.attributes.items()}
    return questions.unconvertible(replace(about, attributes=tuples))


ONNX = {
    "an average along two axes": ("y[1,1,1,1] = AveragePool(x[1,1,2,2], kernel_shape=[2,2])", None),
    "an average without dilations": (
        "y[1,1,1,1] = AveragePool(x[1,1,2,2], kernel_shape=[2,2], dilations=[1,1])",
        None,
    ),
    "an average with one of them": (
        "y[1,1,1,1] = AveragePool(x[1,1,2,3], kernel_shape=[2,2], dilations=[1,2])",
        "with dilations",
    ),
    "a transposed convolution": ("y[*] = ConvTranspose(x[1,2,4,4], w:const[2,3,2,2])", None),
    "pads alike": ("y[*] = ConvTranspose(x[1,2,4,4], w:const[2,3,2,2], pads=[1,0,1,0], group=1)", None),
    "pads that are not alike": ("y[*] = ConvTranspose(x[1,2,4,4], w:const[2,3,2,2], pads=[1,1,1,0])", "even pads"),
    "pads in front alone": ("y[*] = ConvTranspose(x[1,2,4,4], w:const[2,3,2,2], pads=[1,1,0,0])", "even pads"),
    "no padding by name": ("y[*] = ConvTranspose(x[1,2,4,4], w:const[2,3,2,2], auto_pad='VALID')", None),
    "the default by name": ("y[*] = ConvTranspose(x[1,2,4,4], w:const[2,3,2,2], auto_pad='NOTSET')", None),
    "padding by name": ("y[*] = ConvTranspose(x[1,2,4,4], w:const[2,3,2,2], auto_pad='SAME_UPPER')", "even pads"),
    "padding by the result": ("y[*] = ConvTranspose(x[1,2,4,4], w:const[2,3,2,2], output_shape=[5,5])", "even pads"),
    "a transposed convolution in groups": ("y[*] = ConvTranspose(x[1,2,4,4], w:const[2,3,2,2], group=2)", "in groups"),
    "a dilated one": ("y[*] = ConvTranspose(x[1,2,4,4], w:const[2,3,2,2], dilations=[2,1])", "with dilations"),
    "groups along two axes": ("y[*] = Conv(x[1,2,4,4], w:const[2,1,2,2], group=2)", None),
    "groups along three axes": ("y[*] = Conv(x[1,2,4,4,4], w:const[2,1,2,2,2], group=2)", "three axes"),
    "no groups along three axes": ("y[*] = Conv(x[1,2,4,4,4], w:const[2,2,2,2,2])", None),
    "training": (
        "y[2,3] = BatchNormalization(x[2,3], s[3], b[3], m[3], v[3], training_mode=1)",
        "numbers of float64",
    ),
    "no training": ("y[2,3] = BatchNormalization(x[2,3], s[3], b[3], m[3], v[3], training_mode=0)", None),
    "a sum along an axis that is given": ("y[2] = CumSum(x[2], a:const:int32[]{0})", None),
    "a sum along a computed axis": ("y[2] = CumSum(x[2], a:int32[])", "reads a constant as operand 'a'"),
    "a part that is given": ("y[2] = Dropout(x[2], r:const[]{0.5}, )", None),
    "a part that is computed": ("y[2] = Dropout(x[2], r[])", "reads a constant as operand 'r'"),
    "scales that are given": (
        "y:int8[2,2] = QLinearMatMul(a:int8[2,2], s:const[], z:const:int8[], b:int8[2,2], t:const[], u:const:int8[])",
        None,
    ),
    "a scale that is computed": (
        "y:int8[2,2] = QLinearMatMul(a:int8[2,2], s:const[], z:const:int8[], b:int8[2,2], t[], u:const:int8[])",
        "constant scales",
    ),
    "a slice in steps": (
        "y[2] = Slice(x[4], s:const:int64[1]{0}, e:const:int64[1]{4}, a:const:int64[1]{0}, t:const:int64[1]{2})",
        None,
    ),
    "a slice backwards": (
        "y[2] = Slice(x[4], s:const:int64[1]{3}, e:const:int64[1]{0}, a:const:int64[1]{0}, t:const:int64[1]{-1})",
        "negative steps",
    ),
    "a slice without steps": ("y[2] = Slice(x[4], s:const:int64[1]{-2}, e:const:int64[1]{4})", None),
    "a slice from the end along the last axis": (
        "y[2] = Slice(x[4], s:const:int64[1]{-2}, e:const:int64[1]{4}, a:const:int64[1]{-1})",
        None,
    ),
    "a pad": ("y[4] = Pad(x[2], p:const:int64[2]{1,1}, mode='reflect')", None),
    "a pad that wraps": ("y[4] = Pad(x[2], p:const:int64[2]{1,1}, mode='wrap')", "the mode wrap"),
    "elements replaced": ("y[2] = ScatterElements(x[2], i:const:int32[1]{0}, u[1], reduction='none')", None),
    "elements replaced, by default": ("y[2] = ScatterElements(x[2], i:const:int32[1]{0}, u[1])", None),
    "elements multiplied": (
        "y[2] = ScatterElements(x[2], i:const:int32[1]{0}, u[1], reduction='mul')",
        "reduction mul",
    ),
    "a linear resize": ("y[*] = Resize(x[1,1,2,2], , s:const[4]{1.0, 1.0, 2.0, 2.0}, mode='linear')", None),
    "a linear resize to sizes": (
        "y[*] = Resize(x[1,1,2,2], , , s:const:int64[4]{1, 1, 4, 4}, mode='linear')",
        "not by sizes",
    ),
    "a nearest resize": (
        "y[*] = Resize(x[1,1,2,2], , s:const[4]{1.0, 1.0, 2.0, 2.0})",
        "no nearest Resize with half_p",
    ),
    "a cubic resize": (
        "y[*] = Resize(x[1,1,2,2], , s:const[4]{1.0, 1.0, 2.0, 2.0}, mode='cubic')",
        "no cubic Resize",
    ),
    "values alone": ("y[4] = Concat(a[2], b[2], axis=0)", None),
    "a value and a constant": ("y[4] = Concat(a[2], b:const[2], axis=0)", "constant operand of a Concat"),
    "losses of scores": ("y[] = NegativeLogLikelihoodLoss(x[2,3], t:int32[2])", None),
    "losses along an axis": ("y[] = NegativeLogLikelihoodLoss(x[2,3,4], t:int32[2,4])", "losses of images"),
    "an exact Gelu": ("y[2] = Gelu(x[2], approximate='none')", None),
    "a Gelu by tanh": ("y[2] = Gelu(x[2], approximate='tanh')", "something else"),
    "an Einsum of two": ("y[2,2] = Einsum(a[2,2], b[2,2], equation='ij,jk->ik')", None),
    "an Einsum of three": (
        "y[2,2] = Einsum(a[2,2], b[2,2], c[2,2], equation='ij,jk,kl->il')",
        "more than two operands",
    ),
    "a power of what is never negative": ("y[2] = Pow(x:const[2]{0.0, 4.0}, e[])", None),
    "a power of a constant below 0": ("y[2] = Pow(x:const[2]{-1.0, 4.0}, e[])", "may be negative"),
    "an operator of the same name elsewhere": (
        "y[2] = com.microsoft.Gelu(x[2], approximate='tanh')",
        "'com.microsoft'",
    ),
    "a recurrence of bytes": ("y[*] = com.microsoft.DynamicQuantizeLSTM(x[2,1,3])", "again and again"),
    "a type that no tool has": ("y:float64[2] = Neg(x:float64[2])", "TOSA has no float64"),
    "a text": ("y:string[2] = Identity(x:string[2])", "TOSA has no strings"),
    "a byte": ("y:uint8[2] = Identity(x:uint8[2])", "no uint8"),
    "an input of int64": ("y[2] = Gather(x[4], i:int64[2])", "'i' is an input of int64"),
    "an input of int64 that a constant stands for": (
        "y[2] = Gather(x[4], i:overridable:int64[2])",
        "is an input of int64",
    ),
    "a constant of int64": ("y[2] = Gather(x[4], i:const:int64[2]{0,1})", None),
    "a result of int64": ("y:int64[2] = Cast(x[2], to=7)", "nothing shows that its numbers fit"),
    "a type of an operand behind the first": ("y[2] = Where(c:bool[2], a:uint16[2], b:uint16[2])", "of uint16"),
    "scales without a zero point": (
        "y:int8[2,2] = QLinearMatMul(a:int8[2,2], s:const[], , b:int8[2,2], t:const[], u:const:int8[])",
        None,
    ),
    "an average of nothing that is said": ("y[*] = AveragePool(x[1,1,2,2])", None),
    "an average along three axes": ("y[*] = AveragePool(x[1,1,2,2,2], kernel_shape=[2,2,2])", "along 3 axes"),
    "an average along one axis": ("y[*] = AveragePool(x[1,1,2], kernel_shape=[2])", "along one axis"),
    "a maximum with dilations": ("y[*] = MaxPool(x[1,1,5,5], kernel_shape=[2,2], dilations=[1,2])", "with dilations"),
    "random numbers, of nothing": ("y[2] = RandomNormal(shape=[2])", "torch-mlir has no form for it"),
    "a type of an operator elsewhere": ("y:uint16[2] = com.microsoft.Gelu(x:uint16[2])", "'com.microsoft'"),
    "the size of bytes": ("y:int8[2] = Abs(x:int8[2])", "no form for it of int8"),
    "a pad of halves": ("y:int16[4] = Pad(x:int16[2], p:const:int64[2]{1,1})", "no form for it of int16"),
    "a pad of bytes": ("y:int8[4] = Pad(x:int8[2], p:const:int64[2]{1,1})", None),
    "what is positive of whole numbers": ("y:int32[2] = Relu(x:int32[2])", "no form for it of int32"),
    "negated bytes": ("y:int8[2] = Neg(x:int8[2])", "something else"),
    "negated halves": ("y:int16[2] = Neg(x:int16[2])", None),
    "numbers that are normalized": ("y[2] = LpNormalization(x[2])", "of numbers that are all 0 TOSA makes NaN"),
    "a slice whose steps are computed": (
        "y[2] = Slice(x[4], s:const:int64[1]{0}, e:const:int64[1]{4}, a:const:int64[1]{0}, t:int32[1])",
        None,
    ),
    "a linear resize by corners": (
        "y[*] = Resize(x[1,1,2,2], , s:const[4], mode='linear', coordinate_transformation_mode='align_corners')",
        None,
    ),
    "a type of the result": ("y:uint32[2] = Cast(x[2], to=12)", "of uint32"),
}


@pytest.mark.parametrize("case", ONNX)
def test_a_form_of_an_onnx_operator_is_named_or_converts(case: str) -> None:
    text, said = ONNX[case]
    found = asked(text)
    assert (found is None) if said is None else (found is not None and said in found.reason)


def test_the_mask_of_a_dropout_is_named_where_the_model_returns_it() -> None:
    dropout = node("y[2], m:bool[2] = Dropout(x[2])")
    assert questions.unconvertible(dropout) is None
    mask = dropout.results[1]
    assert mask is not None
    dropout.graph.outputs.add(mask)
    found = questions.unconvertible(dropout)
    assert found is not None
    assert "its mask" in found.reason


@pytest.mark.parametrize(
    ("bounds", "returned", "said"),
    [
        ((-(2**31), 2**31 - 1), False, None),
        ((-(2**31) - 1, 5), False, "nothing shows that its numbers fit"),
        ((0, 2**31), False, "nothing shows that its numbers fit"),
        (None, False, "nothing shows that its numbers fit"),
        ((0, 5), True, "'y' is an output of int64"),
    ],
)
def test_a_result_of_int64_becomes_int32_where_its_numbers_fit(
    bounds: tuple[int, int] | None, returned: bool, said: str | None
) -> None:
    about = node("y:int64[2] = Cast(x[2], to=7)")
    result = about.results[0]
    assert result is not None
    about.graph.read_bounds = lambda value: bounds if value is result else None
    if returned:
        about.graph.outputs.add(result)
    found = questions.unconvertible(about)
    assert (found is None) if said is None else (found is not None and said in found.reason)


TFLITE = {
    "a softmax": ("y[2] = tflite.SOFTMAX(x[2], beta=1.0)", None),
    "another beta": ("y[2] = tflite.SOFTMAX(x[2], beta=2.0)", "its beta is 2,"),
    "a softmax to another type": ("y:int16[2] = tflite.SOFTMAX(x:int8[2], beta=1.0)", "int16 of int8"),
    "a product of one type": ("y[2,2] = tflite.BATCH_MATMUL(a[2,2], b[2,2])", None),
    "a product of two types": ("y[2,2] = tflite.BATCH_MATMUL(a[2,2], b:int8[2,2])", "not float32 and int8"),
    "a cut": ("y[2] = tflite.SLICE(x[4], b:const:int32[1]{1}, s:int32[1])", None),
    "a cut at a computed place": ("y[2] = tflite.SLICE(x[4], b:int32[1], s:const:int32[1]{2})", "only at run time"),
    "from its very beginning": (
        "y[4] = tflite.STRIDED_SLICE(x[4], b:const:int32[1]{-4}, e:const:int32[1]{4}, s:const:int32[1]{1})",
        None,
    ),
    "from in front of it": (
        "y[4] = tflite.STRIDED_SLICE(x[4], b:const:int32[1]{-5}, e:const:int32[1]{4}, s:const:int32[1]{1})",
        "begins in front",
    ),
    "backwards": (
        "y[4] = tflite.STRIDED_SLICE(x[4], b:const:int32[1]{3}, e:const:int32[1]{0}, s:const:int32[1]{-1})",
        "goes backwards",
    ),
    "to a computed end": (
        "y[4] = tflite.STRIDED_SLICE(x[4], b:const:int32[1]{0}, e:int32[1], s:const:int32[1]{1})",
        "only at run time",
    ),
    "in computed steps": (
        "y[4] = tflite.STRIDED_SLICE(x[4], b:const:int32[1]{0}, e:const:int32[1]{4}, s:int32[1])",
        "only at run time",
    ),
    "places apart": ("y[4] = tflite.SCATTER_ND(i:const:int32[2,1]{0,1}, u[2], s:const:int32[1]{4})", None),
    "a place twice": ("y[4] = tflite.SCATTER_ND(i:const:int32[2,1]{1,1}, u[2], s:const:int32[1]{4})", "there twice"),
    "pairs apart": ("y[4,4] = tflite.SCATTER_ND(i:const:int32[2,2]{0,1,1,1}, u[2], s:const:int32[2]{4,4})", None),
    "a pair twice": (
        "y[4,4] = tflite.SCATTER_ND(i:const:int32[3,2]{0,1,1,0,0,1}, u[3], s:const:int32[2]{4,4})",
        "there twice",
    ),
    "computed places": ("y[4] = tflite.SCATTER_ND(i:int32[2,1], u[2], s:const:int32[1]{4})", "known alone"),
    "by centers": (
        "y[*] = tflite.RESIZE_NEAREST_NEIGHBOR(x[1,2,2,1], s:const:int32[2]{4,4}, half_pixel_centers=True)",
        None,
    ),
    "by corners": (
        "y[*] = tflite.RESIZE_NEAREST_NEIGHBOR(x[1,2,2,1], s:const:int32[2]{4,4}, align_corners=True)",
        None,
    ),
    "by neither": ("y[*] = tflite.RESIZE_NEAREST_NEIGHBOR(x[1,2,2,1], s:const:int32[2]{4,4})", "neither of centers"),
    "weights of 4 bits, to bytes": ("y:int8[2,3] = tflite.FULLY_CONNECTED(x:int8[2,4], w:const:int4[3,4])", None),
    "a negated float": ("y[2] = tflite.NEG(x[2])", None),
}


@pytest.mark.parametrize("case", TFLITE)
def test_a_form_of_a_tflite_operator_is_named_or_converts(case: str) -> None:
    text, said = TFLITE[case]
    found = asked(text)
    assert (found is None) if said is None else (found is not None and said in found.reason)


@pytest.mark.parametrize(
    ("text", "scales", "named"),
    [
        # numbers of int16 with the largest span that the table of the converter has: 65535 steps, and 10
        ("y:int16[2] = tflite.SOFTMAX(x:int16[2], beta=1.0)", {"x": 10 / 65535, "y": 2**-15}, False),
        ("y:int16[2] = tflite.SOFTMAX(x:int16[2], beta=1.0)", {"x": 10.1 / 65535, "y": 2**-15}, True),
        ("y:int8[2] = tflite.SOFTMAX(x:int8[2], beta=1.0)", {"x": 1.0, "y": 2**-8}, False),
        # exp(127 / 8) is 7.8e6: 2 ** 31 steps of 0.0037
        ("y:int8[2] = tflite.EXP(x:int8[2])", {"x": 0.125, "y": 0.004}, False),
        ("y:int8[2] = tflite.EXP(x:int8[2])", {"x": 0.125, "y": 0.003}, True),
        ("y[2] = tflite.EXP(x[2])", {}, False),
        ("y:int8[2] = tflite.EXP(x:int8[2])", {"x": 0.125}, False),
        ("y:int8[2] = tflite.EXP(x:int8[2])", {"y": 1e-9}, False),
        ("y:int8[2] = tflite.EXP(x:int8[2])", {"x": 100.0, "y": 1.0}, True),
    ],
)
def test_a_table_of_the_converter_ends(text: str, scales: Mapping[str, float], named: bool) -> None:
    about = node(text)
    about.graph.read_quantization = lambda value: (scales[value.name], 0) if value.name in scales else None
    assert (questions.unconvertible(about) is not None) == named


NEVER = {
    "onnx": "AffineGrid Attention Bernoulli BitCast Col2Im ConvInteger DFT DeformConv GRU LSTM MaxUnpool Multinomial"
    " NonMaxSuppression NonZero RMSNormalization RNN RandomNormal RandomNormalLike RandomUniform RandomUniformLike"
    " ReverseSequence RotaryEmbedding Scan Swish TensorScatter",
    "tflite": "BIDIRECTIONAL_SEQUENCE_LSTM BIDIRECTIONAL_SEQUENCE_RNN CALL_ONCE ASSIGN_VARIABLE COMPLEX_ABS CUMSUM"
    " DENSIFY LSTM MULTINOMIAL NON_MAX_SUPPRESSION_V4 NON_MAX_SUPPRESSION_V5 RANDOM_STANDARD_NORMAL RANDOM_UNIFORM"
    " READ_VARIABLE UNIDIRECTIONAL_SEQUENCE_LSTM UNIDIRECTIONAL_SEQUENCE_RNN VAR_HANDLE WHERE STABLEHLO_CLAMP",
}
"""Operators that are not in the tables of docs, because no model of them converts."""


@pytest.mark.parametrize(("format_", "op"), [(format_, op) for format_ in NEVER for op in NEVER[format_].split()])
def test_an_operator_that_never_converts_ends_the_work(format_: str, op: str) -> None:
    found = questions.unconvertible(node(f"y[2] = {'tflite.' if format_ == 'tflite' else ''}{op}(x[2])"))
    assert found is not None
    assert found.blocks


@pytest.mark.parametrize(("op", "path"), [("If", "c:bool[]"), ("tflite.IF", "c:bool[]")])
def test_a_condition_that_an_input_decides_is_named_and_tried(op: str, path: str) -> None:
    found = questions.unconvertible(node(f"y[2] = {op}({path})"))
    assert found is not None
    assert "its condition is known only at run time" in found.reason
    assert not found.blocks


@pytest.mark.parametrize(("op", "named"), [("Abs", False), ("Neg", True)])
def test_a_power_of_what_an_operator_makes_is_named_where_it_may_be_negative(op: str, named: bool) -> None:
    power = formats.load(model(f"a = {op}(x[2])\ny[2] = Pow(a, e[])")).graphs[0].nodes[1]
    found = questions.unconvertible(power)
    assert (found is not None and "may be negative" in found.reason) is named

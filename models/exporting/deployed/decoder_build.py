"""Small random language models by onnxruntime-genai's model builder: configuration in, the folder of files out."""

from __future__ import annotations

import importlib
import importlib.util
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import onnx
import torch
import transformers
from tokenizers import Tokenizer
from tokenizers.models import WordLevel

from models.exporting.deployed.decoder_cases import Decoder
from models.exporting.from_pytorch.weights import set_weights
from models.exporting.silence import quiet


def _builder() -> Any:  # noqa: ANN401 - a module without types
    """Return the builder's module: it imports its neighbours as if its folder were on the path."""
    found = importlib.util.find_spec("onnxruntime_genai")
    if found is None or not found.submodule_search_locations:
        raise ModuleNotFoundError("onnxruntime-genai is not installed (pip install onnxruntime-genai)")
    folder = str(Path(found.submodule_search_locations[0]) / "models")
    if folder not in sys.path:
        sys.path.insert(0, folder)
    return importlib.import_module("builder")


def _checkpoint(case: Decoder, folder: Path) -> None:
    """Write configuration, weights and a tokenizer of one word a number, as a model hub's folder has them."""
    text = f"{case.family}TextConfig"  # of a family that also has models of images
    config = getattr(transformers, text if hasattr(transformers, text) else f"{case.family}Config")(**case.settings)
    torch.manual_seed(0)
    model = getattr(transformers, f"{case.family}ForCausalLM")(config).eval()
    set_weights(model)
    model.save_pretrained(folder)
    entries = {f"t{number}": number for number in range(config.vocab_size)}
    words = Tokenizer(WordLevel(entries, "t0"))
    named = {"unk_token": "t0", "bos_token": "t1", "eos_token": "t2", "pad_token": "t0"}
    transformers.PreTrainedTokenizerFast(tokenizer_object=words, **named).save_pretrained(folder)


def _parsed(options: Sequence[str], source: Path, target: Path, case: Decoder, cache: Path) -> dict[str, Any]:
    """Return the options as the builder's command line gives them to `create_model`."""
    given = ("", str(source), str(target), case.precision, case.provider, str(cache))
    parsed = dict(_builder().parse_extra_options(*given, list(options)))
    config = parsed["hf_details"]["hf_config"]
    by_layer = getattr(config, "rope_parameters", None) or {}
    if "sliding_attention" in by_layer:  # the builder reads both frequencies where transformers 4 has them
        config.rope_parameters = by_layer["full_attention"]
        config.rope_local_base_freq = by_layer["sliding_attention"]["rope_theta"]
    return parsed


def build(case: Decoder, target: Path) -> None:
    """Write the file of a case and, unless its weights are inline, its data file beside it.

    Raises what the builder raises.
    """
    with tempfile.TemporaryDirectory() as name, quiet():
        folder = Path(name)
        source, made = folder / "checkpoint", folder / "made"
        _checkpoint(case, source)
        given = ("", str(source), str(made), case.precision, case.provider, str(folder / "cache"))
        _builder().create_model(*given, **_parsed(case.options, source, made, case, folder / "cache"))
        model = onnx.load(made / "model.onnx")
        if case.data:
            onnx.save(model, target, save_as_external_data=True, location="model.onnx.data", size_threshold=0)
        else:
            onnx.save(model, target)

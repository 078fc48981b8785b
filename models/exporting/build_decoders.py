"""Build small language models with onnxruntime-genai's model builder: models/deployed/decoders.

    python -m models.exporting.build_decoders [NAME ..] [--check | --run]

Weights are a repeating pattern, and the checkpoint is a temporary folder: nothing is downloaded. Some files keep their
weights inline, others are a folder of model.onnx and model.onnx.data, as the builder writes them. --check builds again,
compares the bytes, and runs; --run only runs what is committed, at the sizes of sizes.json. A NAME is the beginning of
a file's name. Written with onnxruntime-genai 0.18, onnxruntime 1.32, PyTorch 2.14 and transformers 5.24; other versions
give other bytes. For development only.
"""

from __future__ import annotations

import sys
from functools import partial
from pathlib import Path

from models.exporting.deployed.decoder_cases import DECODERS, Decoder, inputs, sizes
from models.exporting.deployed.files import DEPLOYED, Deployed, main


def _write(case: Decoder, target: Path) -> None:
    """Build one file; only this needs the builder."""
    from models.exporting.deployed.decoder_build import build

    build(case, target)


def cases() -> dict[str, Deployed]:
    """Return the files by name."""
    return {name: Deployed(name, partial(_write, case), inputs(case), sizes(case)) for name, case in DECODERS.items()}


if __name__ == "__main__":
    sys.exit(main(None, str(__doc__).partition("\n")[0], DEPLOYED / "decoders", cases))

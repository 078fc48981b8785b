"""The tools that are measured: each peer with its documented entry point, and with the fewest imports that it needs."""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

ONNX, TFLITE = "onnx", "tflite"
OURS, THEIRS = "graphfix", "peers"
"""The names of the two environments: graphfix, and the other tools."""
FLOOR = {ONNX: "onnx", TFLITE: "litert"}
"""By format, the peer that only reads and writes a model with the format's own library. Ratios are relative to it."""

_ONNX = "import sys, onnx; onnx.save(onnx.load(sys.argv[1]), sys.argv[2])"
_ONNX_EXTERNAL = (
    "import sys, onnx; onnx.save(onnx.load(sys.argv[1]), sys.argv[2],"
    " save_as_external_data=True, location=sys.argv[2].rpartition('/')[2] + '.data')"
)
_ONNX_IR = "import sys, onnx_ir; onnx_ir.save(onnx_ir.load(sys.argv[1]), sys.argv[2])"
_ONNXSCRIPT = (
    "import sys, onnx_ir, onnxscript.optimizer;"
    " onnx_ir.save(onnxscript.optimizer.optimize(onnx_ir.load(sys.argv[1])), sys.argv[2])"
)
_LITERT = (
    "import sys, flatbuffers; from ai_edge_litert import schema_py_generated as s;"
    " m = s.ModelT.InitFromPackedBuf(open(sys.argv[1], 'rb').read(), 0); b = flatbuffers.Builder(1024);"
    " b.Finish(m.Pack(b), b'TFL3'); open(sys.argv[2], 'wb').write(b.Output())"
)
_LITERT_TOOLS = (
    "import sys; from ai_edge_litert.tools import flatbuffer_utils as f;"
    " f.write_model(f.read_model(sys.argv[1]), sys.argv[2])"
)


@dataclass(frozen=True, slots=True)
class Peer:
    """One row of the tables: a tool and how it is called."""

    name: str
    """The short name in `--peers` and in the heads of the tables."""
    said: str
    """The command or code that is run, as text for the page."""
    packages: tuple[str, ...]
    """The packages whose versions matter. The first package must be installed."""
    formats: tuple[str, ...]
    words: tuple[str, ...]
    """The command.

    MODEL and OUTPUT stand for the files, PYTHON for the environment's Python, and BIN/ for its programs.
    """
    external: tuple[str, ...] = ()
    """The command for a model with external data; empty if it is the same command."""
    environment: str = THEIRS
    works: bool = True
    """True if the tool changes the model. A tool that only copies, or loads and saves, is a floor and cannot win."""

    @property
    def label(self) -> str:
        """Return the name of the peer in a picture."""
        return self.name if self.works or not self.packages else f"{self.name}: load, save"

    def command(self, python: Path, model: Path, output: Path) -> list[str]:
        """Return the command line for a model. `python` is the Python of the peer's environment."""
        words = self.external if self.external and has_data(model) else self.words
        given = {"MODEL": str(model), "OUTPUT": str(output), "PYTHON": str(python)}
        return [given.get(word, _program(word, python)) for word in words]


def _program(word: str, python: Path) -> str:
    """Return a word of a command, in which `BIN/` is replaced by the folder of the environment's programs."""
    return str(python.parent / word.removeprefix("BIN/")) if word.startswith("BIN/") else word


def has_data(model: Path) -> bool:
    """Return whether an external data file is beside the model."""
    return model.with_name(f"{model.name}.data").exists()


def _python(code: str) -> tuple[str, ...]:
    """Return a command that runs Python code with the model and the output as arguments."""
    return ("PYTHON", "-c", code, "MODEL", "OUTPUT")


def _graphfix(target: str) -> Peer:
    """Return the peer `graphfix fix` with this target, without verification."""
    words = ("BIN/graphfix", "fix", "MODEL", "-o", "OUTPUT", "--no-verify", "--exit-zero", "--target", target)
    said = f"`graphfix fix --no-verify --target {target}`"
    return Peer(f"graphfix {target}", said, ("graphfix",), (ONNX, TFLITE), words, environment=OURS)


def _onnxsim(name: str, *options: str) -> Peer:
    """Return the peer onnxsim with these options.

    Its own verification (`--certify`) is switched off, as that of graphfix is. Another table compares the verifiers.
    """
    words = ("BIN/onnxsim", "MODEL", "OUTPUT", "--no-certify", *options)
    return Peer(name, f"`onnxsim {' '.join(words[3:])}`", ("onnxsim", "onnx"), (ONNX,), words)


_ONNXSIM = (
    "import sys, onnx, onnxsim; model, _ = onnxsim.simplify(sys.argv[1], certify=False); onnx.save(model, sys.argv[2])"
)


def _polygraphy(name: str, *options: str) -> Peer:
    """Return the peer `polygraphy surgeon sanitize` with these options."""
    words = ("BIN/polygraphy", "surgeon", "sanitize", "MODEL", *options, "-o", "OUTPUT")
    said = f"`polygraphy surgeon sanitize {' '.join(options)}`".replace(" `", "`")
    return Peer(name, said, ("polygraphy", "onnx-graphsurgeon", "onnx"), (ONNX,), words)


_COPY = ("cp", *(() if sys.platform == "darwin" else ("--reflink=never",)), "MODEL", "OUTPUT")
_COPY_BOTH = ("sh", "-c", f'{" ".join(_COPY[:-2])} "$0" "$1" && {" ".join(_COPY[:-2])} "$0.data" "$1.data"')

PEERS: Sequence[Peer] = (
    _graphfix("explicit"),
    _graphfix("ranks"),
    Peer("cp", "`cp`", (), (ONNX, TFLITE), _COPY, (*_COPY_BOTH, "MODEL", "OUTPUT"), works=False),
    Peer(
        "onnx",
        "`onnx.save(onnx.load(a), b)`",
        ("onnx",),
        (ONNX,),
        _python(_ONNX),
        _python(_ONNX_EXTERNAL),
        works=False,
    ),
    Peer("onnx-ir", "`onnx_ir.save(onnx_ir.load(a), b)`", ("onnx-ir", "onnx"), (ONNX,), _python(_ONNX_IR), works=False),
    _onnxsim("onnxsim"),
    _onnxsim("onnxsim implicit", "--enable-optimization", "rewrite_implicit_broadcast"),
    _onnxsim("onnxsim rank0", "--enable-optimization", "rank0_to_rank1"),
    Peer(
        "onnxsim API",
        "`onnx.save(onnxsim.simplify(a, certify=False)[0], b)`: it imports less than its command line",
        ("onnxsim", "onnx"),
        (ONNX,),
        _python(_ONNXSIM),
    ),
    Peer("onnxslim", "`onnxslim a b`", ("onnxslim", "onnx"), (ONNX,), ("BIN/onnxslim", "MODEL", "OUTPUT")),
    Peer(
        "onnxoptimizer",
        "`python -m onnxoptimizer a b`",
        ("onnxoptimizer", "onnx"),
        (ONNX,),
        ("PYTHON", "-m", "onnxoptimizer", "MODEL", "OUTPUT"),
    ),
    Peer(
        "onnxscript",
        "`onnx_ir.save(onnxscript.optimizer.optimize(onnx_ir.load(a)), b)`",
        ("onnxscript", "onnx-ir", "onnx"),
        (ONNX,),
        _python(_ONNXSCRIPT),
    ),
    _polygraphy("polygraphy"),
    _polygraphy("polygraphy fold", "--fold-constants"),
    Peer(
        "litert",
        "LiteRT's object API, as flatbuffers' compiler makes it: `ModelT.InitFromPackedBuf`, `ModelT.Pack`",
        ("ai-edge-litert", "flatbuffers"),
        (TFLITE,),
        _python(_LITERT),
        works=False,
    ),
    Peer(
        "litert tools",
        "`ai_edge_litert.tools.flatbuffer_utils`: `write_model(read_model(a), b)`",
        ("ai-edge-litert", "flatbuffers"),
        (TFLITE,),
        _python(_LITERT_TOOLS),
        works=False,
    ),
)
NAMED: Mapping[str, Peer] = {peer.name: peer for peer in PEERS}

"""The public class of a loaded model: a program reads its graphs, binds its sizes, and writes it."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import AbstractContextManager, ExitStack
from pathlib import Path
from typing import TYPE_CHECKING, Literal, TypeAlias

from graphfix.api import sources
from graphfix.engine import binding
from graphfix.engine.request import NONE, Dims, Request, Same, Shapes, Values
from graphfix.results import GraphfixError

if TYPE_CHECKING:
    import onnx_ir
    from onnx import ModelProto

    from graphfix.formats.onnx import OnnxModel
    from graphfix.formats.tflite.model import TfliteModel
    from graphfix.graph.view import Graph, Value


class Model:
    """A loaded ONNX or TFLite model. `graphfix.load` returns it, and so does `graphfix.fix` as `outcome.model`.

    `fix`, `bind` and `set_inputs` change the model in memory. The file that was read is never changed; `save` writes
    another one. Weights stay in the file until they are written.
    """

    __slots__ = ("_model", "_name")

    def __init__(self, model: OnnxModel | TfliteModel, name: str) -> None:
        """Store the model of a format, and the name of the source that it was read from.

        Programs call `graphfix.load`.
        """
        self._model = model
        self._name = name

    def __repr__(self) -> str:
        """Return `<Model: m.onnx, onnx, 3 nodes>`, with the path that was loaded."""
        number = sum(len(graph.nodes) for graph in self.graphs)
        return f"<Model: {self._name}, {self.format}, {number} node{'s' * (number != 1)}>"

    @property
    def format(self) -> Literal["onnx", "tflite"]:
        """`onnx` or `tflite`."""
        return "tflite" if self._model.format == "tflite" else "onnx"

    @property
    def graphs(self) -> Sequence[Graph]:
        """The main graph, then the bodies and functions inside it; each has `path`, `nodes`, `inputs` and `outputs`.

        Nodes that `fix` added are not included. `graphfix.show` prints the current model with them.
        """
        return self._model.graphs

    @property
    def inputs(self) -> Sequence[Value]:
        """The inputs of the main graph; each has `name`, `shape` and `dtype`."""
        return tuple(self._model.graphs[0].inputs)

    @property
    def outputs(self) -> Sequence[Value]:
        """The outputs of the main graph, in the order of the file."""
        return tuple(self._model.outputs)

    def bind(self, dims: Dims = NONE, shapes: Shapes = NONE, same: Same = ()) -> None:
        """Bind free sizes of the inputs, before any `fix`; stored shapes follow.

        `dims` maps the name of a dim to its size, or to the ends of its range: `{"batch": 1, "seq": (2, 64)}`. `shapes`
        maps the name of an input to its sizes, with None for a free one. `same` lists groups of equal sizes:
        `[("ids[0]", "mask[0]")]`.

        Raises GraphfixError for values of other types, for a name that the model does not have, and for sizes that
        contradict the file.
        """
        asked = Request.of({"dims": dims, "shapes": shapes, "same": same})
        with self._naming():
            self._model.bind(binding.dims_of(asked.dims), asked.shapes, asked.same)

    def set_inputs(self, values: Values, *, drop: bool = False) -> None:
        """Replace inputs by constants, after `bind` and before any `fix`: `{"rate": 16000}`.

        With `drop` these inputs are removed from the model.

        Raises GraphfixError for values of other types, for a name that the model does not have, and for a value that
        does not fit the input.
        """
        asked = Request.of({"values": values, "drop_set_inputs": drop})
        with self._naming():
            self._model.set_inputs(asked.constants, drop=asked.drop_set_inputs)

    def save(self, path: str | Path) -> list[Path]:
        """Write the model; return the data files that were written beside it.

        Everything that no edit changed is written as it was read. A model without changes is copied byte for byte.

        Raises GraphfixError if the file can't be written, or if it would replace a data file of the model.
        """
        with self._naming():
            return list(self._model.save(path))

    def tobytes(self) -> bytes:
        """Return the file as bytes, for a model that fits into memory. External data stays in separate files."""
        with self._naming():
            return bytes(self._model.tobytes())

    def to_proto(self) -> ModelProto:
        """Return the model as a new onnx.ModelProto, with external data as references.

        Raises GraphfixError for a TFLite model.
        """
        from onnx import ModelProto

        self._refuse_tflite("to_proto")
        made = ModelProto()
        made.ParseFromString(self.tobytes())
        return made

    def to_ir(self) -> onnx_ir.Model:
        """Return the model as a new onnx_ir.Model, of the package `onnx-ir`.

        External data is read when a tensor is used.

        Raises GraphfixError for a TFLite model, and if the package is not installed.
        """
        self._refuse_tflite("to_ir")
        try:
            import onnx_ir
        except ImportError:
            raise GraphfixError("to_ir needs the package onnx-ir: pip install 'graphfix[ir]'") from None
        made = onnx_ir.from_proto(self.to_proto())
        if self._model.data_folder is not None:
            onnx_ir.external_data.set_base_dir(made.graph, self._model.data_folder)
        return made

    def _naming(self) -> AbstractContextManager[None]:
        return sources.naming({sources.NO_NAME: self._name})

    def _refuse_tflite(self, what: str) -> None:
        if self.format == "tflite":
            raise GraphfixError(f"{self._name}: {what} is for ONNX models; `tobytes` and `save` write a TFLite model")


Source: TypeAlias = "sources.Unloaded | Model"
"""Every form in which a model is accepted."""


def engine_model(model: Model) -> OnnxModel | TfliteModel:
    """Return the inner model of a public model, which the engine edits."""
    return model._model  # noqa: SLF001 -- the class shows its own names only


def name_of(model: Model) -> str:
    """Return the path that a model was read from, or a name such as `<bytes>`."""
    return model._name  # noqa: SLF001 -- as above


def written(model: Model, stack: ExitStack) -> Path:
    """Return a file that contains the current model; `stack` deletes a temporary file."""
    engine_side = engine_model(model)
    path = engine_side.container.path
    if path is not None and not engine_side.changed:
        return path
    path = sources.temporary(stack, engine_side.data_folder)
    with sources.naming({sources.NO_NAME: name_of(model)}):
        engine_side.save(path)
    return path

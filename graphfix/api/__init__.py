"""The Python functions that a program may call. Their keywords become a request, which `pipeline` carries out."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, Literal

from graphfix.api import arguments, notebooks, pipeline, sources
from graphfix.api.model import Model, Source, engine_model, name_of
from graphfix.api.on_disk import arrays_on_disk, is_in_memory, on_disk
from graphfix.engine.request import NONE, Dims, Request, Same, Shapes, Values, is_path
from graphfix.results import GraphfixError, Outcome, Verdict
from graphfix.results.error_texts import shown
from graphfix.results.files.regular_files import file_path
from graphfix.results.progress import Progress
from graphfix.targets.registry import Broadcasts, TargetName, Unknown

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

    from graphfix.graph.protocols import Step

notebooks.add_html()
# # Each function passes its keywords on by `arguments.request(locals())`, so that they are written only in its
# signature. A test compares the signatures with the fields of the request.


def load(
    source: Source, *, data_root: str | Path | Sequence[str | Path] = (), folder: str | Path | None = None
) -> Model:
    """Read an ONNX or TFLite model from a path, bytes, a binary file object, or a message of onnx or onnx-ir.

    The content decides the format. Weights stay in the file, and the model refers to them there. `fix`, `bind` and
    `set_inputs` change the model in memory, and `save` writes it to another file. The file that was read is never
    changed. A loaded model is returned unchanged.

    `folder` is the folder of the external data, for a model that is not a file. `data_root` lists more folders in which
    external data may lie.

    Raises GraphfixError if the content can't be read, or is not a valid model.

    The example reads a model of graphfix's repository, in the root of a clone.

        >>> model = graphfix.load("models/rfc_rank_expansion.onnx")
        >>> model.format, [node.op for graph in model.graphs for node in graph.nodes]
        ('onnx', ['Add'])
    """
    return _loaded("load", source, folder, Request.of({"data_root": data_root}).data_roots)


def fix(
    source: Source,
    *,
    target: TargetName = "explicit",
    target_file: str | Path | None = None,
    broadcasts: Broadcasts | None = None,
    unknown: Unknown = "expand",
    data_root: str | Path | Sequence[str | Path] = (),
    folder: str | Path | None = None,
    dims: Dims = NONE,
    shapes: Shapes = NONE,
    same: Same = (),
    trust_stored: bool | None = None,
    values: Values = NONE,
    drop_set_inputs: bool = False,
    narrow_inputs: bool = False,
    only: Sequence[str] = (),
    skip: Sequence[str] = (),
    rewrites: Sequence[ModuleType | Step | str | Path] = (),
    keep_fusions: bool = False,
    max_expand_bytes: int | None = None,
) -> Outcome:
    """Make a model's implicit broadcasts explicit in memory; `outcome.model` is the result, for `save` and `verify`.

    A loaded model is changed in place, and `outcome.model` is that model. From any other source a new model is loaded,
    and the source is not changed. The outcome has a site for each operand that was changed, left or exempt. The shapes
    of a site are tuples of ints, of texts for named sizes, and of None for unknown sizes. `fix` verifies nothing and
    writes no file. `rewrites` lists the caller's own rewrites (modules, files or names of installed ones), which run
    beside those of the target.

    Free sizes stay free, even for a target that needs numbers (`static`). Then each node with a free size is a site
    (GF302), where `fix_file` and the command line stop. `dims`, `shapes` and `values` bind sizes.

    Raises GraphfixError for an unknown target or choice, and for operands whose shapes can't be broadcast.

    The example reads a model of graphfix's repository, in the root of a clone.

        >>> outcome = graphfix.fix("models/rfc_rank_expansion.onnx", target="ranks")
        >>> [(site.code, site.node, site.before, site.after, site.status) for site in outcome.sites]
        [('GF101', 'add', (3, 4), (1, 3, 4), 'changed')]
        >>> outcome.model.save("ranks.onnx")
        []
    """
    request = arguments.request(locals())
    return fix_loaded(_loaded("fix", source, folder, request.data_roots), request)


def fix_loaded(model: Model, request: Request) -> Outcome:
    """Rewrite a loaded model in place by a request. Raises GraphfixError."""
    with sources.naming({sources.NO_NAME: name_of(model)}):
        return replace(pipeline.fix(engine_model(model), request, name=name_of(model)), model=model)


def fix_file(
    source: str | Path,
    output: str | Path,
    *,
    target: TargetName = "explicit",
    target_file: str | Path | None = None,
    broadcasts: Broadcasts | None = None,
    unknown: Unknown = "expand",
    data_root: str | Path | Sequence[str | Path] = (),
    dims: Dims = NONE,
    shapes: Shapes = NONE,
    same: Same = (),
    trust_stored: bool | None = None,
    values: Values = NONE,
    signature: str | None = None,
    drop_set_inputs: bool = False,
    narrow_inputs: bool = False,
    only: Sequence[str] = (),
    skip: Sequence[str] = (),
    rewrites: Sequence[ModuleType | Step | str | Path] = (),
    keep_fusions: bool = False,
    bind_defaults: bool = False,
    max_expand_bytes: int | None = None,
    check_result: bool = True,
    strict_proof: bool = False,
    runs: int | None = None,
    thorough: bool = False,
    seed: int = 0,
    in_place: bool = False,
    progress: Progress | None = None,
) -> Outcome:
    """Fix one file: load, bind, rewrite, verify, and only then write the output.

    The output is not written (`outcome.output` is None) in three cases: the result computes something else; a run of
    the original contradicts an assumed size; or nothing could be decided. `check_result=False` writes it without these
    checks. An undecided result is written if it is unchanged, because it is a copy of the file. With `strict_proof` the
    result must be proved.

    `dims`, `shapes`, `same` and `values` bind sizes and inputs, like `Model.bind` and `Model.set_inputs`. `data_root`
    lists more folders in which external data may lie. `runs` and `thorough` have the same meaning as in `verify`.
    `progress` is called with a short text, the number of finished steps and the number of all steps (0 if unknown).

    Raises GraphfixError if a file can't be read or written, or if an argument is wrong. Then no new file exists.

    The example reads a model of graphfix's repository, in the root of a clone.

        >>> outcome = graphfix.fix_file("models/encoder.onnx", "fixed.onnx", dims={"batch": 1})
        >>> outcome.verdict.status, outcome.rewrites["equalize-ranks"]
        ('proved', 20)
    """
    return pipeline.fix_file(file_path("fix_file", source), file_path("fix_file", output), arguments.request(locals()))


def check(
    source: Source,
    *,
    target: TargetName = "explicit",
    target_file: str | Path | None = None,
    broadcasts: Broadcasts | None = None,
    unknown: Unknown = "expand",
    data_root: str | Path | Sequence[str | Path] = (),
    folder: str | Path | None = None,
    dims: Dims = NONE,
    shapes: Shapes = NONE,
    same: Same = (),
    trust_stored: bool | None = None,
    values: Values = NONE,
    signature: str | None = None,
    narrow_inputs: bool = False,
    only: Sequence[str] = (),
    skip: Sequence[str] = (),
    rewrites: Sequence[ModuleType | Step | str | Path] = (),
    keep_fusions: bool = False,
    bind_defaults: bool = False,
    max_expand_bytes: int | None = None,
) -> Outcome:
    """List the implicit broadcasts of a model, and what the target does not support. Nothing is written or changed.

    Sites with the status `found` are the findings. Sites with the status `exempt` stay on purpose, and state the
    reason.

    `source` and `folder` have the same meaning as in `load`. A loaded model is checked in its current state.

    Raises GraphfixError if the source can't be read, or if an argument is wrong.

    The example reads a model of graphfix's repository, in the root of a clone.

        >>> sites = graphfix.check("models/rfc_rank_expansion.onnx").sites
        >>> [(site.code, site.operand, site.before, site.after) for site in sites if site.status == "found"]
        [('GF101', 0, (3, 4), (1, 3, 4)), ('GF102', 0, (1, 3, 4), (2, 3, 4))]
    """
    request = arguments.request(locals())
    with on_disk("check", source, folder) as file:
        return file.renamed(pipeline.check(file.path, request))


def verify(
    before: Source,
    after: Source,
    *,
    data_root: str | Path | Sequence[str | Path] = (),
    folder: str | Path | None = None,
    dims: Dims = NONE,
    shapes: Shapes = NONE,
    same: Same = (),
    trust_stored: bool | None = None,
    values: Values = NONE,
    signature: str | None = None,
    narrow_inputs: bool = False,
    inputs: str | Path | Mapping[str, ArrayLike] | None = None,
    runs: int | None = None,
    thorough: bool = False,
    seed: int = 0,
    atol: float | None = None,
    rtol: float | None = None,
    proof: Literal["with", "only", "without"] = "with",
    load: bool = False,
    progress: Progress | None = None,
) -> Verdict:
    """Decide whether two models compute the same outputs, by a proof and by runs on the same inputs.

    Each model is any source that `load` accepts. `folder` contains the external data of models that are not files. A
    loaded model is compared in its current state: `verify(original, model)` after `fix(model)`.

    With `runs=None` a proved pair is run on one set of sizes, and every other pair on 4 sets. A number, or `thorough`,
    sets the number of sets for both. The runs of an ONNX model of 1 GiB or more have a budget of time and memory, which
    `thorough` removes.

    With `proof="only"` nothing is run or loaded, and the verdict states so. With `load` as well, both files are loaded
    in each way in which the runs would load them. With `proof="without"` only the runs decide. `inputs` is an .npz
    file, a folder `test_data_set_N`, or a mapping of input names to arrays. `atol` and `rtol` replace the bitwise
    comparison: |a - b| <= atol + rtol * |b| for every element.

    Raises GraphfixError if a source can't be read, or if the files have different formats. A difference is no error.

    The example reads a model of graphfix's repository, in the root of a clone.

        >>> _ = graphfix.fix_file("models/encoder.onnx", "fixed.onnx", check_result=False)
        >>> verdict = graphfix.verify("models/encoder.onnx", "fixed.onnx", proof="only")
        >>> verdict.status, verdict.assumes[0]
        ('proved', "the dims named 'batch' are equal: input_ids[0], attention_mask[0]")
    """
    if not (inputs is None or isinstance(inputs, Mapping) or is_path(inputs)):
        what = "the path of a file, a mapping of names to arrays, or None"
        raise GraphfixError(f"inputs is {shown(inputs)}; give {what}")
    request = arguments.request(locals(), inputs=None if isinstance(inputs, Mapping) else inputs)
    with ExitStack() as stack:
        first = stack.enter_context(on_disk("verify", before, folder if is_in_memory(before) else None))
        second = stack.enter_context(on_disk("verify", after, folder if is_in_memory(after) else None))
        if isinstance(inputs, Mapping):
            request = replace(request, inputs=stack.enter_context(arrays_on_disk(inputs)))
        return second.renamed(first.renamed(pipeline.compare(first.path, second.path, request, {})))


def format_of(source: str | Path) -> str:
    """Return `onnx` or `tflite`, by the file's content. Raises GraphfixError for a file that can't be read."""
    from graphfix import formats

    return formats.format_of(file_path("format_of", source))


def show(
    source: Source,
    *,
    maps: bool = False,
    broadcasts_only: bool = False,
    nodes: str | None = None,
    around: tuple[str, int] | None = None,
    graphs: str | None = None,
    data_root: str | Path | Sequence[str | Path] = (),
    folder: str | Path | None = None,
    dims: Dims = NONE,
    shapes: Shapes = NONE,
    same: Same = (),
    trust_stored: bool | None = None,
    values: Values = NONE,
    signature: str | None = None,
    narrow_inputs: bool = False,
) -> Iterator[str]:
    """Return the lines of a model in the notation `y[2,3] = Add(x[2,3], b[3])`, one line for each node.

    `source` and `folder` have the same meaning as in `load`. A loaded model is shown in its current state. `nodes` is a
    pattern for node names and operators, and `graphs` is a pattern for paths of graphs. `around` is a node (its name,
    `Op#index`, or the name of an output), and the greatest distance in edges of the nodes that are shown. A letter in
    front of a line marks its operands: `L` lifted, `S` stretched, `?` perhaps stretched, `!` unknown.

    Raises GraphfixError, when the first line is read, if the model can't be read or bound, or if a node is not found.

    The example reads a model of graphfix's repository, in the root of a clone.

        >>> for line in graphfix.show("models/rfc_rank_expansion.onnx", broadcasts_only=True):
        ...     print(line)
        main:
        L   y[2,3,4] = Add(x0[3,4], x1[2,3,4])    # add
        <BLANKLINE>
        1 of 1 node shown: Add 1
        operands: 1 lifted (L)
    """
    from graphfix.engine.extracts.selection import NodeSelection
    from graphfix.report.listing import listing_lines

    request = arguments.request(locals())
    selection = NodeSelection(maps, broadcasts_only, nodes, around, graphs)
    with on_disk("show", source, folder) as file:
        lines = listing_lines(pipeline.show(file.path, request, selection))
        return iter(list(lines)) if file.names else lines


def explain(
    topic: str = "",
    *,
    target_file: str | Path | None = None,
    rewrites: Sequence[ModuleType | Step | str | Path] = (),
) -> str:
    """Return the page of a rewrite, a finding code or a target, or the row of a target file, as Markdown.

    Without a topic, return the list of all codes, rewrites and targets, one line each.

    `rewrites` adds the caller's own rewrites. These and installed rewrites are found by their names and codes too.

    Raises GraphfixError for an unknown topic, and for a file that is not a target file.

        >>> graphfix.explain("GF101").splitlines()[0]
        '# GF101 rank-mismatch'
    """
    from graphfix.api import explaining
    from graphfix.results.installation import with_addresses

    if target_file is not None:
        if topic:
            raise GraphfixError(f"{target_file}: a target file and topic {topic!r}: leave one out")
        return with_addresses(explaining.explain_file(file_path("explain", target_file)))
    if not isinstance(topic, str):
        what = "a rewrite, a finding code, a target, or a target file"
        raise GraphfixError(f"explain takes {what}, not {topic!r}; `graphfix explain` lists them")
    if not topic:
        return explaining.contents(rewrites)
    return with_addresses(explaining.explain(topic, rewrites))


def _loaded(function: str, source: Source, folder: str | Path | None, data_roots: Sequence[Path]) -> Model:
    """Return a loaded model as it is, or load it. Raises GraphfixError."""
    if isinstance(source, Model):
        return source
    given = sources.content(function, source, folder)
    return Model(sources.loaded(given, data_roots), given.name)

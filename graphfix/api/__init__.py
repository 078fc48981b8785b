"""The Python functions that a program may call: keywords become a request, `pipeline` carries it out."""

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
# Each function hands its keywords over by `arguments.request(locals())`, so that they stand once, in its signature; a
# test compares the signatures with the record.


def load(
    source: Source, *, data_root: str | Path | Sequence[str | Path] = (), folder: str | Path | None = None
) -> Model:
    """Read a model, ONNX or TFLite by its content: a path, bytes, a binary file object, a message of onnx or onnx-ir.

    Weights stay in the file: the model holds a view of it. The model is changed in memory by `fix`, `bind` and
    `set_inputs`, and written by `save`; the file that was read is never changed. A loaded model is returned as it is.
    `folder` is the folder to which the external data of a model that is not a file is relative. `data_root` lists
    further folders in which external data may lie.

    Raises GraphfixError for what can't be read, and for what is no valid model.

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

    A loaded model is changed in place, and `outcome.model` is that model. Of every other source a model is loaded, and
    the source stays as it is. The outcome has a site for each operand that was changed, left or exempt; its shapes are
    tuples of ints, of texts for named sizes, and of None for unknown ones. Nothing is verified and no file is written.
    `rewrites` are the caller's own, modules, files or names of installed ones, which run beside those of the target.

    A size that is free stays free, also for a target that needs numbers (`static`): each node that has one is a site
    (GF302), where `fix_file` and the command line stop. `dims`, `shapes` and `values` bind it.

    Raises GraphfixError for a name that is no target or no choice, and for operands whose shapes can't be broadcast.

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
    """Fix one file: load, bind, rewrite, verify, and only then let the output appear.

    Nothing is written (`output` of the outcome is None) when the result is found different, when a run of the original
    contradicts a size that was taken for granted, or when nothing could be decided, unless `check_result` is False.
    Undecided but unchanged is enough: a copy of the file. With `strict_proof` it must be proved. `dims`, `shapes`,
    `same` and `values` bind sizes and inputs as `Model.bind` and `Model.set_inputs` do. `data_root` lists folders,
    besides the model's own, in which external data may lie. `runs` and `thorough` are those of `verify`. `progress` is
    called with a short text, how many of a step are done and how many there are (0: not known).

    Raises GraphfixError for what can't be read, asked, or written; then no file is there that was not there before.

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
    """List what is implicit in a model, and what the target can't take; nothing is written or changed.

    Sites with the status `found` are the findings; those that are `exempt` stay on purpose, with the reason.

    `source` and `folder` are those of `load`; a loaded model is checked as it is now.

    Raises GraphfixError for what can't be read or asked.

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
    """Whether two models compute the same, by a proof and by runs on the same inputs.

    Each is any source that `load` takes; `folder` holds the external data of those that are not files. A loaded model
    is compared as it is now: `verify(original, model)` after `fix(model)`.

    With `runs` None a pair that is proved is run once, on one set of sizes, and all others on 4 sets; a number, or
    `thorough`, asks for as many sets whatever is proved. An ONNX model of 1 GiB and more is run within a budget of time
    and memory, which `thorough` lifts.
    With `proof` "only" nothing is run or loaded, and the verdict says so; with `load` both files are loaded in each way
    of their runtime, as the runs do. With "without" the runs alone are asked. `inputs` is an .npz file,
    a folder `test_data_set_N`, or a mapping of input names to arrays. `atol` and `rtol`
    replace the equality of bits: |a - b| <= atol + rtol * |b| for every element.

    Raises GraphfixError for what can't be read, and for two files of different formats; a difference is no error.

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
    """The model in the notation `y[2,3] = Add(x[2,3], b[3])`, a line a node, with indexing maps where asked.

    `source` and `folder` are those of `load`; a loaded model is shown as it is now.
    `nodes` is a pattern for names and operators, `graphs` one for the paths of scopes; `around` a node (its name,
    `Op#index`, or what it makes) and how many edges away from it others may be. `L` in front of a line: an operand is
    lifted; `S`: stretched; `?`: perhaps stretched; `!`: not known.

    Raises GraphfixError for what can't be read, bound or found, at the first line.

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
    """The page of a rewrite, a finding code or a target, or the row of a target file, as Markdown.

    Without a topic: the list of all codes, rewrites and targets, a line each.

    `rewrites` of one's own, and installed ones, are found by their names and codes too.

    Raises GraphfixError for an unknown topic, and for a file that is none.

    >>> graphfix.explain("GF101").splitlines()[0]
    '# GF101 rank-mismatch'
    """
    from graphfix.api import explaining
    from graphfix.results.installation import with_addresses

    if target_file is not None:
        if topic:
            raise GraphfixError(f"{target_file}: a target file and topic {topic!r}: say one of them")
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

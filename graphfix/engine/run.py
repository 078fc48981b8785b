"""Run rewrites over a model: plan a node, carry its edits out, record what was changed and what was left and why."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from functools import partial
from typing import Literal, TypeAlias

from graphfix.engine.open_sizes import CODE, Seen, meetings, open_sizes
from graphfix.engine.plans import Known, Plans
from graphfix.engine.policy import EQUALIZE, Policy, unless_fused
from graphfix.engine.sites import Labels, SiteFields, fields, kept, left, operand_of, stated_in_file
from graphfix.graph.edits import Assume, Edit, Inline, Leave, Lift, Refused, Replace, Stretch
from graphfix.graph.protocols import Applier, Model, ModelRewrite, Rewrite, Step, UntilNothingChanges, flat
from graphfix.graph.view import Node, StaleShape, UnrankedOperand
from graphfix.results import GraphfixError, OpenSizes, RewriteError, Site
from graphfix.results.excerpt import Excerpt
from graphfix.results.records import dataclass, field
from graphfix.results.sites import Sites
from graphfix.shapes.dim import Incompatible, Undecided
from graphfix.targets.limits import Questions
from graphfix.targets.target import MATERIALIZE, OF_CONSTANTS, RESHAPES, TILES

ASSUMES = "graphfix.assumes"
"""The metadata key under which an assumption is stored in the file."""
Done: TypeAlias = Literal["changed", "found"]
Planned: TypeAlias = Callable[[], Iterable[Edit]]
"""A function that makes the plan of a node."""


@dataclass(slots=True)
class Report:
    """The results of a run."""

    sites: Sites = field(default_factory=Sites)
    rewrites: dict[str, int] = field(default_factory=dict)
    """By name of a rewrite: its number of edits."""
    assumes: list[str] = field(default_factory=list)
    open_sizes: list[OpenSizes] = field(default_factory=list)
    """Unknown sizes that decide how nodes broadcast, and the options that would decide them."""
    own_codes: dict[str, str] = field(default_factory=dict)
    """By finding code of the user's own rewrites: the first line of the rewrite's page."""
    excerpt: Excerpt | None = None
    """The nodes that a report draws; None if no such report was requested."""


@dataclass(frozen=True, slots=True)
class Job:
    """The state of one run: the model, the user's choices, and the report so far."""

    model: Model
    policy: Policy
    done: Done
    rewrites: Sequence[Rewrite | ModelRewrite]
    """All rewrites that run, in order."""
    report: Report
    labels: Labels
    """The names of the nodes in the file, as they were before any edit."""
    plans: defaultdict[str, Plans] = field(default_factory=lambda: defaultdict(Plans))
    """By name of a rewrite that depends on operands only: its cached plans."""
    seen: Seen = field(default_factory=Seen)
    """The nodes whose broadcast is undecided."""


def run(
    model: Model, steps: Sequence[Step], policy: Policy, done: Done = "changed", limits: Questions | None = None
) -> Report:
    """Apply the rewrites in order to every graph of the model, and then list what the target can't accept.

    `done` is the status of a site whose edit was carried out: `check` uses "found", because it writes nothing. `limits`
    lists what the target can't accept of a node; None: nothing is listed. Raises GraphfixError for operands of the main
    graph that can't be broadcast, whatever their sizes.
    """
    rewrites = tuple(flat(steps))
    report = Report(rewrites={rewrite.name: 0 for rewrite in rewrites}, own_codes=dict(_own_codes(rewrites)))
    job = Job(model, policy, done, rewrites, report, Labels(model.graphs))
    for step in steps:
        if isinstance(step, UntilNothingChanges):
            _until_nothing_changes(job, step)
        else:
            _rewrite(job, step)
    if _has_new_constants(job):
        for rewrite in rewrites:
            if rewrite.name in OF_CONSTANTS:
                _once_more(job, rewrite)
    if limits is not None:
        _ask(job, limits)
    job.report.open_sizes = open_sizes(model, job.seen, job.report.sites)
    return job.report


def _own_codes(rewrites: Sequence[Rewrite | ModelRewrite]) -> Iterator[tuple[str, str]]:
    """Yield (finding code, first line of the page) of each of the user's own rewrites."""
    for rewrite in rewrites:
        if isinstance(rewrite, Rewrite) and rewrite.source and not rewrite.code.startswith("GF"):
            yield rewrite.code, rewrite.page.strip().partition("\n")[0]


def _until_nothing_changes(job: Job, step: UntilNothingChanges) -> None:
    report = job.report
    while True:
        edits, sites = sum(report.rewrites.values()), len(report.sites)
        for rewrite in step.rewrites:
            _rewrite(job, rewrite)
        if sum(report.rewrites.values()) == edits:
            return
        # The next pass lists again what this pass left alone.
        report.sites[sites:] = [site for site in report.sites[sites:] if site.status == job.done]


def _has_new_constants(job: Job) -> bool:
    """Return whether a node that this run inserted may compute a constant.

    This is a stretch of a constant, or a Reshape of a constant result whose node had to stay.
    """
    edits = job.report.rewrites
    stayed = any(site.rewrite in OF_CONSTANTS for site in job.report.sites if site.status != job.done)
    return bool(edits.get(MATERIALIZE) or (edits.get(EQUALIZE) and stayed))


def _once_more(job: Job, rewrite: Rewrite | ModelRewrite) -> None:
    """Apply a rewrite again, so that it reaches the nodes that later rewrites inserted.

    A site that the rewrite left alone before is not listed twice.
    """
    sites = job.report.sites
    said, first_new = [site for site in sites if site.rewrite == rewrite.name and site.status != job.done], len(sites)
    job.model.renew()
    _rewrite(job, rewrite)
    sites[first_new:] = [site for site in sites[first_new:] if site not in said]


def _rewrite(job: Job, rewrite: Rewrite | ModelRewrite) -> None:
    """Apply one rewrite to every graph."""
    job.model.refresh()
    names, first_new = job.labels.names(job.model.graphs), len(job.report.sites)
    edits = job.report.rewrites[rewrite.name]
    if isinstance(rewrite, ModelRewrite):
        _together(job, rewrite)
    else:
        _node_by_node(job, rewrite)
        if rewrite.source and job.report.rewrites[rewrite.name] > edits:
            job.model.renew()  # Nodes that the user's own rewrite inserted are made explicit like all other nodes.
    job.labels.rename(job.report.sites, first_new, names)


def _node_by_node(job: Job, rewrite: Rewrite) -> None:
    others = [other for other in job.rewrites if isinstance(other, Rewrite) and rewrite.name in other.instead_of]
    plans, by_looks = job.plans[rewrite.name], rewrite.sees == "operands"
    for graph in job.model.graphs:
        plans.begin()
        fusions = job.policy.fusions(rewrite, graph)
        # Edits of earlier nodes in the list may have changed this node, so it is read when its turn comes.
        for index, node in enumerate(graph.nodes):
            alike = by_looks and node.row is not None and index not in fusions
            shared_plan = plans.find(node) if alike else None
            if shared_plan is not None:
                if shared_plan.edits:
                    _as_known(job, rewrite, node, shared_plan)
            elif rewrite.concerns(node) and not any(other.concerns(node) for other in others):
                # The fusions were found before this rewrite changed the graph. Its edits end none of them.
                plan = partial(job.policy.edits, rewrite, node, fusions.get(index))
                _by_itself(job, rewrite, node, partial(_remembered, plans, node, plan) if alike else plan)
            elif alike:
                plans.keep(node, ())


def _ask(job: Job, limits: Questions) -> None:
    """List a site for each node that the target can't accept after all rewrites."""
    job.model.refresh()
    names, first_new = job.labels.names(job.model.graphs), len(job.report.sites)
    left_sites = [(site.graph, name, site) for name, site in job.report.sites.rows() if site.status == "left"]
    said = {(path, name) for path, name, site in left_sites if site.code == "GF305"}
    forms = {(path, name) for path, name, site in left_sites if site.rewrite in (TILES, RESHAPES)}
    for graph in job.model.graphs:
        for node in graph.nodes:
            where = graph.path, job.labels.of(node, names)
            if node.operands and where not in said:
                found = [leave for leave in limits(node) if not (leave.code == "GF304" and where in forms)]
                job.report.sites += kept(node, found, None)
    job.labels.rename(job.report.sites, first_new, names)


def _remembered(plans: Plans, node: Node, plan: Planned) -> Iterable[Edit]:
    """Return the plan of a node, and cache it if all its edits are lifts and stretches.

    Other edits, such as `Leave`, may contain the node's name, so they are not valid for other nodes.
    """
    edits = list(plan())
    if all(isinstance(edit, (Lift, Stretch)) for edit in edits):
        plans.keep(node, edits)
    return edits


def _by_itself(job: Job, rewrite: Rewrite, node: Node, plan: Planned) -> None:
    first_new = len(job.report.sites)
    edits = _planned(job, rewrite, node, plan)
    met = meetings(node) if any(edit.code == CODE for edit in edits) else None  # its operands are not edited yet
    _apply(job, rewrite, node, edits)
    new = job.report.sites[first_new:] if len(job.report.sites) > first_new else ()
    if any(site.code == CODE and site.status != "exempt" for site in new):
        job.seen.see(node, meetings(node) if met is None else met)


def _together(job: Job, rewrite: ModelRewrite) -> None:
    """Carry out the plans of all nodes, or no plan if one node is undecided."""
    report = job.report
    before = len(report.sites)
    fusions = {graph: job.policy.fusions(rewrite, graph) for graph in job.model.graphs}
    planned = rewrite.plan_model(job.model.graphs)
    plans = unless_fused([(node, _planned(job, rewrite, node, partial(iter, plan))) for node, plan in planned], fusions)
    undecided = report.sites[before:]
    if undecided:
        first = undecided[0]
        reason = f"all of the model's nodes change or none, and {first.op} '{first.node}' stays: {first.reason}"
        report.sites += [left(rewrite.code, node, None, reason, rewrite.name) for node, _ in plans]
        return
    for node, edits in plans:
        _apply(job, rewrite, node, edits)


def _planned(job: Job, rewrite: Rewrite | ModelRewrite, node: Node, plan: Planned) -> Sequence[Edit]:
    """Return the edits of one node. If its plan is undecided, return no edits and add a site with the reason.

    Raises GraphfixError if operands of the main graph can't be broadcast.
    """
    try:
        return list(plan())
    except UnrankedOperand as why:
        site = left("GF104", node, None, str(why), rewrite.name)
    except StaleShape as why:
        site = left("GF204", node, None, str(why), rewrite.name)
    except Undecided as why:
        site = left(rewrite.code, node, None, str(why), rewrite.name)
    except Incompatible as why:
        # Operands in a branch, a loop body or a function may only fit when that body is executed.
        if node.graph.path == "main":
            raise GraphfixError(f"{node.op} '{node.label}': {why} (GF105)") from None
        site = left("GF105", node, None, f"{why} (in a body that may never run)", rewrite.name)
    job.report.sites.append(site)
    return []


def _apply(job: Job, rewrite: Rewrite | ModelRewrite, node: Node, edits: Sequence[Edit]) -> None:
    if not edits:
        return
    job.report.sites += kept(node, edits, rewrite.name)
    for edit in edits:
        if isinstance(edit, Assume):
            job.model.note(ASSUMES, edit.text)
            job.report.assumes.append(edit.text)
    carried = [edit for edit in edits if not isinstance(edit, (Leave, Assume))]
    if carried:
        _carry_out(job, rewrite, node, carried)


def _as_known(job: Job, rewrite: Rewrite, node: Node, plan: Known) -> None:
    """Carry out a cached plan on a node that looks like an earlier one.

    Its sites are copies of the earlier node's sites.
    """
    model, sites, before = job.model, job.report.sites, node.operands
    size = model.added
    if plan.applier is None:
        plan.applier = model.applier(plan.edits)
    if plan.meetings:
        job.seen.see(node, plan.meetings)
    if _applied(job, rewrite, node, plan.edits, plan.applier) is None:
        return
    if not plan.sites:
        said = [fields(edit, before, ()) for edit in plan.edits]
        plan.sites = list(_sites(job, rewrite, node, plan.edits, said))
    if model.added == size:
        sites.alike(node.label, plan.sites)
    else:
        sites.append(replace(plan.sites[0], node=node.label, bytes=model.added - size))
        sites.alike(node.label, plan.sites[1:])


def _carry_out(job: Job, rewrite: Rewrite | ModelRewrite, node: Node, edits: Sequence[Edit]) -> None:
    size, before = job.model.added, node.operands
    after = _applied(job, rewrite, node, edits, lambda node: job.model.apply(node, edits))
    if after is not None:
        said = [fields(edit, before, after.operands) for edit in edits]
        sites = list(_sites(job, rewrite, node, edits, said))
        if job.model.added != size:
            sites[0] = replace(sites[0], bytes=job.model.added - size)
        job.report.sites += sites


def _sites(
    job: Job, rewrite: Rewrite | ModelRewrite, node: Node, edits: Sequence[Edit], said: Sequence[SiteFields]
) -> Iterator[Site]:
    """Yield the sites for edits that were carried out."""
    for edit, (code, operand, was, now) in zip(edits, said, strict=True):
        inexact = edit.inexact if isinstance(edit, (Inline, Replace)) else None
        where = node.label, node.op, node.graph.path, operand
        yield Site(code, *where, was, now, job.done, rewrite.name, stated_in_file(edit, node), inexact=inexact)


def _applied(
    job: Job, rewrite: Rewrite | ModelRewrite, node: Node, edits: Sequence[Edit], applier: Applier
) -> Node | None:
    """Return the node after its edits, and count the edits.

    Return None if the format refuses the edits; then a site with the reason is added.
    """
    try:
        after = applier(node)
    except Refused as why:
        # A lift and the stretch of the same operand share one site.
        places = dict.fromkeys((edit.code, operand_of(edit)) for edit in edits)
        job.report.sites += [left(code, node, operand, str(why), rewrite.name) for code, operand in places]
        return None
    except Exception as error:
        if isinstance(rewrite, Rewrite) and rewrite.source:
            raise _own_fault(rewrite, node, error) from error
        raise
    job.report.rewrites[rewrite.name] += len(edits)
    return after


def _own_fault(rewrite: Rewrite, node: Node, error: Exception) -> RewriteError:
    """Return the one-line error for edits of the user's own rewrite that can't be carried out.

    For a rewrite of graphfix such an exception is a defect, and is not converted.
    """
    what = f"{type(error).__name__}: {' '.join(str(error).split())}"
    return RewriteError(f"{rewrite.source}: {node.op} '{node.label}': its edits can't be carried out: {what}")

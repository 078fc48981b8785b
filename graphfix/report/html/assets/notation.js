// A node as text, before and after; what only one of both says is marked.

const pieces = (line) => line.match(/[^\s(),=[\]]*\[[^\]]*\]|[^\s(),=]+|[\s(),=]+/g) || [];

function marked(lines, others, kind) {
  const known = new Set(others.flatMap(pieces));
  return lines.map((line) => element("div", { class: "line" }, ...pieces(line).map((piece) =>
    known.has(piece) || !/[\w?*]/.test(piece) ? isolated(piece) : element("mark", { class: kind }, isolated(piece)))));
}

// The nodes that edits put in front of this one, in the order in which they run.
function madeFor(excerpt, node, seen = new Set()) {
  const made = [];
  for (const at of node.reads.after) {
    const read = excerpt.nodes[at];
    if (read.before !== null || seen.has(at)) continue;
    seen.add(at);
    made.push(...madeFor(excerpt, read, seen), read);
  }
  return made;
}

function notation(excerpt, node, site) {
  const before = node ? [node.before] : [`operand ${site.operand}: ${site.before}`];
  const after = node ? [...madeFor(excerpt, node).map((each) => each.after), node.after] : [site.after && `operand ${site.operand}: ${site.after}`];
  // A node that is taken out has nothing after, one that is left says the same.
  const same = before.join("\n") === after.join("\n") || !after.some(Boolean);
  const sides = same ? [[node && node.after === null ? "taken out" : "node", before.filter(Boolean), before]] : [["before", before.filter(Boolean), after], ["after", after.filter(Boolean), before]];
  const said = sides.filter(([, lines]) => lines.length).map(([side, lines, others]) =>
    element("div", { class: "side" }, element("span", { class: "label" }, side),
      element("div", { class: "code" }, ...marked(lines, others.filter(Boolean), side))));
  return said.length && (node || site.operand !== null) ? element("div", { class: "notation" }, ...said) : null;
}

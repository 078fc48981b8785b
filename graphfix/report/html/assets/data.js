// The page's data: columns of numbers and texts become sites, and elements become a tree.

// A column is left out where all sites have its plain value.
const COLUMNS = [
  { key: "code", name: "Code", width: "4.25rem" },
  { key: "status", name: "Status", width: "6rem" },
  { key: "op", name: "Operator", width: "minmax(5.5rem, .6fr)" },
  { key: "node", name: "Node", width: "minmax(9rem, 1.7fr)" },
  { key: "graph", name: "Graph", width: "minmax(5rem, .8fr)", plain: "main", shown: "main" },
  { key: "operand", name: "Operand", width: "5rem", number: true },
  { key: "shapes", name: "Before → after", width: "minmax(11rem, 1.4fr)" },
  { key: "rewrite", name: "Rewrite", width: "11rem", plain: "" },
  { key: "bytes", name: "Bytes", width: "4.75rem", number: true, plain: 0 },
  { key: "reason", name: "Reason", width: "minmax(8rem, 1.2fr)", plain: "" },
];

function element(tag, attributes, ...children) {
  const made = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes || {})) {
    if (name.startsWith("on")) made.addEventListener(name.slice(2), value);
    else if (name.startsWith("aria-") && value != null) made.setAttribute(name, value);
    else if (value === true) made.setAttribute(name, "");
    else if (value !== false && value != null) made.setAttribute(name, value);
  }
  made.append(...children.filter((child) => child != null));
  return made;
}

// A name or a sentence of the model: right-to-left letters in it turn nothing else around.
const isolated = (text) => element("bdi", null, text);

const cut = (text, letters) => (text.length > letters ? `${text.slice(0, letters - 1)}…` : text);

// Of a path the end says more than the beginning.
const tail = (text, letters) => (text.length > letters ? `…${text.slice(1 - letters)}` : text);

function readModel(raw) {
  const { sites: columns, texts } = raw;
  const said = (key, at) => texts[columns[key][at]];
  const sites = columns.code.map((_, at) => {
    const before = said("before", at);
    const after = said("after", at);
    const site = {
      at,
      code: said("code", at),
      status: said("status", at),
      op: said("op", at),
      node: said("node", at),
      graph: said("graph", at),
      operand: columns.operand[at],
      before,
      after,
      shapes: after ? `${before} → ${after}` : before,
      rewrite: said("rewrite", at),
      bytes: columns.bytes[at],
      reason: said("reason", at),
      inexact: said("inexact", at),
      drawing: columns.drawing[at],
      place: columns.at[at],
    };
    const { code, op, node, graph, shapes, rewrite, reason, status } = site;
    site.searched = [code, status, op, node, graph, shapes, rewrite, reason].join("\n").toLowerCase();
    return site;
  });
  const excerpt = raw.excerpt && readExcerpt(raw.excerpt, texts);
  for (const site of sites) if (site.place >= 0) excerpt.nodes[site.place].sites.push(site);
  return { sites, drawings: raw.drawings, excerpt };
}

function readExcerpt(raw, texts) {
  const nodes = raw.node.map((_, at) => ({
    at,
    graph: texts[raw.graph[at]],
    node: texts[raw.node[at]],
    op: texts[raw.op[at]],
    before: raw.before[at] < 0 ? null : texts[raw.before[at]],
    after: raw.after[at] < 0 ? null : texts[raw.after[at]],
    reads: { before: raw.reads_before[at], after: raw.reads_after[at] },
    readBy: { before: [], after: [] },
    sites: [],
  }));
  for (const node of nodes)
    for (const side of ["before", "after"]) for (const read of node.reads[side]) nodes[read].readBy[side].push(node.at);
  return { nodes, steps: raw.steps, leftOut: raw.left_out };
}

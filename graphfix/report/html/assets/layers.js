// The graph around a node as SVG: layers from top to bottom, a click goes on to a node's site.

const WIDE = 158;
const HIGH = 44;
const BETWEEN = 30;
const EDGE = 12;

function drawn(tag, attributes, ...children) {
  const made = document.createElementNS("http://www.w3.org/2000/svg", tag);
  for (const [name, value] of Object.entries(attributes)) if (value != null) made.setAttribute(name, value);
  made.append(...children);
  return made;
}

function kindOf(node, side, start) {
  const only = side === "after" ? node.before === null && "made" : node.after === null && "gone";
  return ["node", only, node === start && "here"].filter(Boolean).join(" ");
}

// `go(site)` selects a site of another node.
function neighbourhood(excerpt, start, side, go) {
  const part = around(excerpt, start, side);
  const { rows, paths, width } = placed(part, WIDE, 16);
  const full = width + 2 * EDGE;
  const high = rows.length * (HIGH + BETWEEN) - BETWEEN + 2 * EDGE;
  const top = (place) => EDGE + place.layer * (HIGH + BETWEEN);
  const line = (path) => path.slice(1).map((to, at) => {
    const from = path[at];
    const [x0, y0, x1, y1] = [from.x + EDGE, top(from) + HIGH, to.x + EDGE, top(to)];
    const bend = (y1 - y0) / 2;
    const straight = from.node ? "" : `M${x0} ${y0 - HIGH}V${y0}`;
    return `${straight}M${x0} ${y0}C${x0} ${y0 + bend} ${x1} ${y1 - bend} ${x1} ${y1}`;
  }).join("");
  const edges = paths.map((path) => drawn("path", { class: "edge", d: line(path) }));
  const heads = paths.map((path) => {
    const to = path[path.length - 1];
    return drawn("path", { class: "tip", d: `M${to.x + EDGE - 3.5} ${top(to) - 6}h7l-3.5 6z` });
  });
  const boxes = rows.flat().filter((place) => place.node).map((place) => boxOf(place, top(place), side, start, go));
  const title = `The graph around ${start.op} '${start.node}', ${side} the edits`;
  const told = `${part.nodes.length} nodes at most ${excerpt.steps} edges away${part.more ? `, and ${part.more} or more that are not drawn` : ""}.`;
  const svg = drawn("svg", { class: "around", role: "group", "aria-label": title, width: full, height: high, viewBox: `0 0 ${full} ${high}` },
    drawn("title", {}, title), drawn("desc", {}, told), ...edges, ...heads, ...boxes);
  const here = rows.flat().find((place) => place.node === start);
  return { svg, told, middle: here ? here.x + EDGE : full / 2, kinds: new Set(part.nodes.map((node) => kindOf(node, side, null))) };
}

function boxOf(place, y, side, start, go) {
  const { node } = place;
  const x = place.x + EDGE - WIDE / 2;
  const { sites } = node;
  const result = node[side].split(" = ")[0];
  const open = sites.length && node !== start;
  const parts = [
    drawn("title", {}, node[side]),
    drawn("rect", { x, y, width: WIDE, height: HIGH, rx: 6 }),
    drawn("text", { class: "op", x: x + 12, y: y + 18 }, cut(node.op, 15)),
    drawn("text", { class: "result", x: x + 12, y: y + 34 }, tail(result, 20)),
  ];
  if (sites.length) parts.push(drawn("circle", { class: "dot", cx: x + WIDE - 12, cy: y + 13, r: 4 }));
  const label = `${node.op} '${node.node}'${sites.length ? `, ${sites.length} ${sites.length === 1 ? "site" : "sites"}` : ""}`;
  const box = drawn("g", { class: `${kindOf(node, side, start)}${open ? " open" : ""}`, role: open ? "button" : "img", "aria-label": label, tabindex: open ? 0 : null }, ...parts);
  if (open) {
    box.addEventListener("click", () => go(sites[0]));
    box.addEventListener("keydown", (event) => {
      if (event.key !== "Enter" && event.key !== " ") return;
      event.preventDefault();
      go(sites[0]);
    });
  }
  return box;
}

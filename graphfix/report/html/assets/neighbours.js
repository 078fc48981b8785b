// The part of the graph that is around a node: at most `steps` edges away, and what stands around it in layers.

const MOST_NODES = 40;

// Nodes by number, the nearest first, and how many more there would be.
function around(excerpt, start, side) {
  const found = new Map([[start.at, 0]]);
  const queue = [start];
  let more = 0;
  while (queue.length) {
    const node = queue.shift();
    const distance = found.get(node.at);
    if (distance >= excerpt.steps) continue;
    for (const at of [...node.reads[side], ...node.readBy[side]]) {
      if (found.has(at) || excerpt.nodes[at][side] === null) continue;
      if (found.size >= MOST_NODES) { more += 1; continue; }
      found.set(at, distance + 1);
      queue.push(excerpt.nodes[at]);
    }
  }
  const nodes = [...found.keys()].sort((one, other) => one - other).map((at) => excerpt.nodes[at]);
  const edges = nodes.flatMap((node) => [...new Set(node.reads[side])].filter((at) => found.has(at)).map((at) => [at, node.at]));
  return { nodes, edges, more };
}

// The layer of each node: below all that it reads, and as near to its readers as that allows.
function layersOf({ nodes, edges }) {
  const layer = new Map(nodes.map((node) => [node.at, 0]));
  for (let pass = 0, moved = true; moved && pass <= nodes.length; pass += 1) {
    moved = false;
    for (const [from, to] of edges) {
      if (layer.get(to) > layer.get(from)) continue;
      layer.set(to, layer.get(from) + 1);
      moved = true;
    }
  }
  const reads = new Set(edges.map(([, to]) => to));
  for (const { at } of nodes) {
    const readers = edges.filter(([from]) => from === at).map(([, to]) => layer.get(to));
    if (!reads.has(at) && readers.length) layer.set(at, Math.min(...readers) - 1);
  }
  return layer;
}

// Rows of places, edges that pass a layer as a place of their own.
function placed(part, wide, gap) {
  const layer = layersOf(part);
  const least = Math.min(...layer.values());
  const rows = [];
  const put = (place, at) => { (rows[at] ||= []).push(place); return place; };
  const places = new Map(part.nodes.map((node) => [node.at, put({ node, wide, up: [], down: [] }, layer.get(node.at) - least)]));
  const paths = part.edges.map(([from, to]) => {
    const path = [places.get(from)];
    for (let at = layer.get(from) + 1; at < layer.get(to); at += 1) path.push(put({ wide: 10, up: [], down: [] }, at - least));
    path.push(places.get(to));
    path.slice(1).forEach((place, at) => { place.up.push(path[at]); path[at].down.push(place); });
    return path;
  });
  rows.forEach((row) => spread(row, (_, at) => at * (wide + gap), gap));
  for (let pass = 0; pass < 6; pass += 1) {
    const key = pass % 2 ? "down" : "up";
    (pass % 2 ? [...rows].reverse() : rows).forEach((row) => spread(row, (place) => mean(place[key], place.x), gap, true));
  }
  const left = Math.min(...rows.flat().map((place) => place.x - place.wide / 2));
  rows.forEach((row, at) => row.forEach((place) => { place.x -= left; place.layer = at; }));
  return { rows, paths, width: Math.max(...rows.flat().map((place) => place.x + place.wide / 2)) };
}

const mean = (places, other) => places.length ? places.reduce((sum, place) => sum + place.x, 0) / places.length : other;

// Each place as near to where it wants to be as its neighbours allow.
function spread(row, wish, gap, sorting = false) {
  const wishes = new Map(row.map((place, at) => [place, wish(place, at)]));
  if (sorting) row.sort((one, other) => wishes.get(one) - wishes.get(other));
  let edge = -Infinity;
  for (const place of row) {
    place.x = Math.max(wishes.get(place), edge + place.wide / 2);
    edge = place.x + place.wide / 2 + gap;
  }
  const drift = row.reduce((sum, place) => sum + wishes.get(place) - place.x, 0) / row.length;
  row.forEach((place) => { place.x += drift; });
}

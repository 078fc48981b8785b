// What is known of the selected site: notation, drawing, the graph around it.

const SAID = { changed: "Changed:", found: "Found:", left: "Left alone because", exempt: "Exempt because" };

function detail(model, number, go, step) {
  const view = element("section", { class: "detail", "aria-label": "The selected site", tabindex: "-1" });
  let side = "after";

  function show(site) {
    const excerpt = model.excerpt;
    const node = site.place < 0 ? null : excerpt.nodes[site.place];
    view.replaceChildren(...[head(site), told(site), notation(excerpt, node, site), element("div", { class: "figures" }, ...[figure(site), graph(excerpt, node)].filter(Boolean))].filter(Boolean));
    const scroller = view.querySelector(".scroller");
    if (scroller) scroller.scrollLeft = Number(scroller.dataset.middle) - scroller.clientWidth / 2;
  }

  function head(site) {
    const named = site.node.startsWith(`${site.op}#`) ? site.node : `${site.op} '${site.node}'`;
    const where = site.graph === "main" ? "" : ` in ${site.graph}`;
    const operand = site.operand === null ? "" : `, operand ${site.operand}`;
    const move = (by, name, sign) => element("button", { type: "button", onclick: () => step(by), "aria-label": name }, sign);
    return element("div", { class: "title" },
      element("h4", null, element("span", { class: `tag ${site.status}` }, site.status), " ", site.code, " ", isolated(named + where), operand),
      element("div", { class: "moves" }, move(-1, "Previous site", "↑"), move(1, "Next site", "↓")));
  }

  function told(site) {
    const done = site.status === "changed" || site.status === "found";
    const why = done ? [site.rewrite, site.reason].filter(Boolean).join("; ") : site.reason;
    const parts = [`${SAID[site.status]} ${why || "no reason is given"}.`];
    if (site.bytes) parts.push(`The file's constants grow by ${site.bytes.toLocaleString("en")} bytes.`);
    if (site.inexact) parts.push(`Not bit-exact: ${site.inexact}.`);
    const page = document.getElementById(site.code);
    return element("p", { class: "told" }, isolated(parts.join(" ")), page && " ", page && element("a", { href: `#${site.code}` }, `What ${site.code} means`));
  }

  function figure(site) {
    if (site.drawing < 0) return null;
    const made = element("figure", { class: "broadcast" }, element("figcaption", null, "How the operands broadcast"));
    const holder = element("div", { class: "drawing" });
    holder.innerHTML = model.drawings[site.drawing]; // written by the program, every name in it escaped
    made.append(holder);
    return made;
  }

  function graph(excerpt, node) {
    if (!node) return null;
    const figure = element("figure", { class: "graph" });
    const redraw = (focused) => {
      const other = node[side] === null ? (side === "after" ? "before" : "after") : side;
      const found = neighbourhood(excerpt, node, other, go);
      const scroller = element("div", { class: "scroller", tabindex: "0", role: "group", "aria-label": "The graph, scrolls", "data-middle": found.middle }, found.svg);
      const buttons = ["before", "after"].map((each) => element("button", {
        type: "button", "aria-pressed": each === other, disabled: node[each] === null,
        onclick: () => { side = each; redraw(each); },
      }, each));
      const keys = [["made", "made by an edit"], ["gone", "taken out by an edit"]].filter(([kind]) => found.kinds.has(`node ${kind}`));
      figure.replaceChildren(
        element("figcaption", null, "The graph around it ", element("span", { class: "toggle", role: "group", "aria-label": "Before or after the edits" }, ...buttons)),
        scroller,
        element("p", { class: "muted key" }, found.told, " A dot is a site: press it to go on.", ...keys.map(([kind, text]) => element("span", { class: `swatch ${kind}` }, text))));
      scroller.scrollLeft = found.middle - scroller.clientWidth / 2;
      if (focused) buttons[focused === "before" ? 0 : 1].focus();
    };
    redraw(null);
    return figure;
  }

  return { view, show, number };
}

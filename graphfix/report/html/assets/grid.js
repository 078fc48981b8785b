// The table of sites: only the rows that are seen exist, so that 10,000 of them cost what 30 cost.

const SPARE = 6;
const PRINTED = 400;
const narrow = matchMedia("(max-width: 760px)");

function grid(model, number, select) {
  const columns = COLUMNS.filter((column) => !("plain" in column) || model.sites.some((site) => site[column.key] !== column.plain));
  const sizer = element("div", { role: "rowgroup", class: "sizer" });
  const body = element("div", { class: "rows", tabindex: "-1", role: "presentation", onscroll: () => draw() }, sizer);
  const heads = columns.map((column, at) => element("div", { role: "columnheader", "aria-colindex": at + 1, class: column.number ? "number" : null },
    element("button", { type: "button", onclick: () => table.onsort(column) }, column.name, element("span", { class: "arrow", "aria-hidden": "true" }))));
  const view = element("div", {
    role: "grid", class: "grid", tabindex: "0", "aria-label": "Sites", "aria-colcount": columns.length,
    "aria-describedby": `keys${number}`, onkeydown: key,
  }, element("div", { role: "rowgroup", class: "head" }, element("div", { role: "row", "aria-rowindex": 1, class: "row" }, ...heads)), body);
  view.style.setProperty("--columns", columns.map((column) => column.width).join(" "));
  const table = { view, columns, show, sortedBy, onsort: () => {}, step: (by) => choose(active + by, true) };
  let sites = [];
  let active = -1;
  let printing = false;

  function height() {
    return parseFloat(getComputedStyle(document.documentElement).fontSize) * (narrow.matches ? 5.6 : 2.25);
  }

  function rowOf(at, high) {
    const site = sites[at];
    const cells = columns.map((column, place) => {
      const value = site[column.key];
      const text = value === column.plain ? column.shown ?? "" : column.number ? (value ?? "").toLocaleString("en") : value;
      return element("div", { role: "gridcell", "aria-colindex": place + 1, class: `cell ${column.key}${column.number ? " number" : ""}`, title: text.length > 18 ? text : null },
        column.key === "status" ? element("span", { class: `tag ${text}` }, text) : isolated(text));
    });
    const row = element("div", {
      role: "row", class: `row${at % 2 ? " odd" : ""}`, id: `row${number}-${at}`, "aria-rowindex": at + 2,
      "aria-selected": at === active, onclick: () => choose(at, false),
    }, ...cells);
    row.style.height = `${high}px`;
    row.style.transform = `translateY(${at * high}px)`;
    return row;
  }

  function draw() {
    const high = height();
    body.style.setProperty("--all", `${model.sites.length * high}px`);
    const from = printing ? 0 : Math.max(0, Math.floor(body.scrollTop / high) - SPARE);
    const seen = printing ? PRINTED : Math.ceil(body.clientHeight / high) + 2 * SPARE;
    const rows = [];
    for (let at = from; at < Math.min(sites.length, from + seen); at += 1) rows.push(rowOf(at, high));
    sizer.style.height = `${(printing ? rows.length : sites.length) * high}px`;
    sizer.replaceChildren(...rows);
    const there = active >= from && active < from + rows.length;
    if (there) view.setAttribute("aria-activedescendant", `row${number}-${active}`);
    else view.removeAttribute("aria-activedescendant");
  }

  function choose(at, scrolled) {
    if (!sites.length) return;
    active = Math.max(0, Math.min(sites.length - 1, at));
    const high = height();
    if (scrolled) {
      const top = active * high;
      if (top < body.scrollTop) body.scrollTop = top;
      if (top + high > body.scrollTop + body.clientHeight) body.scrollTop = top + high - body.clientHeight;
    }
    draw();
    select(sites[active]);
  }

  function key(event) {
    if (event.target !== view || event.altKey || event.ctrlKey || event.metaKey) return;
    const page = Math.max(1, Math.floor(body.clientHeight / height()) - 1);
    const moves = { ArrowDown: active + 1, ArrowUp: active - 1, PageDown: active + page, PageUp: active - page, Home: 0, End: sites.length - 1 };
    if (event.key in moves) choose(moves[event.key], true);
    else if (event.key === "Enter" || event.key === " ") select(sites[active], true);
    else return;
    event.preventDefault();
  }

  // The first rows are seen, or the selected one where `kept`.
  function show(found, selected, kept) {
    sites = found;
    active = selected ? sites.indexOf(selected) : -1;
    view.setAttribute("aria-rowcount", sites.length + 1);
    const high = height();
    if (active < 0 || !kept) body.scrollTop = 0;
    else if (active * high < body.scrollTop || (active + 1) * high > body.scrollTop + body.clientHeight) body.scrollTop = active * high;
    draw();
  }

  function sortedBy(column, descending) {
    heads.forEach((head, at) => {
      if (columns[at] === column) head.setAttribute("aria-sort", descending ? "descending" : "ascending");
      else head.removeAttribute("aria-sort");
    });
  }

  narrow.addEventListener("change", draw);
  new ResizeObserver(draw).observe(body);
  addEventListener("beforeprint", () => { printing = true; draw(); });
  addEventListener("afterprint", () => { printing = false; draw(); });
  return table;
}

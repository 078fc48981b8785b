// Which sites are shown, and in which order.

const STATUSES = ["changed", "found", "left", "exempt"];
const collator = new Intl.Collator("en", { numeric: true });

function counts(sites, key) {
  const found = new Map();
  for (const site of sites) found.set(site[key], (found.get(site[key]) || 0) + 1);
  return found;
}

// Texts are compared once for each that is different: 10,000 sites have few of them in most columns.
function ranked(sites, column) {
  if (column.number) return sites.map((site) => site[column.key] ?? -1);
  const texts = [...new Set(sites.map((site) => site[column.key]))].sort(collator.compare);
  const ranks = new Map(texts.map((text, rank) => [text, rank]));
  return sites.map((site) => ranks.get(site[column.key]));
}

function sorted(sites, column, descending) {
  if (!column) return sites;
  const ranks = ranked(sites, column);
  const sign = descending ? -1 : 1;
  return [...sites].sort((one, other) => sign * (ranks[one.at] - ranks[other.at]) || one.at - other.at);
}

function matching(sites, asked) {
  const wanted = asked.query.toLowerCase().split(/\s+/).filter(Boolean);
  return sites.filter(
    (site) =>
      (!asked.status.size || asked.status.has(site.status)) &&
      (!asked.code.size || asked.code.has(site.code)) &&
      (!asked.op || asked.op === site.op) &&
      (!asked.graph || asked.graph === site.graph) &&
      wanted.every((word) => site.searched.includes(word)),
  );
}

// The controls above the table; `changed` is called after each change.
function filters(model, name, asked, changed) {
  const search = element("input", {
    type: "search", class: "search", placeholder: "Search: node, shape, reason …", "aria-label": `Search the sites of ${name}`,
    autocomplete: "off", spellcheck: "false",
    oninput: () => { asked.query = search.value; changed(); },
  });
  const pills = [];
  const group = (key, label, values) => {
    const found = counts(model.sites, key);
    const made = values.filter((value) => found.has(value)).map((value) =>
      element("button", {
        type: "button", class: `pill ${key} ${value}`, "aria-pressed": "false",
        onclick: (event) => {
          const on = asked[key].delete(value) ? false : Boolean(asked[key].add(value));
          event.currentTarget.setAttribute("aria-pressed", on);
          changed();
        },
      }, value, element("span", { class: "count" }, found.get(value).toLocaleString("en"))));
    pills.push(...made);
    return element("div", { role: "group", "aria-label": label, class: "pills" }, ...made);
  };
  const choice = (key, label, all) => {
    const found = [...counts(model.sites, key)].sort(([one], [other]) => collator.compare(one, other));
    if (found.length < 2) return null;
    const options = found.map(([value, count]) => element("option", { value }, `${cut(value, 60)} (${count.toLocaleString("en")})`));
    return element("select", {
      "aria-label": label,
      onchange: (event) => { asked[key] = event.target.value; changed(); },
    }, element("option", { value: "" }, all), ...options);
  };
  const selects = [choice("op", "Operator", "All operators"), choice("graph", "Graph", "All graphs")];
  const clear = element("button", {
    type: "button", class: "clear",
    onclick: () => {
      Object.assign(asked, { query: "", op: "", graph: "" });
      asked.status.clear();
      asked.code.clear();
      search.value = "";
      pills.forEach((pill) => pill.setAttribute("aria-pressed", "false"));
      selects.forEach((select) => { if (select) select.value = ""; });
      changed();
      search.focus();
    },
  }, "Clear");
  const codes = [...counts(model.sites, "code").keys()].sort();
  return element("div", { role: "search", class: "filters" },
    element("div", { class: "line-of" }, search, ...selects.filter(Boolean), clear),
    element("div", { class: "line-of" }, group("status", "Status", STATUSES), group("code", "Code", codes)));
}

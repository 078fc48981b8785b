// The table of several models: sorted by a column, and filtered by result and by words.

function modelTable(nav) {
  const rows = [...nav.querySelectorAll("tbody tr")];
  const asked = { query: "", results: new Set() };
  const resultOf = (row) => row.querySelector(".result").textContent;
  const texts = new Map(rows.map((row) => [row, row.textContent.toLowerCase()]));
  const live = element("p", { class: "matches", role: "status", "aria-live": "polite" });
  const update = () => {
    const words = asked.query.toLowerCase().split(/\s+/).filter(Boolean);
    let shown = 0;
    for (const row of rows) {
      const fits = (!asked.results.size || asked.results.has(resultOf(row))) && words.every((word) => texts.get(row).includes(word));
      row.hidden = !fits;
      shown += fits;
    }
    live.textContent = shown === rows.length ? `${rows.length} models` : `${shown} of ${rows.length} models`;
  };
  sortable(nav.querySelector("table"), rows);
  const search = element("input", {
    type: "search", class: "search", placeholder: "Search: name, answer …", "aria-label": "Search the models",
    autocomplete: "off", spellcheck: "false", oninput: () => { asked.query = search.value; update(); },
  });
  const totals = nav.querySelector(".totals");
  const pills = [...totals.querySelectorAll(".result")].map((tag) => {
    const value = tag.textContent;
    const count = tag.parentElement.textContent.slice(value.length).trim();
    return element("button", {
      type: "button", class: `pill ${tag.className}`, "aria-pressed": "false",
      onclick: (event) => {
        const on = asked.results.delete(value) ? false : Boolean(asked.results.add(value));
        event.currentTarget.setAttribute("aria-pressed", on);
        update();
      },
    }, value, element("span", { class: "count" }, count));
  });
  totals.replaceWith(element("div", { role: "search", class: "filters" },
    element("div", { class: "line-of" }, search, live),
    element("div", { role: "group", "aria-label": "Result", class: "pills" }, ...pills)));
  update();
}

// A click on a heading sorts by its column, a second one the other way round, a third one as the rows came.
function sortable(table, rows) {
  const body = table.tBodies[0];
  const heads = [...table.tHead.rows[0].cells];
  heads.forEach((head, column) => {
    const button = element("button", { type: "button" }, head.textContent, element("span", { class: "arrow", "aria-hidden": "true" }));
    button.addEventListener("click", () => {
      const old = head.getAttribute("aria-sort");
      const next = old === "descending" ? null : old === "ascending" ? "descending" : "ascending";
      heads.forEach((each) => each.removeAttribute("aria-sort"));
      if (next) head.setAttribute("aria-sort", next);
      const sign = next === "descending" ? -1 : 1;
      const cell = (row) => row.cells[column];
      const value = (row) => cell(row).querySelector("[data-value]")?.dataset.value ?? cell(row).textContent;
      body.append(...(next ? [...rows].sort((one, other) => sign * collator.compare(value(one), value(other))) : rows));
    });
    head.replaceChildren(button);
  });
}

// What the page does: one model is shown at a time, its table is made when it is first shown.

const models = JSON.parse(document.getElementById("data").textContent).models;
const sections = [...document.querySelectorAll("section.model")];

function explore(host, number) {
  const raw = models[number];
  models[number] = null;
  const model = readModel(raw);
  const asked = { query: "", status: new Set(), code: new Set(), op: "", graph: "" };
  const live = element("p", { class: "matches", role: "status", "aria-live": "polite" });
  let order = model.sites;
  let sort = { column: null, descending: false };
  let selected = null;

  const table = grid(model, number, (site, focused) => {
    selected = site;
    about.show(site);
    if (focused) about.view.focus();
  });
  const about = detail(model, number, go, (by) => table.step(by));
  const name = document.getElementById(`m${number}-name`).textContent;
  const update = (kept = false) => {
    const found = matching(order, asked);
    table.show(found, selected, kept);
    const all = model.sites.length.toLocaleString("en");
    live.textContent = found.length === model.sites.length ? `${all} sites` : `${found.length.toLocaleString("en")} of ${all} sites`;
  };
  const controls = filters(model, name, asked, () => update());

  function go(site) {
    if (!matching([site], asked).length) controls.querySelector(".clear").click();
    selected = site;
    update(true);
    about.show(site);
    about.view.focus({ preventScroll: true });
  }

  table.onsort = (column) => {
    const again = sort.column === column;
    sort = again && sort.descending ? { column: null, descending: false } : { column, descending: again };
    order = sorted(model.sites, sort.column, sort.descending);
    table.sortedBy(sort.column, sort.descending);
    update();
  };
  const keys = element("p", { class: "muted keys", id: `keys${number}` }, "Arrow keys move through the table, Enter goes to the site.");
  host.append(controls, element("div", { class: "above" }, live, keys), table.view, about.view);
  update();
  table.step(1);
}

function showModel(number) {
  sections.forEach((section, at) => { section.hidden = at !== number; });
  document.querySelectorAll("#models a").forEach((link) => {
    if (link.getAttribute("href") === `#m${number}`) link.setAttribute("aria-current", "true");
    else link.removeAttribute("aria-current");
  });
  const host = sections[number] && sections[number].querySelector("section.sites");
  if (host && models[number]) explore(host, number);
}

function follow() {
  const named = location.hash.slice(1);
  const model = /^m(\d+)$/.exec(named);
  if (model && sections[Number(model[1])]) {
    showModel(Number(model[1]));
    const title = document.getElementById(`${named}-name`);
    title.scrollIntoView();
    title.focus({ preventScroll: true });
  } else openCode(named);
}

function openCode(named) {
  const page = named && document.getElementById(named);
  if (!page || !page.classList.contains("code-page")) return;
  page.open = true;
  page.scrollIntoView();
  page.querySelector("summary").focus({ preventScroll: true });
}

async function copy(button) {
  const option = button.parentElement.querySelector("code");
  getSelection().selectAllChildren(option);
  try {
    await navigator.clipboard.writeText(option.textContent);
  } catch {
    document.execCommand("copy"); // where the page may not write to the clipboard, what is selected is copied
  }
  button.textContent = "Copied";
  setTimeout(() => { button.textContent = "Copy"; }, 1500);
}

function schemes(button) {
  const asked = matchMedia("(prefers-color-scheme: dark)");
  const root = document.documentElement;
  const dark = () => (root.dataset.scheme || (asked.matches ? "dark" : "light")) === "dark";
  const say = () => { button.textContent = dark() ? "Light colours" : "Dark colours"; };
  button.hidden = false;
  button.addEventListener("click", () => { root.dataset.scheme = dark() ? "light" : "dark"; say(); });
  asked.addEventListener("change", say);
  say();
}

schemes(document.getElementById("scheme"));
const overview = document.getElementById("models");
if (overview) modelTable(overview);
for (const button of document.querySelectorAll("button.copy")) {
  button.hidden = false;
  button.addEventListener("click", () => copy(button));
}
document.addEventListener("click", (event) => {
  const link = event.target instanceof Element && event.target.closest('a[href^="#"]');
  if (link) openCode(link.getAttribute("href").slice(1));
});
addEventListener("hashchange", follow);
showModel(0);
if (location.hash) follow();

// The list of findings: filters, deep links, keys. Only the rows that can be seen are in the page.

const data = JSON.parse(document.getElementById("data").textContent);
const byId = (id) => document.getElementById(id);
const list = byId("list"), rows = byId("rows"), detail = byId("detail");
const ROW = 62, AROUND = 6;
const haystacks = data.sites.map((site) =>
  [site.id, site.path, site.symbol, site.construct, site.message].join("\n").toLowerCase());
// What asks something of a person comes first, apart from the many places that ask for nothing.
const ASKING = ["manual", "review"];
const word = (state) => (state === "kept" ? "no change" : state);
const asks = (index) => ASKING.includes(data.sites[index].state);
const rank = (index) => (asks(index) ? ASKING.indexOf(data.sites[index].state) : ASKING.length);
const order = data.sites.map((_, index) => index).sort((a, b) => rank(a) - rank(b));
let shown = order;
let chosen = -1;

// --- filters -----------------------------------------------------------------------------------

function fill(select, counts, label) {
  for (const [value, count] of counts) {
    select.append(element("option", { value }, `${label(value)} (${count})`));
  }
}

function tally(key) {
  const counts = new Map();
  for (const site of data.sites) counts.set(site[key], (counts.get(site[key]) || 0) + 1);
  return [...counts].sort(([a], [b]) => (a < b ? -1 : 1));
}

fill(byId("rule"), tally("code"), (code) => `${code} ${data.rules[code] ? data.rules[code].name : ""}`);
fill(byId("crate"), tally("crate"), (path) => (path === "." ? "workspace root" : path));

const states = [...document.querySelectorAll("input[name=state]")];

function filter() {
  const words = byId("text").value.toLowerCase().split(/\s+/).filter(Boolean);
  const rule = byId("rule").value, crate = byId("crate").value;
  const wanted = new Set(states.filter((box) => box.checked).map((box) => box.value));
  shown = [];
  let others = 0;
  for (const index of order) {
    const site = data.sites[index];
    if ((rule && site.code !== rule) || (crate && site.crate !== crate)
      || !words.every((word) => haystacks[index].includes(word))) continue;
    if (wanted.has(site.state)) shown.push(index);
    else others++;
  }
  const all = `${data.sites.length} finding${data.sites.length === 1 ? "" : "s"}`;
  byId("count").value = shown.length === data.sites.length ? all : `${shown.length} of ${all}`;
  if (others) byId("count").value += `; ${others} more in states that are not ticked`;
  list.scrollTop = 0;
  // What is described is one of those that are listed.
  draw();
  if (shown.length && !shown.includes(chosen)) choose(first(), { link: false });
}

/** The most pressing place of those that are listed. */
function first() {
  const asked = ["manual", "review", "mechanical"].map((state) =>
    shown.find((index) => data.sites[index].state === state)).find((index) => index !== undefined);
  return asked === undefined ? shown[0] : asked;
}

function clear() {
  byId("text").value = byId("rule").value = byId("crate").value = "";
  for (const box of states) box.checked = true;
  filter();
}

/** Show the places of one state, one crate or one text, and go to them. */
function only(change) {
  clear();
  change();
  filter();
  list.scrollIntoView();
  if (shown.length) choose(first());
  list.focus({ preventScroll: true });
}

// --- the list ----------------------------------------------------------------------------------

function draw() {
  rows.style.height = `${shown.length * ROW}px`;
  const first = Math.max(Math.floor(list.scrollTop / ROW) - AROUND, 0);
  const last = Math.min(Math.ceil((list.scrollTop + list.clientHeight) / ROW) + AROUND, shown.length);
  const items = [];
  for (let at = first; at < last; at++) items.push(item(shown[at], at));
  const selected = shown.indexOf(chosen);
  // What is chosen stays in the page, for those who have it read out.
  if (selected >= last) items.push(item(chosen, selected));
  else if (selected >= 0 && selected < first) items.unshift(item(chosen, selected));
  if (!shown.length) {
    // A list box has options and nothing else.
    const empty = { class: "empty", role: "option", "aria-disabled": "true", "aria-selected": "false" };
    items.push(element("div", empty, data.sites.length ? "No finding fits these filters." : "There is no finding."));
  }
  rows.replaceChildren(...items);
  if (selected >= 0) list.setAttribute("aria-activedescendant", `row-${chosen}`);
  else list.removeAttribute("aria-activedescendant");
}

function item(index, at) {
  const site = data.sites[index];
  const name = site.path.slice(site.path.lastIndexOf("/") + 1);
  const apart = at > 0 && asks(shown[at - 1]) && !asks(index) ? " apart" : "";
  const node = element("div", {
    id: `row-${index}`, class: `item ${site.state}${apart}`, role: "option", "data-index": String(index),
    "aria-selected": String(index === chosen), "aria-posinset": String(at + 1),
    "aria-setsize": String(shown.length), title: `${site.path}:${site.line}`,
  },
  element("span", {}, element("b", {}, `${name}:${site.line}`), `  ${site.path.slice(0, -name.length - 1)}`),
  element("span", {}, `${site.code} · ${word(site.state)} · ${site.construct}`),
  element("span", {}, site.symbol));
  node.style.top = `${at * ROW}px`;
  return node;
}

function choose(index, { link = true } = {}) {
  chosen = index;
  const top = shown.indexOf(index) * ROW;
  if (top < list.scrollTop || top + ROW > list.scrollTop + list.clientHeight) {
    list.scrollTop = top - (list.clientHeight - ROW) / 2;
  }
  draw();
  detail.replaceChildren(...described(index));
  detail.scrollTop = 0;
  if (link) history.replaceState(null, "", `#${data.sites[index].id}`);
}

function move(steps) {
  if (!shown.length) return;
  const at = shown.indexOf(chosen);
  choose(shown[Math.min(Math.max(at < 0 ? 0 : at + steps, 0), shown.length - 1)]);
}

// --- one place ---------------------------------------------------------------------------------

function described(index) {
  const site = data.sites[index], rule = data.rules[site.code];
  const lines = site.end_line > site.line ? `${site.line}–${site.end_line}` : `${site.line}`;
  const steps = element("span", { class: "steps" },
    element("button", { type: "button", "data-step": "-1", "aria-label": "Previous finding" }, "↑"),
    element("button", { type: "button", "data-step": "1", "aria-label": "Next finding" }, "↓"));
  const parts = [
    steps,
    element("h3", {}, element("a", { href: `#${site.id}` }, `${site.code} ${site.construct}`)),
    element("p", { class: "facts" },
      element("span", { class: `badge ${site.state}` }, word(site.state)),
      site.link
        ? element("a", { href: site.link }, element("code", {}, `${site.path}:${lines}`))
        : element("code", {}, `${site.path}:${lines}`),
      element("code", {}, site.symbol),
      element("span", {}, site.id)),
    element("p", { class: "message" }, site.message),
  ];
  parts.push(...diffTables(site.hunks || []));
  if (site.decision) {
    parts.push(element("p", {}, "To settle it, copy into ", element("code", {}, "portkit.toml"), ", with your reason:"),
      element("pre", { class: "patch copied", tabindex: "0" }, site.decision),
      element("button", { type: "button", "data-copy": site.decision }, "Copy the lines"));
  }
  if (site.detail) parts.push(element("pre", { class: "patch", tabindex: "0" }, site.detail));
  if (rule) parts.push(reason(rule));
  return parts;
}

/** The rule's reason: text that portkit escaped, with its code marked. */
function reason(rule) {
  const box = element("div", { class: "reason" });
  for (const text of [rule.title, ...rule.text]) {
    const paragraph = element("p", {});
    paragraph.innerHTML = text;
    box.append(paragraph);
  }
  return box;
}

// --- links, keys, theme, print -----------------------------------------------------------------

function follow() {
  const index = data.sites.findIndex((site) => `#${site.id}` === location.hash);
  if (index < 0) return false;
  if (!shown.includes(index)) clear();
  choose(index, { link: false });
  list.scrollIntoView();
  detail.focus({ preventScroll: true });
  return true;
}

function theme() {
  const root = document.documentElement;
  const dark = root.dataset.theme
    ? root.dataset.theme === "dark" : matchMedia("(prefers-color-scheme: dark)").matches;
  root.dataset.theme = dark ? "light" : "dark";
  remember("theme", root.dataset.theme);
}

// A page that is opened from a file may have no storage.
function remember(key, value) {
  try { localStorage.setItem(`portkit-${key}`, value); } catch { /* only for this visit, then */ }
}

function recalled(key) {
  try { return localStorage.getItem(`portkit-${key}`); } catch { return null; }
}

/** Copy the text of a button, and say so on the button and to a screen reader. */
async function copy(button) {
  const label = button.dataset.label || button.textContent;
  button.dataset.label = label;
  let done = true;
  try {
    await navigator.clipboard.writeText(button.dataset.copy);
  } catch { // no permission, or a page without a secure address
    const area = element("textarea", { class: "hidden", "aria-hidden": "true" });
    area.value = button.dataset.copy;
    document.body.append(area);
    area.select();
    done = document.execCommand("copy");
    area.remove();
    button.focus();
  }
  button.textContent = done ? "Copied" : "Not copied";
  byId("copied").value = done ? `Copied: ${button.dataset.copy}` : "The browser does not allow it to copy.";
  setTimeout(() => { button.textContent = label; }, 2000);
}

const KEYS = {
  "/": () => { byId("text").focus(); byId("text").select(); },
  j: () => move(1), k: () => move(-1), c: clear, t: theme, "?": () => byId("help").showModal(),
};
const LIST_KEYS = {
  ArrowDown: () => move(1), ArrowUp: () => move(-1),
  PageDown: () => move(Math.floor(list.clientHeight / ROW)),
  PageUp: () => move(-Math.floor(list.clientHeight / ROW)),
  Home: () => move(-shown.length), End: () => move(shown.length),
  Enter: () => detail.focus(),
};

document.addEventListener("keydown", (event) => {
  if (event.ctrlKey || event.metaKey || event.altKey || byId("help").open) return;
  const typing = event.target.closest("input:not([type=checkbox]), select, textarea");
  if (typing) {
    if (event.key === "Escape") list.focus();
    return;
  }
  const act = (event.target === list && LIST_KEYS[event.key]) || KEYS[event.key];
  if (act) {
    event.preventDefault();
    act();
  }
});

document.addEventListener("click", (event) => {
  const at = (selector) => event.target.closest(selector);
  const row = at(".item"), step = at("[data-step]"), card = at(".card"), crate = at("[data-crate]");
  const file = at(".file"), map = at("[data-map]"), copied = at("[data-copy]"), rule = at("[data-rule]");
  if (row) choose(Number(row.dataset.index));
  else if (step) move(Number(step.dataset.step));
  else if (card) only(() => { for (const box of states) box.checked = box.value === card.dataset.state; });
  else if (crate) only(() => { byId("crate").value = crate.dataset.crate; });
  else if (copied) copy(copied);
  else if (rule) only(() => { byId("rule").value = rule.dataset.rule; });
  else if (file) only(() => { byId("text").value = file.dataset.path; });
  else if (map) {
    document.querySelectorAll(".map").forEach((box, number) => { box.hidden = number !== Number(map.dataset.map); });
    document.querySelectorAll("[data-map]").forEach((button) => button.setAttribute("aria-pressed", String(button === map)));
  }
});

let waiting = false;
list.addEventListener("scroll", () => {
  if (waiting) return;
  waiting = true;
  requestAnimationFrame(() => { waiting = false; draw(); });
});
addEventListener("resize", draw);
addEventListener("hashchange", follow);
for (const box of [byId("text"), byId("rule"), byId("crate"), ...states]) box.addEventListener("input", filter);
byId("clear").addEventListener("click", clear);
byId("theme").addEventListener("click", theme);
byId("keys").addEventListener("click", KEYS["?"]);

// On paper the places that the filters leave are written out.
const PRINTED_WHOLE = 200;
addEventListener("beforeprint", () => {
  for (const stage of document.querySelectorAll("details")) stage.open = true;
  const whole = shown.length <= PRINTED_WHOLE;
  byId("printed").replaceChildren(...shown.map((index) => {
    const site = data.sites[index];
    if (whole) {
      const place = element("div", { class: "printed-place" }, ...described(index));
      // What is longer than a third of a page may be broken over two.
      place.classList.toggle("long", place.querySelectorAll("tr").length > 20);
      return place;
    }
    return element("p", {}, element("code", {}, `${site.path}:${site.line}`),
      ` ${site.code} ${word(site.state)}: ${site.construct}, ${site.message}`);
  }));
  byId("printed").hidden = false;
});
addEventListener("afterprint", () => {
  byId("printed").hidden = true;
  byId("printed").replaceChildren();
});

for (const box of document.querySelectorAll("[data-task]")) {
  const key = `task-${data.summary.codebase}-${data.version}-${box.dataset.task}`;
  if (!box.checked) box.checked = recalled(key) === "done";
  box.addEventListener("change", () => remember(key, box.checked ? "done" : ""));
}

if (["light", "dark"].includes(recalled("theme"))) document.documentElement.dataset.theme = recalled("theme");
// What is kept asks for nothing and is much: it is listed when somebody asks for it.
if (data.sites.some((site) => site.state !== "kept")) {
  for (const box of states) box.checked = box.value !== "kept";
}
filter();
follow();

"use strict";
// Lines of Rust or TOML as elements, and pairs of lines with what differs in them marked.

const KEYWORDS = new Set((
  "as async await break const continue crate dyn else enum extern false fn for if impl in let loop " +
  "match mod move mut pub ref return self Self static struct super trait true type union unsafe use " +
  "where while"
).split(" "));

const STRING = String.raw`b?"(?:\\[\s\S]|[^"\\])*(?:"|$)`;

/** What a text is made of, in the order in which it is tried; ".toml" has no characters. */
const RUST = pattern({
  c: String.raw`//[^\n]*|/\*[\s\S]*?(?:\*/|$)`,
  s: String.raw`b?r(?<hashes>#*)"[\s\S]*?(?:"\k<hashes>|$)|${STRING}|b?'(?:\\[^\n][^'\n]*|[^'\\\n])'`,
  t: String.raw`'[A-Za-z_]\w*|\b[A-Z]\w*\b(?!!)`,
  n: String.raw`\b\d[\w.]*`,
  m: String.raw`\b[A-Za-z_]\w*!(?=[ ]?[({\[])|#!?(?=\[)`,
  w: String.raw`[A-Za-z_]\w*`,
});
const TOML = pattern({ c: String.raw`#[^\n]*`, s: STRING, n: String.raw`\b\d[\w.]*`, w: String.raw`[\w-]+` });

function pattern(kinds) {
  const parts = Object.entries(kinds).map(([kind, part]) => `(?<${kind}>${part})`);
  return new RegExp(parts.join("|"), "g");
}

/** Return [kind, text] for each piece of a text; together the pieces are the text. */
function tokens(text, path) {
  const toml = path.endsWith(".toml");
  const found = [];
  let at = 0;
  for (const match of text.matchAll(toml ? TOML : RUST)) {
    const { w: word, hashes, ...kinds } = match.groups;
    const keyword = word && (toml ? /^(?:true|false)$/.test(word) : KEYWORDS.has(word));
    const kind = keyword ? "k" : Object.keys(kinds).find((name) => kinds[name] !== undefined);
    if (!kind) continue;
    if (match.index > at) found.push(["", text.slice(at, match.index)]);
    found.push([kind, match[0]]);
    at = match.index + match[0].length;
  }
  if (at < text.length) found.push(["", text.slice(at)]);
  return found;
}

/** Return the pieces of each line of a text. */
function tokenLines(lines, path) {
  const found = [[]];
  for (const [kind, text] of tokens(lines.join("\n"), path)) {
    text.split("\n").forEach((part, index) => {
      if (index) found.push([]);
      if (part) found[found.length - 1].push([kind, part]);
    });
  }
  return found;
}

/** Return the range in which two lines differ, as [start, end of the first, end of the second]. */
function difference(before, after) {
  let start = 0;
  while (start < Math.min(before.length, after.length) && before[start] === after[start]) start++;
  let tail = 0;
  const most = Math.min(before.length, after.length) - start;
  while (tail < most && before[before.length - 1 - tail] === after[after.length - 1 - tail]) tail++;
  return [start, before.length - tail, after.length - tail];
}

/** Return elements for the pieces of a line, with the range [start, end) marked. */
function drawn(pieces, start, end) {
  const fragment = document.createDocumentFragment();
  let at = 0;
  for (const [kind, text] of pieces) {
    const cuts = [start - at, end - at].filter((cut) => cut > 0 && cut < text.length);
    let from = 0;
    for (const to of [...cuts, text.length]) {
      const part = text.slice(from, to);
      if (!part) continue;
      let node = document.createTextNode(part);
      if (kind) node = element("span", { class: `tok-${kind}` }, node);
      if (at + from >= start && at + to <= end) node = element("mark", {}, node);
      fragment.append(node);
      from = to;
    }
    at += text.length;
  }
  return fragment;
}

/** Return an element with attributes and children; an attribute that is false is left out. */
function element(name, attributes, ...children) {
  const node = document.createElement(name);
  for (const [key, value] of Object.entries(attributes)) {
    if (value === true) node.setAttribute(key, "");
    else if (value !== false) node.setAttribute(key, value);
  }
  node.append(...children);
  return node;
}

/** Return the rows of a hunk: the line before, the line after (null where there is none), its kind. */
function paired(lines) {
  const rows = [];
  let out = [], into = [];
  const flush = () => {
    for (let i = 0; i < Math.max(out.length, into.length); i++) {
      rows.push([i < out.length ? out[i] : null, i < into.length ? into[i] : null, "changed"]);
    }
    out = [];
    into = [];
  };
  for (const line of lines) {
    if (line[0] === "-") out.push(line.slice(1));
    else if (line[0] === "+") into.push(line.slice(1));
    else {
      flush();
      rows.push([line.slice(1), line.slice(1), line[0] === "=" ? "here" : ""]);
    }
  }
  flush();
  return rows;
}

/** Return a table for each file of the hunks: before on the left, after on the right. */
function diffTables(hunks) {
  const tables = new Map();
  for (const hunk of hunks) {
    const name = hunk.slice(0, 2).join("\n");
    tables.set(name, [...(tables.get(name) || []), hunk]);
  }
  return [...tables.values()].map(diffTable);
}

function diffTable(hunks) {
  const [before, after] = hunks[0];
  const changes = !before || hunks.some((hunk) => hunk[3].some((line) => /^[-+]/.test(line)));
  const heads = [];
  if (before) heads.push(changes ? "before" : "now");
  if (after && changes) heads.push(before ? "after" : "new file");
  const name = !before ? after : after && after !== before ? `${before} → ${after}` : before;
  const table = element("table", { class: "diff" },
    element("caption", {}, name),
    element("thead", {}, element("tr", {}, ...["line", ...heads].map((head, index) =>
      element("th", { scope: "col", class: index ? "" : "line" }, head)))));
  hunks.forEach((hunk, index) => {
    if (index) table.append(skipped("…", heads.length));
    table.append(diffRows(hunk, changes));
    if (hunk[4]) table.append(skipped(`${hunk[4]} more lines`, heads.length));
  });
  return table;
}

function skipped(text, width) {
  return element("tbody", {}, element("tr", { class: "skipped" },
    element("td", { colspan: String(width + 1) }, text)));
}

/** Return the rows of one hunk; without changes there is one side alone. */
function diffRows([before, after, first, lines], changes) {
  const rows = paired(lines);
  const side = (at) => rows.filter((row) => row[at] !== null).map((row) => row[at]);
  const left = tokenLines(side(0), before), right = tokenLines(side(1), after || before);
  const body = element("tbody", {});
  let line = first;
  for (const [old, fresh, kind] of rows) {
    const changed = kind === "changed";
    const [start, oldEnd, freshEnd] = changed && old !== null && fresh !== null
      ? difference(old, fresh) : [0, 0, 0];
    const numbered = before ? old !== null : fresh !== null;
    const row = element("tr", { class: kind || "same" },
      element("td", { class: "line" }, numbered ? String(line++) : ""));
    if (before) row.append(cell(old === null ? null : left.shift(), changed ? "out" : "", start, oldEnd));
    if (after && changes) {
      row.append(cell(fresh === null ? null : right.shift(), changed ? "after in" : "after", start, freshEnd));
    }
    body.append(row);
  }
  return body;
}

function cell(pieces, kind, start, end) {
  return pieces === null
    ? element("td", { class: `text gap ${kind.replace(/in|out/, "")}` })
    : element("td", { class: `text ${kind}` }, drawn(pieces, start, end));
}

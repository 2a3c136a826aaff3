"use strict";
// What the page gains with a script: sorting, filtering and copying. Nothing is shown only by it.

const UNITS = {
  ns: 1, "µs": 1e3, ms: 1e6, s: 1e9, "%": 0.01, B: 1, KiB: 1024, MiB: 1024 ** 2, GiB: 1024 ** 3, TiB: 1024 ** 4, x: 1,
  "B/s": 1, "kB/s": 1e3, "MB/s": 1e6, "GB/s": 1e9, "TB/s": 1e12,
};

function element(name, text, attributes = {}) {
  const made = document.createElement(name);
  made.textContent = text;
  for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, value);
  return made;
}

/** A cell as a number, its unit taken into account; NaN for text. */
function amount(cell) {
  const found = /^(?:< )?(-?[\d,]*\.?\d+(?:e[+-]?\d+)?)\s?(\S*)/.exec(cell.textContent.trim());
  return found ? Number(found[1].replaceAll(",", "")) * (UNITS[found[2]] ?? 1) : NaN;
}

function compare(a, b) {
  const [x, y] = [amount(a), amount(b)];
  if (Number.isNaN(x) || Number.isNaN(y)) return Number.isNaN(x) - Number.isNaN(y) || a.textContent.localeCompare(b.textContent);
  return x - y;
}

function sortable(table) {
  const body = table.tBodies[0];
  if (!body || body.rows.length < 2) return;
  for (const header of table.tHead.rows[0].cells) {
    if (header.tagName !== "TH") continue;
    const button = element("button", header.textContent, { type: "button" });
    header.replaceChildren(button);
    button.addEventListener("click", () => {
      const falling = header.getAttribute("aria-sort") !== "descending";
      for (const other of table.tHead.rows[0].cells) other.removeAttribute("aria-sort");
      header.setAttribute("aria-sort", falling ? "descending" : "ascending");
      const index = header.cellIndex;
      const rows = [...body.rows].filter((row) => row.cells[0].textContent !== "sum");
      const sums = [...body.rows].filter((row) => row.cells[0].textContent === "sum");
      rows.sort((a, b) => compare(a.cells[index], b.cells[index]) * (falling ? -1 : 1));
      body.append(...rows, ...sums);
    });
  }
}

function filterable(table) {
  const rows = [...table.tBodies[0].rows];
  if (rows.length < 8) return;
  const input = element("input", "", { type: "search", placeholder: "filter rows", "aria-label": "Filter the rows of this table" });
  const told = element("output", "");
  input.addEventListener("input", () => {
    const wanted = input.value.toLowerCase();
    for (const row of rows) row.hidden = !row.textContent.toLowerCase().includes(wanted);
    told.textContent = wanted ? `${rows.filter((row) => !row.hidden).length} of ${rows.length}` : "";
  });
  const tools = element("div", "", { class: "tools" });
  tools.append(input, told);
  table.parentElement.before(tools);
}

/** A button that copies `code`, put in by `place`. */
function copyable(code, place) {
  const button = element("button", "Copy", { type: "button" });
  button.addEventListener("click", async () => {
    try {
      await navigator.clipboard.writeText(code.textContent);
      button.textContent = "Copied";
    } catch {
      // Pages opened from a file may not reach the clipboard: select the text, so that the keyboard can.
      getSelection().selectAllChildren(code);
      button.textContent = "Selected: press Ctrl+C";
    }
    setTimeout(() => { button.textContent = "Copy"; }, 2500);
  });
  place(button);
}

document.querySelectorAll("table.sortable").forEach((table) => { filterable(table); sortable(table); });
document.querySelectorAll("pre > code").forEach((code) => copyable(code, (button) => code.parentElement.before(button)));
// Commands, and lines of a program that do more than name something (`float(x)`).
document.querySelectorAll(".deed code").forEach((code) => {
  if (/^(traceq|python|nsys|torchrun|rocprof\S*|pip) | -|=/.test(code.textContent)) copyable(code, (button) => code.after(button));
});

// A link into a folded section opens it; paper shows everything.
function reveal() {
  const target = location.hash.length > 1 && document.getElementById(decodeURIComponent(location.hash.slice(1)));
  for (let each = target; each; each = each.parentElement) if (each.tagName === "DETAILS") each.open = true;
  if (target) target.scrollIntoView();
}
addEventListener("hashchange", reveal);
reveal();

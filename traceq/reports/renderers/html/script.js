"use strict";
// What the page gains with a script: sorting, filtering, copying, and timelines that can be zoomed. Nothing is shown only by it.

const UNITS = {
  ns: 1, "µs": 1e3, ms: 1e6, s: 1e9, "%": 0.01, B: 1, KiB: 1024, MiB: 1024 ** 2, GiB: 1024 ** 3, TiB: 1024 ** 4, x: 1,
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

function copyable(code) {
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
  code.parentElement.before(button);
}

function time(ns) {
  const [unit, size] = ns < 1e3 ? ["ns", 1] : ns < 1e6 ? ["µs", 1e3] : ns < 1e9 ? ["ms", 1e6] : ["s", 1e9];
  return `${Number((ns / size).toPrecision(4))} ${unit}`;
}

function zoomable(figure) {
  const svg = figure.querySelector(".spans");
  const scale = [...figure.querySelectorAll(".scale span")];
  const data = JSON.parse(figure.querySelector("script").textContent);
  const [, , width, height] = svg.getAttribute("viewBox").split(" ").map(Number);
  const dur = Number(figure.dataset.dur);
  const rects = [...svg.querySelectorAll("[data-n]")];
  let [from, size] = [0, width];
  let chosen = -1;

  // Names stand beside the drawing, which is stretched, and follow it.
  const names = document.createElementNS("http://www.w3.org/2000/svg", "svg");
  names.setAttribute("class", "names");
  names.setAttribute("height", height);
  names.setAttribute("aria-hidden", "true");
  svg.after(names);
  function label() {
    const made = document.createDocumentFragment();
    for (const rect of rects) {
      const [x, wide] = [Number(rect.getAttribute("x")), Number(rect.getAttribute("width"))];
      const [left, right] = [Math.max(x, from), Math.min(x + wide, from + size)];
      if ((right - left) / size < 0.04) continue;
      const clip = document.createElementNS("http://www.w3.org/2000/svg", "svg");
      const place = { x: `${((left - from) / size) * 100}%`, width: `${((right - left) / size) * 100}%`, y: rect.getAttribute("y"), height: 14 };
      for (const [key, value] of Object.entries(place)) clip.setAttribute(key, value);
      const text = document.createElementNS("http://www.w3.org/2000/svg", "text");
      text.textContent = data.names[data.slices[Number(rect.dataset.n)][0]];
      text.setAttribute("x", 3);
      text.setAttribute("y", 10);
      clip.append(text);
      made.append(clip);
    }
    names.replaceChildren(made);
  }

  function show(start, length) {
    size = Math.min(width, Math.max(width * 1e-4, length));
    from = Math.min(width - size, Math.max(0, start));
    svg.setAttribute("viewBox", `${from} 0 ${size} ${height}`);
    scale.forEach((label, index) => { label.textContent = time(((from + (size * index) / 4) / width) * dur); });
    label();
  }
  const zoom = (factor, at = from + size / 2) => show(at - (at - from) * factor, size * factor);
  const pan = (part) => show(from + size * part, size);

  const told = element("output", "Point at a slice, or press N and P to go through them.");
  function tell(number) {
    rects[chosen]?.classList.remove("chosen");
    chosen = number;
    if (!rects[number]) return;
    rects[number].classList.add("chosen");
    const [name, ts, length, slices] = data.slices[Number(rects[number].dataset.n)];
    const what = slices > 1 ? `${slices.toLocaleString("en")} slices, the longest ${data.names[name]}` : data.names[name];
    told.textContent = `${what}: ${time(length)}, at ${time(ts)}`;
  }
  function step(by) {
    tell((chosen + by + rects.length) % rects.length);
    const x = Number(rects[chosen].getAttribute("x"));
    if (x < from || x > from + size) show(x - size / 2, size);
  }

  const tools = element("div", "", { class: "tools" });
  const buttons = [
    ["+", "Zoom in", () => zoom(0.5)], ["−", "Zoom out", () => zoom(2)], ["◀", "Earlier", () => pan(-0.4)],
    ["▶", "Later", () => pan(0.4)], ["All", "Show all", () => show(0, width)],
  ];
  for (const [label, words, act] of buttons) {
    const button = element("button", label, { type: "button", "aria-label": `${words} on the timeline`, title: words });
    button.addEventListener("click", act);
    tools.append(button);
  }
  tools.append(told);
  svg.closest(".drawn").before(tools);
  label();

  const pane = svg.parentElement;
  pane.tabIndex = 0;
  pane.setAttribute("role", "group");
  pane.setAttribute("aria-label", "Timeline: plus and minus zoom, arrows move, N and P go through the slices, 0 shows all");
  const keys = {
    "+": () => zoom(0.5), "=": () => zoom(0.5), "-": () => zoom(2), ArrowLeft: () => pan(-0.2), ArrowRight: () => pan(0.2),
    0: () => show(0, width), n: () => step(1), p: () => step(-1),
  };
  pane.addEventListener("keydown", (event) => {
    const act = event.ctrlKey || event.metaKey || event.altKey ? undefined : keys[event.key] ?? keys[event.key.toLowerCase()];
    if (!act) return;
    event.preventDefault();
    act();
  });
  const place = (event) => from + ((event.clientX - svg.getBoundingClientRect().left) / svg.clientWidth) * size;
  svg.addEventListener("wheel", (event) => {
    if (!event.ctrlKey && !event.shiftKey) return; // the page scrolls
    event.preventDefault();
    zoom(event.deltaY + event.deltaX > 0 ? 1.25 : 0.8, place(event));
  }, { passive: false });
  svg.addEventListener("dblclick", (event) => zoom(0.4, place(event)));
  let dragged = null;
  svg.addEventListener("pointerdown", (event) => { dragged = { x: event.clientX, from }; svg.setPointerCapture(event.pointerId); });
  svg.addEventListener("pointerup", () => { dragged = null; });
  svg.addEventListener("pointermove", (event) => {
    if (dragged) show(dragged.from - ((event.clientX - dragged.x) / svg.clientWidth) * size, size);
    else if (event.target.dataset?.n !== undefined) tell(rects.indexOf(event.target));
  });
}

document.querySelectorAll("table.sortable").forEach((table) => { filterable(table); sortable(table); });
document.querySelectorAll("pre > code").forEach(copyable);
document.querySelectorAll("figure[data-dur]").forEach(zoomable);

// A link into a folded section opens it; paper shows everything.
function reveal() {
  const target = location.hash.length > 1 && document.getElementById(decodeURIComponent(location.hash.slice(1)));
  for (let each = target; each; each = each.parentElement) if (each.tagName === "DETAILS") each.open = true;
  if (target) target.scrollIntoView();
}
addEventListener("hashchange", reveal);
reveal();

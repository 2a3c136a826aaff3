// What timelines and flame graphs share: their data, a canvas, colours, and words near the pointer.

/** The numbers and names that packed.py wrote into a script element: { head, columns }. */
async function unpacked(script) {
  const bytes = Uint8Array.from(atob(script.textContent), (letter) => letter.charCodeAt(0));
  const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("deflate"));
  const whole = new Uint8Array(await new Response(stream).arrayBuffer());
  const length = new DataView(whole.buffer).getUint32(0, true);
  const head = JSON.parse(new TextDecoder().decode(whole.subarray(4, 4 + length)));
  const columns = {};
  let at = 4 + length;
  for (const [name, count, width, isRising] of head.columns) {
    columns[name] = column(whole.subarray(at, at + count * width), count, width, isRising);
    at += count * width;
  }
  return { head, columns };
}

function column(planes, count, width, isRising) {
  const values = new Float64Array(count);
  for (let i = 0, before = 0; i < count; i++) {
    let folded = 0;
    for (let plane = width - 1; plane >= 0; plane--) folded = folded * 256 + planes[plane * count + i];
    const value = folded % 2 ? -(folded + 1) / 2 : folded / 2;
    before = values[i] = isRising ? before + value : value;
  }
  return values;
}

function time(ns) {
  const [unit, size] = ns < 1e3 ? ["ns", 1] : ns < 1e6 ? ["µs", 1e3] : ns < 1e9 ? ["ms", 1e6] : ["s", 1e9];
  return `${Number((ns / size).toPrecision(4))} ${unit}`;
}

const amountOf = (number) => number.toLocaleString("en");
const shareOf = (part, whole) => `${((100 * part) / whole).toFixed(1)} %`;

/** The colours behind names of CSS variables, as the page has them now: light or dark. */
function colours(variables) {
  const style = getComputedStyle(document.documentElement);
  return variables.map((name) => style.getPropertyValue(name).trim());
}

/** The same as numbers that a picture's bytes are made of; see through with an `alpha` below 255. */
function pixels(hexadecimals, alpha) {
  const bytes = new DataView(new ArrayBuffer(4));
  return hexadecimals.map((colour) => {
    bytes.setUint32(0, parseInt(colour.slice(1), 16) * 256 + alpha);
    return bytes.getUint32(0, true);
  });
}

/** A function that asks for `draw` at the next frame, however often it is called before. */
function perFrame(draw) {
  let isAsked = false;
  return () => {
    if (isAsked) return;
    isAsked = true;
    requestAnimationFrame(() => { isAsked = false; draw(); });
  };
}

/** A canvas that fills the width of `pane` and is `height()` px high; `draw` is asked for when its size or colours change. */
function canvasIn(pane, height, draw) {
  const canvas = element("canvas", "", { "aria-hidden": "true" });
  const context = canvas.getContext("2d");
  pane.append(canvas);
  const surface = { canvas, context, width: 0, ratio: 1, fit, letter: 6 };
  function fit() {
    const ratio = surface.ratio = devicePixelRatio || 1;
    surface.width = Math.max(1, pane.clientWidth);
    canvas.width = Math.round(surface.width * ratio);
    canvas.height = Math.round(height() * ratio);
    canvas.style.height = `${height()}px`;
    context.setTransform(ratio, 0, 0, ratio, 0, 0);
    context.font = "10px ui-monospace, SFMono-Regular, Menlo, Consolas, monospace";
    context.textBaseline = "middle";
    surface.letter = context.measureText("0".repeat(50)).width / 50;
    draw();
  }
  new ResizeObserver(() => { if (pane.clientWidth !== surface.width) fit(); }).observe(pane);
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", fit);
  return surface;
}

/** As much of `text` as fits into `width` px. */
function fitting(text, width, letter) {
  const letters = Math.floor(width / letter);
  return text.length <= letters ? text : letters > 1 ? `${text.slice(0, letters - 1)}…` : "";
}

/** Words near the pointer: show(event, lines) and hide(). */
function tipIn(pane) {
  const tip = element("div", "", { class: "tip", "aria-hidden": "true", hidden: "" });
  pane.append(tip);
  return {
    hide() { tip.hidden = true; },
    show(event, lines) {
      tip.replaceChildren(...lines.map((line) => element("div", line)));
      tip.hidden = false;
      const box = pane.getBoundingClientRect();
      const x = event.clientX - box.left;
      tip.style.left = `${Math.max(0, x + tip.offsetWidth + 16 > box.width ? x - tip.offsetWidth - 12 : x + 12)}px`;
      tip.style.top = `${event.clientY - box.top + 14}px`;
    },
  };
}

/** A button, with `words` that say what it does; they are its name where its label has none. */
function button(label, words, act) {
  const made = element("button", label, { type: "button", title: words });
  if (!/[a-z]/i.test(label)) made.setAttribute("aria-label", words);
  made.addEventListener("click", act);
  return made;
}

/** A table with a title; the cells of the columns from `numbers` on are numbers. */
function tableOf(title, columns, rows, numbers) {
  const table = element("table", "");
  table.append(element("caption", title));
  const cells = (row, name) => {
    const line = element("tr", "");
    row.forEach((text, at) => line.append(element(name, text, { ...(at >= numbers && { class: "number" }), ...(name === "th" && { scope: "col" }) })));
    return line;
  };
  const [head, body] = [element("thead", ""), element("tbody", "")];
  head.append(cells(columns, "th"));
  body.append(...rows.map((row) => cells(row, "td")));
  table.append(head, body);
  const scroll = element("div", "", { class: "scroll", tabindex: "0", role: "group", "aria-label": title });
  scroll.append(table);
  return scroll;
}

/** Call `start` on each of the figures shortly before it is seen. */
function whenSeen(selector, start) {
  const seen = new IntersectionObserver((entries) => {
    for (const entry of entries) {
      if (!entry.isIntersecting) continue;
      seen.unobserve(entry.target);
      start(entry.target);
    }
  }, { rootMargin: "600px" });
  document.querySelectorAll(selector).forEach((figure) => seen.observe(figure));
}

// Timelines: all slices on a canvas, to be moved, zoomed, searched, asked and summed. The picture of the page stays for paper.

const ROW = 14, GAP = 6, AXIS = 20, LEAST_NS = 200;
const HINT = matchMedia("(pointer: coarse)").matches
  ? "Swipe to move, pinch to zoom, tap a slice for what it is."
  : "Drag to move, scroll to zoom (after a click, or with Ctrl), Shift + drag to sum a range, double-click to zoom to a slice.";
const KEYS = "W and S zoom, A and D or the left and right arrows move, the up and down arrows change the row, comma and period go to the"
  + " slice before and after, F zooms to the slice, R sums what is in view, 0 shows all, slash searches, Escape clears.";

/** What is drawn, as numbers: slices, rows of slices that do not nest, and where each row is. */
function timelineModel({ head, columns }) {
  const count = columns.ts.length;
  const model = { ...head, ...columns, count, end: new Float64Array(count), until: new Float64Array(count), row: new Int32Array(count), rows: [] };
  const tops = [0];
  for (const [, , levels] of head.lanes) tops.push(tops.at(-1) + levels * ROW + GAP);
  for (let i = 0, row = null; i < count; i++) {
    if (!row || row.lane !== model.lane[i] || row.depth !== model.depth[i]) {
      row = { lane: model.lane[i], depth: model.depth[i], y: tops[model.lane[i]] + model.depth[i] * ROW, from: i, to: i };
      model.rows.push(row);
    }
    row.to = i + 1;
    model.row[i] = model.rows.length - 1;
    model.end[i] = model.ts[i] + model.dur[i];
    // The latest end so far: it rises, even where slices of a row overlap.
    model.until[i] = i > row.from ? Math.max(model.until[i - 1], model.end[i]) : model.end[i];
  }
  model.tops = tops;
  model.height = tops.at(-1);
  model.kind = Uint8Array.from(columns.called, (name) => head.kindOf[name]);
  return model;
}

/** The first slice of the row that ends after `ts`; the end of the row if none does. */
function firstAfter(model, row, ts) {
  let [low, high] = [row.from, row.to];
  while (low < high) {
    const middle = (low + high) >> 1;
    if (model.until[middle] > ts) high = middle;
    else low = middle + 1;
  }
  return low;
}

/** The slice around each slice in the rows above it, -1 for none. */
function parentsOf(model) {
  if (model.parents) return model.parents;
  const parents = new Int32Array(model.count).fill(-1);
  model.rows.forEach((row, number) => {
    for (let above = number - 1; above >= 0 && model.rows[above].lane === row.lane; above--) {
      const upper = model.rows[above];
      let at = upper.from;
      for (let i = row.from; i < row.to; i++) {
        while (at < upper.to && model.until[at] <= model.ts[i]) at++;
        if (parents[i] < 0 && at < upper.to && model.ts[at] <= model.ts[i]) parents[i] = at;
      }
    }
  });
  model.parents = parents;
  return parents;
}

const isWork = (model, lane) => ["gpu", "host"].includes(model.lanes[lane][1]);

/** The part of each slice within [from, to), added up: by kind, by name, and per ledger by category. `self` is without slices inside. */
function sumsOf(model, from, to) {
  const [kinds, names, ledgers, self] = [new Map(), new Map(), new Map(), new Map()];
  const parents = parentsOf(model);
  const touched = [];
  for (const row of model.rows) {
    for (let i = firstAfter(model, row, from); i < row.to && model.ts[i] < to; i++) {
      const seen = Math.min(model.end[i], to) - Math.max(model.ts[i], from);
      if (seen <= 0) continue;
      const part = seen / model.dur[i];
      const slice = { i, lane: row.lane, total: (model.dur[i] - model.rest[i]) * part, count: Math.max(1, Math.round((model.more[i] + 1) * part)) };
      touched.push(slice);
      self.set(i, (self.get(i) ?? 0) + slice.total);
      if (isWork(model, row.lane) && parents[i] >= 0) self.set(parents[i], (self.get(parents[i]) ?? 0) - slice.total);
    }
  }
  const add = (map, key, slice) => {
    const sum = map.get(key) ?? { count: 0, total: 0, self: 0 };
    sum.count += slice.count;
    sum.total += slice.total;
    sum.self += Math.max(0, self.get(slice.i));
    map.set(key, sum);
  };
  for (const slice of touched) {
    const side = model.lanes[slice.lane][1];
    if (side === "ledger") add(ledgers, `${slice.lane}/${model.kind[slice.i]}`, slice);
    if (!isWork(model, slice.lane)) continue;
    add(kinds, model.kind[slice.i], slice);
    add(names, model.called[slice.i], slice);
  }
  return { kinds, names, ledgers };
}

/** What the GPU of the slice, else the first one, did meanwhile: [kind, ns], the longest first; nothing where parts are drawn together. */
function meanwhile(model, slice) {
  const [, , , own] = model.lanes[model.lane[slice]];
  const lane = model.lanes.findIndex(([, side, , device]) => side === "ledger" && (own === null || device === own));
  const found = new Map();
  for (const row of model.rows.filter((each) => each.lane === lane)) {
    for (let i = firstAfter(model, row, model.ts[slice]); i < row.to && model.ts[i] < model.end[slice]; i++) {
      if (model.more[i]) return [];
      const seen = Math.min(model.end[i], model.end[slice]) - Math.max(model.ts[i], model.ts[slice]);
      found.set(model.kind[i], (found.get(model.kind[i]) ?? 0) + seen);
    }
  }
  return [...found].sort((a, b) => b[1] - a[1]);
}

/** The GPU slices that were launched in a slice of the host. */
function launchedIn(model, slice) {
  const found = [];
  for (let i = 0; i < model.count; i++) {
    const call = model.launch[i];
    if (call >= 0 && model.lane[call] === model.lane[slice] && model.ts[call] >= model.ts[slice] && model.end[call] <= model.end[slice]) found.push(i);
  }
  return found;
}

/** Draws a model on a surface: draw(view) with { from, size, chosen, range, matches, showsPath }. */
function timelinePainter(model, surface) {
  const palette = { text: "", ink: "", page: "", soft: "", line: "", link: "", mark: "", culprit: "" };
  // Slices are painted into a picture that has a line of pixels for each row, which is then stretched: there may be one for each
  // pixel, and as many rectangles take longer. Those that a search did not find are pale.
  const strip = element("canvas", "").getContext("2d");
  let picture, cells, strong, pale;
  const times = new Float64Array(model.kinds.length);
  const labels = [];

  function recolour() {
    const kinds = colours(model.kinds.map(([variable]) => variable));
    [strong, pale] = [pixels(kinds, 255), pixels(kinds, 60)];
    [palette.text, palette.ink, palette.page, palette.soft, palette.line, palette.link, palette.mark, palette.culprit] =
      colours(["--on-slice", "--ink", "--page", "--soft", "--line", "--link", "--c-mark", "--c-culprit"]);
    strip.canvas.width = Math.round(surface.width * surface.ratio);
    strip.canvas.height = Math.max(1, model.rows.length);
    picture = strip.createImageData(strip.canvas.width, strip.canvas.height);
    cells = new Uint32Array(picture.data.buffer);
  }

  function collect(number, view) {
    const { ts, end, kind } = model;
    const row = model.rows[number];
    const width = strip.canvas.width;
    const scale = width / view.size;
    const to = view.from + view.size;
    const start = number * width;
    const least = 28 * surface.ratio;
    let i = firstAfter(model, row, view.from);
    while (i < row.to && ts[i] < to) {
      const first = i;
      let most = kind[i++], isFound = !view.matches || view.matches[first];
      if ((end[first] - ts[first]) * scale < 1) {
        // What begins in one pixel is drawn as the kind with most time. Pixels are counted from 0 ns, so that moving changes none.
        const next = (Math.floor(ts[first] * scale) + 1) / scale;
        times.fill(0);
        times[most] = end[first] - ts[first];
        for (; i < row.to && ts[i] < next && (end[i] - ts[i]) * scale < 1; i++) {
          times[kind[i]] += end[i] - ts[i];
          if (times[kind[i]] > times[most]) most = kind[i];
          isFound ||= view.matches[i];
        }
      }
      const x = Math.max(0, Math.floor((ts[first] - view.from) * scale));
      const right = Math.min(width, Math.floor((end[first] - view.from) * scale));
      // Long ones leave a pixel free to the next.
      cells.fill((isFound ? strong : pale)[most], start + x, start + Math.max(x + 1, right - (right - x > 4 ? 1 : 0)));
      if (right - x > least) labels.push(x / surface.ratio, row.y, (right - x) / surface.ratio, first);
    }
  }

  function paintSlices(context) {
    strip.putImageData(picture, 0, 0);
    context.imageSmoothingEnabled = false;
    model.rows.forEach((row, number) => context.drawImage(strip.canvas, 0, number, strip.canvas.width, 1, 0, row.y, surface.width, ROW - 1));
  }

  function paintLabels(context, view) {
    context.fillStyle = palette.text;
    for (let at = 0; at < labels.length; at += 4) {
      if (view.matches && !view.matches[labels[at + 3]]) continue;
      const x = Math.max(0, labels[at]);
      const text = fitting(model.names[model.called[labels[at + 3]]], labels[at] + labels[at + 2] - x - 6, surface.letter);
      if (text) context.fillText(text, x + 3, labels[at + 1] + ROW / 2);
    }
  }

  function arrow(context, x0, y0, x1, y1) {
    context.beginPath();
    context.moveTo(x0, y0);
    context.lineTo(x1, y1);
    context.stroke();
    const turn = Math.atan2(y1 - y0, x1 - x0);
    context.beginPath();
    context.moveTo(x1, y1);
    for (const side of [-0.4, 0.4]) context.lineTo(x1 - 7 * Math.cos(turn + side), y1 - 7 * Math.sin(turn + side));
    context.fill();
  }

  /** The path runs below its lanes; an arrow leads from one to the next. */
  function paintPath(context, view, scale) {
    const { pathLane, pathTs, pathDur, tops } = model;
    context.fillStyle = context.strokeStyle = palette.ink;
    context.lineWidth = 1;
    const below = (lane) => tops[lane + 1] - GAP + 1.5;
    let arrowAt = -Infinity;
    for (let i = 0; i < pathTs.length; i++) {
      const x = (pathTs[i] - view.from) * scale;
      const right = x + pathDur[i] * scale;
      if (right >= 0 && x <= surface.width) context.fillRect(Math.max(-1, x), below(pathLane[i]) - 1.5, Math.max(1, Math.min(surface.width + 1, right) - Math.max(-1, x)), 3);
      if (!i || pathLane[i] === pathLane[i - 1] || x < 0) continue;
      const before = (pathTs[i - 1] + pathDur[i - 1] - view.from) * scale;
      if (before > surface.width) break;
      // Where arrows would cover one another, some are enough.
      if (x - arrowAt < 4) continue;
      arrowAt = x;
      arrow(context, before, below(pathLane[i - 1]), x, below(pathLane[i]));
    }
  }

  function paintAreas(context, view, scale) {
    context.fillStyle = palette.mark;
    context.globalAlpha = 0.3;
    for (const [ts, dur] of model.marks) context.fillRect((ts - view.from) * scale, 0, Math.max(2, dur * scale), model.height);
    context.globalAlpha = 1;
    // Only the one that the timeline is about has words.
    context.strokeStyle = palette.mark;
    context.lineWidth = 2;
    for (const [ts, dur] of model.marks.filter(([, , text]) => text)) context.strokeRect((ts - view.from) * scale, 1, Math.max(2, dur * scale), model.height - 2);
  }

  function outline(context, slice, colour, view, scale) {
    const x = Math.max(-3, (model.ts[slice] - view.from) * scale);
    const right = Math.min(surface.width + 3, (model.end[slice] - view.from) * scale);
    context.strokeStyle = colour;
    context.lineWidth = 2;
    context.strokeRect(x, model.rows[model.row[slice]].y, Math.max(2, right - x), ROW - 1);
  }

  function paintLinks(context, view, scale) {
    const middle = (slice) => model.rows[model.row[slice]].y + ROW / 2;
    context.fillStyle = context.strokeStyle = palette.link;
    context.lineWidth = 1.5;
    for (const target of view.links) {
      arrow(context, (model.ts[model.launch[target]] - view.from) * scale, middle(model.launch[target]), (model.ts[target] - view.from) * scale, middle(target));
    }
  }

  function paintRange(context, view, scale) {
    const [x, width] = [(view.range[0] - view.from) * scale, (view.range[1] - view.range[0]) * scale];
    context.fillStyle = context.strokeStyle = palette.link;
    context.globalAlpha = 0.15;
    context.fillRect(x, 0, width, model.height);
    context.globalAlpha = 1;
    context.lineWidth = 1;
    context.strokeRect(x, 0.5, width, model.height);
  }

  function paintAxis(context, view, scale) {
    const rough = (90 / scale);
    const power = 10 ** Math.floor(Math.log10(rough));
    const step = [1, 2, 5, 10].map((each) => each * power).find((each) => each >= rough);
    context.fillStyle = palette.soft;
    for (let ts = Math.ceil(view.from / step) * step; ts <= view.from + view.size; ts += step) {
      const x = (ts - view.from) * scale;
      context.fillRect(x, model.height, 1, 5);
      context.fillText(time(Math.round(ts)), Math.min(x + 3, surface.width - 54), model.height + 11);
    }
  }

  function draw(view) {
    const { context, width } = surface;
    const scale = width / view.size;
    context.clearRect(0, 0, width, model.height + AXIS);
    cells.fill(0);
    labels.length = 0;
    paintAreas(context, view, scale);
    for (let number = 0; number < model.rows.length; number++) collect(number, view);
    paintSlices(context);
    paintLabels(context, view);
    if (view.showsPath) paintPath(context, view, scale);
    paintLinks(context, view, scale);
    if (model.culprit >= 0) outline(context, model.culprit, palette.culprit, view, scale);
    if (view.chosen >= 0) outline(context, view.chosen, palette.ink, view, scale);
    if (view.range) paintRange(context, view, scale);
    paintAxis(context, view, scale);
  }
  return { draw, recolour };
}

const alive = new WeakMap();

/** Make a timeline of the figure, once: { head, show, focus }. */
function timelineOf(figure) {
  if (!alive.has(figure)) alive.set(figure, timeline(figure));
  return alive.get(figure);
}

async function timeline(figure) {
  const model = timelineModel(await unpacked(figure.querySelector("script")));
  const view = { from: 0, size: model.width, chosen: -1, range: null, matches: null, showsPath: false, links: [] };
  const pane = element("div", "", {
    class: "live", tabindex: "0", role: "application", "aria-label": `Timeline: ${figure.querySelector("figcaption").textContent}. ${KEYS}`,
  });
  figure.querySelector(".lanes-and-picture").append(pane);
  const surface = canvasIn(pane, () => model.height + AXIS, () => { painter.recolour(); painter.draw(view); });
  const painter = timelinePainter(model, surface);
  const draw = perFrame(() => painter.draw(view));
  const tip = tipIn(pane);
  const scale = () => surface.width / view.size;
  const at = (x) => view.from + x / scale();
  const told = element("output", "");
  const about = element("div", "", { class: "about", role: "status" });

  function show(from, size) {
    view.size = Math.min(model.width, Math.max(LEAST_NS, size));
    view.from = Math.min(model.width - view.size, Math.max(0, from));
    draw();
  }
  const zoom = (factor, around = view.from + view.size / 2) => show(around - (around - view.from) * factor, view.size * factor);
  const move = (part) => show(view.from + view.size * part, view.size);
  const showSlice = (slice) => show(model.ts[slice] - model.dur[slice], Math.max(3 * model.dur[slice], LEAST_NS * 5));

  /** The slice at a place of the pane, within some pixels of it; -1 for none. */
  function sliceAt(x, y) {
    const row = model.rows.find((each) => y >= each.y && y < each.y + ROW);
    if (!row) return -1;
    const near = 3 / scale();
    let best = -1, bestFar = Infinity;
    for (let i = firstAfter(model, row, at(x) - near); i < row.to && model.ts[i] <= at(x) + near; i++) {
      const far = Math.max(0, model.ts[i] - at(x), at(x) - model.end[i]);
      if (far < bestFar || (far === bestFar && model.dur[i] > model.dur[best])) [best, bestFar] = [i, far];
    }
    return best;
  }

  const nameOf = (slice) => model.names[model.called[slice]];
  const what = (slice) => (model.more[slice] ? `${amountOf(model.more[slice] + 1)} slices, the longest ${nameOf(slice)}` : nameOf(slice));
  const kindOf = (slice) => model.kinds[model.kind[slice]][1];

  function stepOf(ts) {
    const row = model.rows.find((each) => model.lanes[each.lane][1] === "step");
    const slice = row ? firstAfter(model, row, ts) : -1;
    return row && slice < row.to && model.ts[slice] <= ts ? `, ${time(ts - model.ts[slice])} into ${nameOf(slice)}` : "";
  }

  const go = (slice) => button(nameOf(slice).slice(0, 60), `Show ${nameOf(slice)}`, () => choose(slice, true));

  function launchLine(slice) {
    const side = model.lanes[model.lane[slice]][1];
    if (side === "gpu" && model.launch[slice] >= 0) {
      const call = model.launch[slice];
      return ["launched by", go(call), `, ${time(model.ts[slice] - model.ts[call])} earlier, on ${model.lanes[model.lane[call]][0]}`];
    }
    if (side === "gpu") return ["launched by", "a call that is not in this drawing"];
    const launched = side === "host" ? launchedIn(model, slice) : [];
    if (!launched.length) return null;
    const total = launched.reduce((sum, each) => sum + model.dur[each] - model.rest[each], 0);
    const most = launched.reduce((a, b) => (model.dur[b] > model.dur[a] ? b : a));
    return ["launches", `${amountOf(launched.reduce((sum, each) => sum + model.more[each] + 1, 0))} on the GPU, ${time(total)}; the longest `, go(most)];
  }

  /** Facts about the slice, as [label, what to say ...]. */
  function factsOf(slice) {
    const facts = [
      ["kind", `${kindOf(slice)}, on ${model.lanes[model.lane[slice]][0]}`],
      ["start", `${time(model.ts[slice])}${stepOf(model.ts[slice])} (ts ${BigInt(model.ts[slice]) + BigInt(model.start)})`],
      ["duration", time(model.dur[slice]) + (model.more[slice] ? `, of which ${time(model.dur[slice] - model.rest[slice])} in slices` : "")],
      launchLine(slice),
    ];
    const ledger = model.lanes[model.lane[slice]][1] === "ledger" ? [] : meanwhile(model, slice);
    const sum = ledger.reduce((total, [, ns]) => total + ns, 0);
    if (sum) facts.push(["ledger", ledger.slice(0, 4).map(([kind, ns]) => `${model.kinds[kind][1]} ${shareOf(ns, sum)}`).join(", ")]);
    return facts.filter(Boolean);
  }

  function choose(slice, brings = false) {
    view.chosen = slice;
    view.links = [];
    if (slice < 0) return about.replaceChildren(), draw();
    if (model.launch[slice] >= 0) view.links = [slice];
    else if (model.lanes[model.lane[slice]][1] === "host") view.links = launchedIn(model, slice).slice(0, 40);
    const list = element("dl", "");
    for (const [label, ...content] of factsOf(slice)) {
      const line = element("div", "");
      const value = element("dd", "");
      value.append(...content);
      line.append(element("dt", label), value);
      list.append(line);
    }
    about.replaceChildren(element("p", what(slice), { class: "title" }), list);
    if (brings && (model.end[slice] < view.from || model.ts[slice] > view.from + view.size)) show(model.ts[slice] - view.size / 2, view.size);
    draw();
  }

  function sum(from, to) {
    view.range = [Math.max(0, from), Math.min(model.width, to)];
    const length = view.range[1] - view.range[0];
    const { kinds, names, ledgers } = sumsOf(model, ...view.range);
    const lines = (map, label) => [...map].sort((a, b) => b[1].self - a[1].self).map(([key, { count, total, self }]) => [...label(key), amountOf(count), time(total), time(self), shareOf(self, length)]);
    const byName = lines(names, (name) => [model.names[name], model.kinds[model.kindOf[name]][1]]);
    const ledger = [...ledgers].sort((a, b) => b[1].total - a[1].total).map(([key, { total }]) => {
      const [lane, kind] = key.split("/");
      return [model.lanes[lane][0], model.kinds[kind][1], time(total), shareOf(total, length)];
    });
    const clear = button("Close", "Close the sums", () => { view.range = null; about.replaceChildren(); draw(); });
    const isRough = touchesMany(...view.range);
    about.replaceChildren(element("p", `Range of ${time(length)}, from ${time(view.range[0])}`, { class: "title" }), clear);
    if (isRough) about.append(element("p", "Short slices that are drawn together count as the longest of them here.", { class: "note" }));
    const sums = element("div", "", { class: "sums" });
    if (ledger.length) sums.append(tableOf("The ledger", ["lane", "time goes to", "time", "share"], ledger, 2));
    sums.append(tableOf("By kind", ["kind", "slices", "total", "self", "of the range"], lines(kinds, (kind) => [model.kinds[kind][1]]), 1));
    const rest = byName.length > 12 ? `By name: the first 12 of ${amountOf(byName.length)}` : "By name";
    about.append(sums, tableOf(rest, ["name", "kind", "slices", "total", "self", "of the range"], byName.slice(0, 12), 2));
    draw();
  }

  function touchesMany(from, to) {
    return model.rows.some((row) => {
      for (let i = firstAfter(model, row, from); i < row.to && model.ts[i] < to; i++) if (model.more[i]) return true;
      return false;
    });
  }

  // Search.
  let found = [], place = -1;
  function search(text) {
    const wanted = text.trim().toLowerCase();
    [found, place, view.matches] = [[], -1, null];
    told.textContent = "";
    if (wanted) {
      const isNamed = model.names.map((name) => name.toLowerCase().includes(wanted));
      view.matches = Uint8Array.from(model.called, (name) => isNamed[name]);
      for (let i = 0; i < model.count; i++) if (view.matches[i]) found.push(i);
      found.sort((a, b) => model.ts[a] - model.ts[b] || a - b);
      tellFound();
    }
    draw();
  }
  function tellFound() {
    const slices = found.reduce((sum, each) => sum + model.more[each] + 1, 0);
    const total = found.reduce((sum, each) => sum + model.dur[each] - model.rest[each], 0);
    const nth = place < 0 ? "" : `${amountOf(place + 1)} of ${amountOf(found.length)}; `;
    told.textContent = found.length ? `${nth}${amountOf(slices)} slices, ${time(total)} in all` : "none";
  }
  function next(by) {
    if (!found.length) return;
    place = place < 0 && by < 0 ? found.length - 1 : (place + by + found.length) % found.length;
    choose(found[place], true);
    tellFound();
  }

  /** To the slice before or after in its row, or to the nearest of the row above or below. */
  function beside(by) {
    if (view.chosen < 0) return choose(firstInView());
    const row = model.rows[model.row[view.chosen]];
    choose(Math.min(row.to - 1, Math.max(row.from, view.chosen + by)), true);
  }
  function across(by) {
    if (view.chosen < 0) return choose(firstInView());
    const row = model.rows[model.row[view.chosen] + by];
    if (row) choose(Math.min(row.to - 1, firstAfter(model, row, Math.max(model.ts[view.chosen], view.from))), true);
  }
  function firstInView() {
    const row = model.rows.find((each) => isWork(model, each.lane)) ?? model.rows[0];
    return row ? Math.min(row.to - 1, firstAfter(model, row, view.from)) : -1;
  }
  function clear() {
    view.range = null;
    input.value = "";
    search("");
    choose(-1);
  }

  // Controls; those of an occurrence, which is small, are few.
  const isSmall = figure.dataset.kind === "occurrence";
  const input = element("input", "", { type: "search", placeholder: "search names", "aria-label": "Search slices by name" });
  const tools = element("div", "", { class: "tools" });
  const pathButton = button("Critical path", "Draw the critical path: what each moment waited for", () => {
    view.showsPath = !view.showsPath;
    pathButton.setAttribute("aria-pressed", view.showsPath);
    draw();
  });
  const rangeButton = button("Sum a range", "Drag over the timeline to sum a range", () => {
    rangeButton.setAttribute("aria-pressed", rangeButton.getAttribute("aria-pressed") !== "true");
  });
  [pathButton, rangeButton].forEach((each) => each.setAttribute("aria-pressed", "false"));
  tools.append(
    button("+", "Zoom in", () => zoom(0.5)), button("−", "Zoom out", () => zoom(2)),
    ...(isSmall ? [] : [button("◀", "Earlier", () => move(-0.4)), button("▶", "Later", () => move(0.4))]),
    ...model.views.filter(([, dur]) => dur < model.width).map(([ts, dur, text]) => button(text, `Show ${text}`, () => show(ts - dur * 0.01, dur * 1.02))),
    button("All", "Show all", () => show(0, model.width)),
  );
  const legend = figure.querySelector(".legend");
  const explain = (name, words) => {
    const item = element("li", "", { class: "of-live" });
    item.append(element("span", "", { class: `swatch ${name}`, "aria-hidden": "true" }), words);
    legend.append(item);
  };
  if (model.pathTs.length) {
    tools.append(pathButton);
    explain("ink", "critical path");
  }
  if (model.launch.some((call) => call >= 0)) explain("link", "from a launch to what it launched");
  if (!isSmall) tools.append(rangeButton, input, button("‹", "Match before", () => next(-1)), button("›", "Next match", () => next(1)), told);
  input.addEventListener("input", () => search(input.value));
  input.addEventListener("keydown", (event) => {
    if (event.key === "Enter") next(event.shiftKey ? -1 : 1);
    if (event.key === "Escape") { clear(); pane.focus(); }
  });
  figure.querySelector(".lanes-and-picture").before(tools);
  const keys = element("details", "", { class: "keys" });
  keys.append(element("summary", "Keys"), element("p", KEYS));
  figure.querySelector(".lanes-and-picture").after(...(isSmall ? [] : [element("p", HINT, { class: "note hint" }), keys]), about);

  const acts = {
    w: () => zoom(0.6), "+": () => zoom(0.6), "=": () => zoom(0.6), s: () => zoom(1 / 0.6), "-": () => zoom(1 / 0.6),
    a: () => move(-0.2), ArrowLeft: () => move(-0.2), d: () => move(0.2), ArrowRight: () => move(0.2),
    ArrowUp: () => across(-1), ArrowDown: () => across(1), ",": () => beside(-1), ".": () => beside(1),
    f: () => view.chosen >= 0 && showSlice(view.chosen), r: () => sum(view.from, view.from + view.size),
    0: () => show(0, model.width), "/": () => input.focus(), Escape: clear,
  };
  pane.addEventListener("keydown", (event) => {
    const act = event.ctrlKey || event.metaKey || event.altKey ? undefined : acts[event.key] ?? acts[event.key.toLowerCase()];
    if (!act) return;
    event.preventDefault();
    act();
  });

  const x = (event) => event.clientX - surface.canvas.getBoundingClientRect().left;
  const y = (event) => event.clientY - surface.canvas.getBoundingClientRect().top;
  pane.addEventListener("wheel", (event) => {
    const isSideways = event.shiftKey || Math.abs(event.deltaX) > Math.abs(event.deltaY);
    const by = (event.deltaY || event.deltaX) * (event.deltaMode ? 20 : 1);
    if (isSideways) show(view.from + ((event.deltaX || event.deltaY) * (event.deltaMode ? 20 : 1)) / scale(), view.size);
    // Before a click the page scrolls, and where all is seen it goes on scrolling.
    else if (event.ctrlKey || (document.activeElement === pane && (by < 0 || view.size < model.width))) zoom(Math.exp(Math.max(-0.5, Math.min(0.5, by * 0.003))), at(x(event)));
    else return;
    event.preventDefault();
  }, { passive: false });

  // One pointer moves or selects, two zoom.
  const pointers = new Map();
  let drag = null;
  function begin(isRange) {
    const places = [...pointers.values()];
    drag = { from: view.from, size: view.size, places, hasMoved: false, isRange, at: at(places[0]), apart: places.length > 1 ? Math.max(10, Math.abs(places[0] - places[1])) : 0 };
  }
  function pinch() {
    const [a, b] = [...pointers.values()];
    const size = Math.min(model.width, drag.size * (drag.apart / Math.max(10, Math.abs(a - b))));
    const held = drag.from + (((drag.places[0] + drag.places[1]) / 2) / surface.width) * drag.size;
    show(held - ((a + b) / 2 / surface.width) * size, size);
  }
  surface.canvas.addEventListener("pointerdown", (event) => {
    if (event.button) return;
    surface.canvas.setPointerCapture(event.pointerId);
    pointers.set(event.pointerId, x(event));
    begin(event.shiftKey || rangeButton.getAttribute("aria-pressed") === "true");
  });
  surface.canvas.addEventListener("pointermove", (event) => {
    if (!pointers.has(event.pointerId)) return hover(event);
    pointers.set(event.pointerId, x(event));
    tip.hide();
    const far = x(event) - drag.places[0];
    drag.hasMoved ||= Math.abs(far) > 3 || pointers.size > 1;
    if (!drag.hasMoved) return;
    if (pointers.size > 1) pinch();
    else if (drag.isRange) {
      view.range = [Math.min(drag.at, at(x(event))), Math.max(drag.at, at(x(event)))];
      tip.show(event, [time(view.range[1] - view.range[0])]);
      draw();
    } else show(drag.from - (far / surface.width) * drag.size, drag.size);
  });
  const finish = (event) => {
    if (!pointers.delete(event.pointerId)) return;
    if (pointers.size) {
      begin(false);
      drag.hasMoved = true;
      return;
    }
    tip.hide();
    if (event.type === "pointercancel") return;
    if (drag.isRange && drag.hasMoved) sum(...view.range);
    else if (!drag.hasMoved) choose(sliceAt(x(event), y(event)));
  };
  surface.canvas.addEventListener("pointerup", finish);
  surface.canvas.addEventListener("pointercancel", finish);
  surface.canvas.addEventListener("pointerleave", () => tip.hide());
  surface.canvas.addEventListener("dblclick", (event) => {
    const slice = sliceAt(x(event), y(event));
    if (slice >= 0) showSlice(slice);
    else zoom(0.4, at(x(event)));
  });
  function hover(event) {
    const slice = sliceAt(x(event), y(event));
    if (slice < 0) return tip.hide();
    tip.show(event, [what(slice), `${time(model.dur[slice])}, ${kindOf(slice)}`, `at ${time(model.ts[slice])}${stepOf(model.ts[slice])}`]);
  }

  figure.classList.add("is-live");
  const [first] = model.views;
  if (first && first[1] < model.width) [view.from, view.size] = [Math.max(0, first[0] - first[1] * 0.01), Math.min(model.width, first[1] * 1.02)];
  surface.fit();
  const whole = figure.closest("article")?.querySelector('figure.timeline[data-kind="steps"]');
  if (whole && whole !== figure) tools.append(button("In the whole timeline", "Show this in the timeline of all steps", () => showIn(whole, model)));
  return { model, show, pane };
}

/** The time of `model` in another timeline, brought into view. */
async function showIn(figure, { start, width }) {
  for (let each = figure; each; each = each.parentElement) if (each.tagName === "DETAILS") each.open = true;
  figure.scrollIntoView({ block: "center" });
  const other = await timelineOf(figure);
  other.show(Number(BigInt(start) - BigInt(other.model.start)), width);
  other.pane.focus({ preventScroll: true });
}

if (window.DecompressionStream) whenSeen("figure.timeline", timelineOf);

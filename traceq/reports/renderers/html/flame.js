// Flame graphs: where host or GPU time goes by call path, from above. A click shows a frame as wide as there is room.
// Those of a difference have the frames of two runs, and colours that say what changed.

const LAYER = 18, LEAST_PX = 0.5;
const FLAME_KEYS = "The down arrow goes to the largest frame inside, up to the one around, left and right to its neighbours,"
  + " Enter shows the frame as wide as there is room, Escape shows all, slash searches.";

/** Frames in the order of the data, each with what is inside it: [{ name, kind, sums, parent, inside }], sums by name. */
function framesOf({ head, columns }) {
  const { parent, called, ...sums } = columns;
  const frames = [];
  for (let i = 0; i < parent.length; i++) {
    const frame = { name: head.names[called[i]], kind: head.kindOf[called[i]], parent: frames[parent[i]] ?? null, inside: [] };
    for (const sum in sums) frame[sum] = sums[sum][i];
    frames.push(frame);
    frame.parent?.inside.push(frame);
  }
  return frames;
}

/** The frames that `keeps` takes, each inside the next one around it that is kept, and those of one name as one. Noises are
independent. */
function onlyFrames(frames, sums, keeps) {
  const root = { ...frames[0], inside: [] };
  const places = new Map([[frames[0], root]]);
  for (const frame of frames.slice(1)) {
    const around = places.get(frame.parent);
    if (!keeps(frame)) {
      places.set(frame, around);
      continue;
    }
    let own = around.inside.find((each) => each.name === frame.name && each.kind === frame.kind);
    if (!own) {
      own = { ...frame, parent: around, inside: [] };
      for (const sum of sums) own[sum] = 0;
      around.inside.push(own);
    }
    for (const sum of sums) {
      if (!sum.endsWith("Noise")) own[sum] += frame[sum];
      else own[sum] = own[sum] < 0 || frame[sum] < 0 ? -1 : Math.hypot(own[sum], frame[sum]);
    }
    places.set(frame, own);
  }
  return root;
}

/** Where each frame lies when `top` is as wide as `width`: [{ frame, x, width, layer, isAround }], from above. */
function flameLayout(top, measure, width) {
  const around = [];
  for (let each = top.parent; each; each = each.parent) around.unshift(each);
  const placed = around.map((frame, layer) => ({ frame, x: 0, width, layer, isAround: true }));
  const wide = top[measure] ? width / top[measure] : 0;
  const place = (frame, x, layer) => {
    placed.push({ frame, x, width: frame[measure] * wide, layer, isAround: false });
    let at = x;
    for (const each of [...frame.inside].sort((a, b) => b[measure] - a[measure])) {
      if (each[measure] * wide < LEAST_PX) break;
      place(each, at, layer + 1);
      at += each[measure] * wide;
    }
  };
  place(top, 0, around.length);
  return placed;
}

/** Time of frames that hold `wanted` in their names, those inside others of them not again: { frames, time }. */
function foundIn(root, measure, wanted) {
  let [frames, sum] = [0, 0];
  const look = (frame, isInside) => {
    const isFound = frame.name.toLowerCase().includes(wanted);
    if (isFound) frames++;
    if (isFound && !isInside) sum += frame[measure];
    for (const each of frame.inside) look(each, isInside || isFound);
  };
  look(root, false);
  return { frames, time: sum };
}

const CLOCKS = { host: "host", gpu: "GPU" };
const SIDES = ["Base", "New"];

/** What a frame's time per step on a clock changed by: { base, new: ns, noise: ns or -1, level: place among the colours }. */
function changeOf(frame, clock) {
  const [base, later, noise] = [frame[`${clock}Base`], frame[`${clock}New`], frame[`${clock}Noise`]];
  const delta = later - base;
  const isMuch = later > base ? later >= 1.25 * base : later <= 0.8 * base;
  const level = Math.abs(delta) <= Math.max(0, noise) ? 2 : delta > 0 ? (isMuch ? 0 : 1) : isMuch ? 4 : 3;
  return { base, new: later, noise, delta, level, isOnly: level !== 2 && (!base || !later) };
}

const signed = (ns) => `${ns < 0 ? "-" : "+"}${time(Math.abs(ns))}`;
const percentOf = ({ delta, base, new: later }) => later >= 10 * base ? `${(later / base).toFixed(0)} times`
  : `${delta < 0 ? "-" : "+"}${((100 * Math.abs(delta)) / base).toFixed(Math.abs(delta) < 0.1 * base ? 1 : 0)} %`;

/** How the frames of a difference look and what is said of them, for flame(). */
function differences(head) {
  return {
    measures: Object.keys(CLOCKS).flatMap((clock) => SIDES.map((side) => clock + side)),
    clockOf: (measure) => measure.replace(/Base$|New$/, ""),
    variables: head.changes,
    colourOf: (frame, clock) => changeOf(frame, clock).level,
    isStriped: (frame, clock) => changeOf(frame, clock).isOnly,
    labelOf(frame, clock) {
      const change = changeOf(frame, clock);
      if (change.level === 2) return frame.name;
      return `${change.isOnly ? (change.base ? "gone:" : "new:") : percentOf(change)} ${frame.name}`;
    },
    factsOf(frame, kind) {
      const calls = (hundredths) => amountOf(hundredths / 100);
      const counts = frame.countBase || frame.countNew ? `; calls a step: base ${calls(frame.countBase)}, new ${calls(frame.countNew)}` : "";
      const lines = [kind + counts];
      for (const clock in CLOCKS) {
        const change = changeOf(frame, clock);
        if (!change.base && !change.new) continue;
        const by = change.base && change.new ? ` (${percentOf(change)})` : change.base ? ", only in the base" : ", only in the new run";
        const noise = change.noise < 0 ? "" : `; ${change.level === 2 ? "within" : "beyond"} its noise, \u00b1 ${time(change.noise)}`;
        lines.push(`${CLOCKS[clock]} time a step: base ${time(change.base)}, new ${time(change.new)}, ${signed(change.delta)}${by}${noise}`);
      }
      return lines;
    },
  };
}

/** The same of the frames of one run, of which `whole` is all. */
function times(head, whole) {
  const own = (frame, measure) => frame[measure] - frame.inside.reduce((sum, each) => sum + each[measure], 0);
  return {
    measures: Object.keys(CLOCKS),
    clockOf: (measure) => measure,
    variables: head.kinds.map(([variable]) => variable),
    colourOf: (frame) => frame.kind,
    isStriped: () => false,
    labelOf: (frame) => frame.name,
    factsOf(frame, kind) {
      const lines = [`${kind}, ${amountOf(frame.count)} ${frame.count === 1 ? "call" : "calls"}`];
      for (const measure in CLOCKS) {
        const total = whole[measure];
        if (!frame[measure] || !total) continue;
        lines.push(`${CLOCKS[measure]} ${time(frame[measure])}, ${shareOf(frame[measure], total)} of all; of its own ${time(own(frame, measure))}, ${shareOf(own(frame, measure), total)}`);
      }
      return lines;
    },
  };
}

async function flame(figure) {
  const data = await unpacked(figure.querySelector("script"));
  const { kinds, least } = data.head;
  const frames = framesOf(data);
  const sums = Object.keys(data.columns).filter((name) => name !== "parent" && name !== "called");
  const looks = data.head.changes ? differences(data.head) : times(data.head, frames[0]);
  const kindNamed = (frame) => kinds[frame.kind][2];
  // Of two runs first the one that takes longer, in which what changed is wide.
  const [first] = looks.measures.filter((each) => looks.clockOf(each) === "host").sort((a, b) => frames[0][b] - frames[0][a]);
  const clock = () => looks.clockOf(view.measure);
  const view = { measure: first, root: frames[0], top: frames[0], chosen: null, wanted: "", placed: [] };
  const pane = element("div", "", { class: "live", tabindex: "0", role: "application", "aria-label": `Flame graph. ${FLAME_KEYS}` });
  const layers = () => 1 + view.placed.reduce((most, each) => Math.max(most, each.layer), 0);
  const surface = canvasIn(pane, () => layers() * LAYER, () => lay());
  const tip = tipIn(pane);
  const about = element("div", "", { class: "about", role: "status" });
  const told = element("output", "");
  const draw = perFrame(paint);
  let palette = [];

  /** Place all frames, and make the canvas as high as they are. */
  function lay() {
    view.placed = flameLayout(view.top, view.measure, surface.width || pane.clientWidth);
    const height = `${layers() * LAYER}px`;
    palette = colours([...looks.variables, "--on-slice", "--ink"]);
    if (surface.canvas.style.height !== height) surface.fit();
    else draw();
  }

  function paint() {
    const { context, width } = surface;
    const [text, ink] = palette.slice(-2);
    context.clearRect(0, 0, width, layers() * LAYER);
    for (const { frame, x, width: wide, layer, isAround } of view.placed) {
      const isFound = !view.wanted || frame.name.toLowerCase().includes(view.wanted);
      context.globalAlpha = isFound ? (isAround ? 0.6 : 1) : 0.2;
      context.fillStyle = palette[looks.colourOf(frame, clock())];
      context.fillRect(x, layer * LAYER, Math.max(LEAST_PX, wide - (wide > 3 ? 1 : 0)), LAYER - 1);
      if (looks.isStriped(frame, clock())) {
        context.fillStyle = text;
        for (let at = x; at < x + wide - 2; at += 6) context.fillRect(at, layer * LAYER, 1, 3);
      }
      const words = wide > 28 ? fitting(looks.labelOf(frame, clock()), wide - 6, surface.letter) : "";
      if (!words) continue;
      context.globalAlpha = isFound ? 1 : 0.6;
      context.fillStyle = isFound ? text : ink;
      context.fillText(words, x + 3, layer * LAYER + LAYER / 2);
    }
    context.globalAlpha = 1;
    const place = view.placed.find((each) => each.frame === view.chosen);
    if (!place) return;
    context.strokeStyle = ink;
    context.lineWidth = 2;
    context.strokeRect(place.x + 1, place.layer * LAYER + 1, Math.max(2, place.width - 2), LAYER - 3);
  }

  const factsOf = (frame) => looks.factsOf(frame, kinds[frame.kind][1]);

  function choose(frame) {
    view.chosen = frame;
    about.replaceChildren();
    if (frame) about.append(element("p", frame.name, { class: "title" }), ...factsOf(frame).map((line) => element("p", line)));
    draw();
  }

  function show(frame) {
    view.top = frame;
    choose(frame);
    lay();
  }

  const larger = (a, b) => b[view.measure] - a[view.measure];
  function across(by) {
    if (!view.chosen?.parent) return choose(view.top);
    const beside = [...view.chosen.parent.inside].filter((each) => each[view.measure]).sort(larger);
    choose(beside[Math.min(beside.length - 1, Math.max(0, beside.indexOf(view.chosen) + by))]);
  }
  function inward() {
    const [most] = [...(view.chosen?.inside ?? [])].filter((each) => each[view.measure]).sort(larger);
    if (!view.chosen) choose(view.top);
    else if (most) choose(most);
  }

  function search() {
    view.wanted = input.value.trim().toLowerCase();
    const { frames: number, time: sum } = foundIn(view.root, view.measure, view.wanted);
    told.textContent = view.wanted ? `${amountOf(number)} frames, ${time(sum)}, ${shareOf(sum, view.root[view.measure] || 1)}` : "";
    draw();
  }

  const input = element("input", "", { type: "search", placeholder: "search names", "aria-label": "Search frames by name" });
  input.addEventListener("input", search);
  input.addEventListener("keydown", (event) => {
    if (event.key !== "Escape") return;
    input.value = "";
    search();
    pane.focus();
  });
  const tools = element("div", "", { class: "tools" });
  const measures = looks.measures.filter((measure) => frames[0][measure]).map((measure) => {
    const [of, side] = [looks.clockOf(measure), measure.replace(looks.clockOf(measure), "").toLowerCase()];
    const what = of === "host" ? "time on the host" : "time of the GPU work launched";
    const made = button(`${CLOCKS[of]} time${side && `, ${side}`}`, `Widths are ${what}${side && ` in the ${side} run, per step`}`, () => {
      view.measure = measure;
      measures.forEach((each) => each.setAttribute("aria-pressed", each === made));
      search();
      lay();
    });
    made.setAttribute("aria-pressed", measure === view.measure);
    return made;
  });
  if (measures.length > 1) tools.append(...measures);
  const CHOICES = { "all frames": null, operators: ["op"], modules: ["module"], "Python frames": ["python"], annotations: ["annotation"] };
  const choices = Object.entries(CHOICES).filter(([, wanted]) => !wanted || frames.some((frame) => wanted.includes(kindNamed(frame))));
  const select = element("select", "", { "aria-label": "Frames to show" });
  select.append(...choices.map(([label]) => element("option", label)));
  select.addEventListener("change", () => {
    const wanted = CHOICES[select.value];
    // Threads, and what was launched, have their place in all of them.
    const isOther = (frame) => !["op", "module", "python", "annotation", "runtime", "overhead", "os", "other", "smaller"].includes(kindNamed(frame));
    view.root = wanted ? onlyFrames(frames, sums, (frame) => wanted.includes(kindNamed(frame)) || isOther(frame)) : frames[0];
    search();
    show(view.root);
  });
  if (choices.length > 2) tools.append(select);
  tools.append(button("All", "Show all frames", () => show(view.root)), input, told);

  const acts = {
    ArrowDown: inward, ArrowUp: () => choose(view.chosen?.parent ?? view.top), ArrowLeft: () => across(-1), ArrowRight: () => across(1),
    Enter: () => show(view.chosen ?? view.top), Escape: () => show(view.root), "/": () => input.focus(),
  };
  pane.addEventListener("keydown", (event) => {
    const act = event.ctrlKey || event.metaKey || event.altKey ? undefined : acts[event.key];
    if (!act) return;
    event.preventDefault();
    act();
  });
  function frameAt(event) {
    const box = surface.canvas.getBoundingClientRect();
    const [x, layer] = [event.clientX - box.left, Math.floor((event.clientY - box.top) / LAYER)];
    return view.placed.find((each) => each.layer === layer && x >= each.x && x < each.x + Math.max(1, each.width))?.frame;
  }
  surface.canvas.addEventListener("click", (event) => {
    const frame = frameAt(event);
    if (frame) show(frame);
  });
  surface.canvas.addEventListener("pointermove", (event) => {
    const frame = frameAt(event);
    if (frame) tip.show(event, [frame.name, ...factsOf(frame)]);
    else tip.hide();
  });
  surface.canvas.addEventListener("pointerleave", () => tip.hide());

  const hint = `Click a frame to see it as wide as there is room. Frames below ${least} of the time are drawn together.`;
  figure.prepend(tools, pane, element("p", hint, { class: "note hint" }), about);
  figure.classList.add("is-live");
  surface.fit();
}

if (window.DecompressionStream) whenSeen("figure.flame", flame);

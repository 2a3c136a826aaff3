// Charts of dots: what a dot is, said where the pointer is, or by the arrow keys. The table below the chart has it all.

const NEAR = 14;

function dotsOf(figure) {
  const table = figure.querySelector("table");
  const titles = [...table.tHead.rows[0].cells].map((cell) => cell.textContent);
  const facts = new Map([...table.tBodies[0].rows].map((row) => [Number(row.cells[0].textContent) - 1, [...row.cells].map((cell) => cell.textContent)]));
  const pane = element("div", "", { class: "live", tabindex: "0", role: "application", "aria-label": `${figure.querySelector("figcaption").textContent}. The left and right arrows go from dot to dot, Escape leaves.` });
  const told = element("output", "", { class: "note" });
  const pictures = [...figure.querySelectorAll(":scope > svg")];
  pictures[0].before(pane);
  pane.append(...pictures);
  pane.after(told);
  const tip = tipIn(pane);
  let chosen = -1;

  const dots = () => [...pictures.find((picture) => picture.clientWidth).querySelectorAll("circle")];
  const words = (index) => {
    const [, name, ...rest] = facts.get(index);
    return [name, ...rest.map((fact, at) => `${titles[at + 2]} ${fact}`)];
  };

  function choose(index) {
    chosen = index;
    pictures.forEach((picture) => picture.querySelectorAll("circle").forEach((dot, at) => dot.classList.toggle("is-chosen", at === index)));
    told.textContent = index < 0 ? "" : words(index).join(", ");
  }

  function nearest(event) {
    let [best, far] = [-1, Infinity];
    dots().forEach((dot, at) => {
      const box = dot.getBoundingClientRect();
      const away = Math.hypot(event.clientX - box.left - box.width / 2, event.clientY - box.top - box.height / 2) - box.width / 2;
      if (away < NEAR && away <= far) [best, far] = [at, away];
    });
    return best;
  }

  pane.addEventListener("pointermove", (event) => {
    const index = nearest(event);
    if (index < 0) return tip.hide();
    tip.show(event, words(index));
  });
  pane.addEventListener("pointerleave", () => tip.hide());
  pane.addEventListener("click", (event) => choose(nearest(event)));
  pane.addEventListener("keydown", (event) => {
    const by = { ArrowRight: 1, ArrowDown: 1, ArrowLeft: -1, ArrowUp: -1 }[event.key];
    if (by) choose((Math.max(chosen, by > 0 ? -1 : 0) + by + facts.size) % facts.size);
    else if (event.key === "Escape") choose(-1);
    else return;
    event.preventDefault();
  });
}

document.querySelectorAll(".chart.asked").forEach(dotsOf);

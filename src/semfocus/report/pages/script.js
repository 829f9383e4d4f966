"use strict";
(() => {
  const root = document.documentElement;
  window.addEventListener("error", (event) => { root.dataset.error = event.message; });
  document.addEventListener("securitypolicyviolation", (event) => { root.dataset.blocked = event.violatedDirective; });

  // The theme: what the system prefers until the reader chooses. Charts follow it by themselves: their colours are variables.
  const toggle = document.getElementById("theme");
  const preferred = window.matchMedia("(prefers-color-scheme: dark)");
  const isDark = () => (root.dataset.theme || (preferred.matches ? "dark" : "light")) === "dark";
  const name = () => { toggle.textContent = isDark() ? "Light" : "Dark"; };
  toggle.hidden = false;
  toggle.addEventListener("click", () => { root.dataset.theme = isDark() ? "light" : "dark"; name(); });
  preferred.addEventListener("change", name);
  name();

  // Columns were written in few characters: a tile is repeated, a run is one value so many times.
  const unpacked = (column) => {
    if (column.tile) return Array.from({ length: column.times }, () => column.tile).flat();
    if (column.runs) return column.runs.flatMap(([value, times]) => Array(times).fill(value));
    return column;
  };
  const rowsOf = (columns) => {
    const names = Object.keys(columns), values = names.map((each) => unpacked(columns[each]));
    return values[0].map((_, place) => Object.fromEntries(names.map((each, at) => [each, values[at][place]])));
  };

  const { specs, charts } = JSON.parse(document.getElementById("charts").textContent);
  const boxes = [...document.querySelectorAll(".chart")];
  const pickOf = (box) => box.closest(".comparison")?.dataset.pick || "";
  const isolate = (box) => { try { box.view.signal("pick", pickOf(box)).runAsync(); } catch { /* a chart without arms */ } };

  const draw = (box) => {
    if (box.dataset.drawn || !box.clientWidth) return null;
    box.dataset.drawn = "begun";
    const chart = charts[+box.dataset.chart];
    const spec = structuredClone(specs[chart.spec]);
    for (const each of spec.params || []) {
      const own = each.name.replace(/0$/, "");
      if (own in chart.values) each.value = own === "narrow" ? box.clientWidth < 560 : chart.values[own];
    }
    spec.datasets = { rows0: rowsOf(chart.columns) };
    return vegaEmbed(box, spec, { ast: true, actions: false, renderer: "svg" }).then(({ view }) => {
      box.view = view;
      box.dataset.drawn = "yes";
      box.style.minHeight = "";
      isolate(box);
    }, (error) => { root.dataset.error = String(error); });
  };

  for (const scope of document.querySelectorAll(".comparison")) {
    const keys = [...scope.querySelectorAll(".key")];
    for (const key of keys) key.addEventListener("click", () => {
      const chosen = scope.dataset.pick === key.dataset.name ? "" : key.dataset.name;
      scope.dataset.pick = chosen;
      for (const each of keys) {
        const on = each.dataset.name === chosen;
        each.classList.toggle("on", on);
        each.setAttribute("aria-pressed", String(on));
      }
      for (const box of scope.querySelectorAll(".chart[data-drawn=yes]")) isolate(box);
    });
  }

  // What is in view first, then the rest when there is time; a closed part when it is opened.
  addEventListener("DOMContentLoaded", () => {
    const seen = new IntersectionObserver((found) => { for (const each of found) if (each.isIntersecting) draw(each.target); }, { rootMargin: "300px" });
    for (const box of boxes) seen.observe(box);
    const rest = boxes.slice();
    const next = async () => {
      const box = rest.shift();
      if (!box) { root.dataset.ready = "yes"; return; }
      await draw(box);
      setTimeout(next);
    };
    setTimeout(next);
  });
  addEventListener("beforeprint", () => {
    for (const each of document.querySelectorAll("details.comparison")) each.open = true;
    boxes.forEach(draw);
  });
})();

"use strict";
(() => {
  const root = document.documentElement;
  window.addEventListener("error", (event) => { root.dataset.error = event.message; });
  const tip = document.getElementById("tip");

  // The theme: what the system prefers until the reader chooses.
  const toggle = document.getElementById("theme");
  const preferred = window.matchMedia("(prefers-color-scheme: dark)");
  const isDark = () => (root.dataset.theme || (preferred.matches ? "dark" : "light")) === "dark";
  const name = () => { toggle.textContent = isDark() ? "Light" : "Dark"; };
  toggle.hidden = false;
  toggle.addEventListener("click", () => { root.dataset.theme = isDark() ? "light" : "dark"; name(); });
  preferred.addEventListener("change", name);
  name();

  // The lines of a figure are its data: a path of relative steps, read once when somebody points at it.
  const cache = new WeakMap();
  const points = (path) => {
    if (!cache.has(path)) {
      const found = [];
      let x = 0, y = 0;
      for (const [, command, rest] of (path.getAttribute("d") || "").matchAll(/([Ml])([^Mlz]*)/g)) {
        const [a, b] = rest.match(/-?(?:\d+\.?\d*|\.\d+)/g).map(Number);
        if (command === "M") { if (found.length) found.push(null); x = a; y = b; } else { x += a; y += b; }
        found.push([x, y]);
      }
      cache.set(path, found);
    }
    return cache.get(path);
  };
  const heightAt = (path, x) => {
    const line = points(path);
    let best = null;
    for (let i = 0; i < line.length; i++) {
      const a = line[i], b = line[i + 1];
      if (!a) continue;
      if (Math.abs(a[0] - x) < 0.06) best = a[1];
      if (b && a[0] <= x && x < b[0]) return a[1] + (b[1] - a[1]) * (x - a[0]) / (b[0] - a[0]);
    }
    return best;
  };

  const highlight = (scope, arm) => {
    scope.classList.toggle("pointing", arm !== null);
    for (const each of scope.querySelectorAll(".arm, .key")) each.classList.toggle("on", each.dataset.arm === arm);
  };
  const show = (text, event) => {
    tip.textContent = text;
    tip.hidden = false;
    const box = tip.getBoundingClientRect();
    const left = event.clientX + 16 + box.width > innerWidth ? event.clientX - 16 - box.width : event.clientX + 16;
    tip.style.transform = `translate(${Math.max(4, left)}px,${Math.max(4, Math.min(event.clientY + 12, innerHeight - box.height - 4))}px)`;
  };

  for (const scope of document.querySelectorAll(".comparison")) {
    let pinned = null;
    const keys = [...scope.querySelectorAll(".key")];
    const pin = (arm) => {
      pinned = pinned === arm ? null : arm;
      for (const key of keys) key.setAttribute("aria-pressed", String(key.dataset.arm === pinned));
      highlight(scope, pinned);
    };
    for (const key of keys) {
      const arm = key.dataset.arm;
      key.addEventListener("pointerenter", () => highlight(scope, arm));
      key.addEventListener("focus", () => highlight(scope, arm));
      key.addEventListener("pointerleave", () => highlight(scope, pinned));
      key.addEventListener("blur", () => highlight(scope, pinned));
      key.addEventListener("click", () => pin(arm));
    }
    for (const panel of scope.querySelectorAll(".panel")) {
      const { x0, x1, last, y0, y1, low, high } = Object.fromEntries(Object.entries(panel.dataset).map(([key, value]) => [key, +value]));
      const share = (y) => low + (high - low) * (y - y0) / (y1 - y0);
      const size = (y) => low * Math.pow(high / low, (y - y0) / (y1 - y0));
      const percent = (y) => (panel.dataset.scale === "logarithmic" ? size(y).toPrecision(2) : `${(100 * share(y)).toFixed(1)}%`);
      const cursor = document.createElementNS(panel.namespaceURI, "line");
      cursor.setAttribute("class", "cursor");
      cursor.setAttribute("y1", y1);
      cursor.setAttribute("y2", y0);
      const leave = () => { tip.hidden = true; cursor.remove(); highlight(scope, pinned); };
      panel.addEventListener("pointerleave", leave);
      panel.addEventListener("pointermove", (event) => {
        const at = new DOMPoint(event.clientX, event.clientY).matrixTransform(panel.getScreenCTM().inverse());
        if (at.x < x0 - 4 || at.x > x1 + 4) { leave(); return; }
        const epoch = Math.max(0, Math.min(last, Math.round(last * (at.x - x0) / (x1 - x0))));
        const x = x0 + (x1 - x0) * epoch / last;
        const found = [...panel.querySelectorAll(".arm")]
          .map((arm) => ({ arm, y: heightAt(arm.querySelector(".median"), x) }))
          .filter((each) => each.y !== null)
          .sort((a, b) => a.y - b.y);
        if (!found.length) { leave(); return; }
        cursor.setAttribute("x1", x);
        cursor.setAttribute("x2", x);
        panel.append(cursor);
        let nearest = found.reduce((best, each) => (Math.abs(each.y - at.y) < Math.abs(best.y - at.y) ? each : best));
        if (pinned !== null) nearest = found.find((each) => each.arm.dataset.arm === pinned) || nearest;
        highlight(scope, nearest.arm.dataset.arm);
        const short = (text) => (text.length > 28 ? `${text.slice(0, 27)}…` : text);
        const lines = found.map((each) => `${each === nearest ? "▸ " : ""}${percent(each.y)}  ${short(each.arm.dataset.name)}`);
        const seeds = [...nearest.arm.querySelectorAll(".seed")].map((seed) => heightAt(seed, x)).filter((y) => y !== null).sort((a, b) => a - b);
        const each = seeds.length ? `\nits seeds: ${seeds.map(percent).join(" ")}` : "";
        show(`${panel.dataset.unit} ${epoch}\n${lines.join("\n")}${each}`, event);
      });
    }
  }

  // A closed part would not be printed.
  window.addEventListener("beforeprint", () => { for (const each of document.querySelectorAll("details.comparison")) each.open = true; });
  root.dataset.ready = "yes";
})();

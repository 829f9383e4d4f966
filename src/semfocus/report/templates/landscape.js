"use strict";
(() => {
  const root = document.documentElement;
  window.addEventListener("error", (event) => { root.dataset.error = event.message; });
  const toggle = document.getElementById("theme");
  const preferred = window.matchMedia("(prefers-color-scheme: dark)");
  const isDark = () => (root.dataset.theme || (preferred.matches ? "dark" : "light")) === "dark";

  // The surfaces: a height for each point, seen from an angle that all share.
  const data = JSON.parse(document.getElementById("data").textContent);
  const scale = data.logarithmic ? Math.log : (value) => value;
  const low = scale(data.low), span = scale(data.high) - low || 1;
  const share = (value) => Math.min(1, Math.max(0, (scale(Math.max(value, data.low)) - low) / span));
  const view = { turn: -0.7, tilt: 0.55 };
  const drawn = [];

  const project = (width, height) => {
    const { turn, tilt } = view, size = Math.min(width, height * 1.25) * 0.3;
    const c = Math.cos(turn), s = Math.sin(turn), ct = Math.cos(tilt), st = Math.sin(tilt);
    return (x, y, z) => {
      const right = x * c - y * s, back = x * s + y * c, up = 1.15 * (z - 0.5);
      return { x: width / 2 + size * right, y: height * 0.5 - size * (back * st + up * ct), depth: back * ct - up * st };
    };
  };

  const draw = ({ canvas, surface }) => {
    const box = canvas.getBoundingClientRect(), dense = window.devicePixelRatio || 1;
    if (!box.width) return;
    canvas.width = Math.round(box.width * dense);
    canvas.height = Math.round(box.height * dense);
    const pen = canvas.getContext("2d");
    pen.scale(dense, dense);
    const at = project(box.width, box.height);
    const style = getComputedStyle(root);
    const rows = surface.losses, num = rows.length, place = (index) => 2 * index / (num - 1) - 1;
    const shapes = [];
    const points = rows.map((row, j) => row.map((value, i) => (value === null ? null : at(place(i), place(j), share(value)))));
    for (let j = 0; j + 1 < num; j++) {
      for (let i = 0; i + 1 < num; i++) {
        const corners = [points[j][i], points[j][i + 1], points[j + 1][i + 1], points[j + 1][i]];
        if (corners.includes(null)) continue;
        const mean = (share(rows[j][i]) + share(rows[j][i + 1]) + share(rows[j + 1][i + 1]) + share(rows[j + 1][i])) / 4;
        shapes.push({ corners, colour: data.colours[Math.round(63 * mean)], depth: corners.reduce((sum, each) => sum + each.depth, 0) / 4 });
      }
    }
    // The floor and a post at a back corner with the values of the scale.
    const floor = [[-1, -1], [1, -1], [1, 1], [-1, 1]].map(([x, y]) => at(x, y, 0));
    pen.strokeStyle = style.getPropertyValue("--soft");
    pen.lineWidth = 0.8;
    pen.beginPath();
    floor.forEach((each, index) => (index ? pen.lineTo(each.x, each.y) : pen.moveTo(each.x, each.y)));
    pen.closePath();
    pen.stroke();
    const corner = [[-1, -1], [1, -1], [1, 1], [-1, 1]].reduce((best, each) => (at(...each, 0).x < at(...best, 0).x ? each : best));
    const foot = at(...corner, 0), head = at(...corner, 1);
    pen.beginPath();
    pen.moveTo(foot.x, foot.y);
    pen.lineTo(head.x, head.y);
    pen.stroke();
    pen.fillStyle = style.getPropertyValue("--soft");
    pen.font = "11px system-ui, sans-serif";
    pen.textAlign = "right";
    pen.textBaseline = "middle";
    for (const value of data.ticks) {
      const tick = at(...corner, share(value));
      pen.fillText(String(value), tick.x - 7, tick.y);
      pen.fillRect(tick.x - 4, tick.y - 0.5, 4, 1);
    }
    shapes.sort((a, b) => b.depth - a.depth);
    pen.lineWidth = 0.5;
    for (const { corners, colour } of shapes) {
      pen.beginPath();
      corners.forEach((each, index) => (index ? pen.lineTo(each.x, each.y) : pen.moveTo(each.x, each.y)));
      pen.closePath();
      pen.fillStyle = colour;
      pen.fill();
      pen.strokeStyle = "rgba(10,16,30,.28)";
      pen.stroke();
    }
    const half = (num - 1) / 2, centre = rows[half][half];
    if (centre !== null) {
      const dot = at(0, 0, share(centre));
      pen.beginPath();
      pen.arc(dot.x, dot.y, 4.5, 0, 2 * Math.PI);
      pen.fillStyle = "#fff";
      pen.fill();
      pen.lineWidth = 2;
      pen.strokeStyle = "#000";
      pen.stroke();
    }
  };
  let asked = false;
  const drawAll = () => {
    if (asked) return;
    asked = true;
    requestAnimationFrame(() => { asked = false; drawn.forEach(draw); });
  };
  const turnBy = (right, up) => {
    view.turn += right;
    view.tilt = Math.min(1.55, Math.max(0.05, view.tilt + up));
    drawAll();
  };

  const pairs = [...new Set(data.surfaces.map((each) => each.pair))].sort((a, b) => a - b);
  const holder = document.getElementById("canvases");
  const show = (pair) => {
    holder.replaceChildren();
    drawn.length = 0;
    for (const surface of data.surfaces.filter((each) => each.pair === pair)) {
      const figure = document.createElement("figure"), caption = document.createElement("figcaption"), canvas = document.createElement("canvas");
      caption.textContent = surface.name;
      canvas.tabIndex = 0;
      canvas.setAttribute("role", "img");
      canvas.setAttribute("aria-label", `loss surface of ${surface.name}; arrow keys turn it`);
      let from = null;
      canvas.addEventListener("pointerdown", (event) => { from = [event.clientX, event.clientY]; canvas.setPointerCapture(event.pointerId); });
      canvas.addEventListener("pointermove", (event) => {
        if (!from) return;
        turnBy((event.clientX - from[0]) * 0.01, (event.clientY - from[1]) * 0.01);
        from = [event.clientX, event.clientY];
      });
      for (const end of ["pointerup", "pointercancel"]) canvas.addEventListener(end, () => { from = null; });
      canvas.addEventListener("keydown", (event) => {
        const step = { ArrowLeft: [-0.1, 0], ArrowRight: [0.1, 0], ArrowUp: [0, -0.1], ArrowDown: [0, 0.1] }[event.key];
        if (step) { event.preventDefault(); turnBy(...step); }
      });
      figure.append(caption, canvas);
      holder.append(figure);
      drawn.push({ canvas, surface });
    }
    for (const button of document.querySelectorAll("#pairs button")) button.setAttribute("aria-pressed", String(+button.dataset.pair === pair));
    drawn.forEach(draw);
  };
  if (pairs.length) {
    document.getElementById("surfaces").hidden = false;
    if (pairs.length > 1) {
      for (const pair of pairs) {
        const button = document.createElement("button");
        button.type = "button";
        button.dataset.pair = pair;
        button.textContent = `pair ${pair + 1}`;
        button.addEventListener("click", () => show(pair));
        document.getElementById("pairs").append(button);
      }
    }
    show(pairs[0]);
    window.addEventListener("resize", drawAll);
    window.addEventListener("beforeprint", () => drawn.forEach(draw));
  }

  const name = () => { toggle.textContent = isDark() ? "Light" : "Dark"; drawAll(); };
  toggle.hidden = false;
  toggle.addEventListener("click", () => { root.dataset.theme = isDark() ? "light" : "dark"; name(); });
  preferred.addEventListener("change", name);
  name();
  root.dataset.ready = "yes";
})();

// The workbench works without this file; with it, keys, copying and sliders do too.
import { dots, epsilonFor, errorAt, oddsWith, oddsWithout, place, quantile, scaleOf, share } from "./explorer.mjs";

const find = (selector, within = document) => within.querySelector(selector);
const all = (selector, within = document) => [...within.querySelectorAll(selector)];
const short = (value) => (value === 0 ? "0" : Number(value.toPrecision(3)).toString());

// --- keys: a dry run with Ctrl+Enter; with Shift, ask: what was not planned yet is planned first, and costs nothing
document.addEventListener("keydown", (event) => {
  if (event.key !== "Enter" || !(event.ctrlKey || event.metaKey)) return;
  const button = (event.shiftKey && find("[data-key=ask]")) || find(event.shiftKey ? "[data-key=plan]" : "[data-key=dry]");
  if (button) { event.preventDefault(); button.click(); }
});

// --- copying
document.addEventListener("click", async (event) => {
  const button = event.target.closest("[data-copy]");
  if (!button) return;
  const text = document.getElementById(button.dataset.copy).textContent;
  try { await navigator.clipboard.writeText(text); button.textContent = "Copied"; }
  catch { button.textContent = "Select the text to copy it"; }
});

// --- what appears after a request is read out and can be reached by keys
document.addEventListener("htmx:afterSettle", () => {
  const heading = find("[data-focus]");
  if (heading) heading.focus();
  if (find("#explorer")) explorer();
});

// --- the explorer: both inputs are linked, and the picture follows
const PLOT = { left: 80, right: 460, top: 70, bottom: 320 };

function explorer() {
  const form = find("#explorer");
  if (!form || form.dataset.ready) return;
  form.dataset.ready = "yes";
  const k = Number(form.dataset.k), confidence = Number(form.dataset.confidence), most = Number(form.dataset.most) || Infinity, offset = Number(form.dataset.offset);
  const epsilon = find("[name=epsilon]", form), error = find("[name=error]", form), slider = find("#slider", form);
  const show = (spent) => {
    if (!(spent > 0) || !Number.isFinite(spent)) return;
    const half = errorAt(k, spent, offset, most);
    find("#told").textContent = `epsilon ${short(spent)} gives ± ${short(half)} in each group`;
    find("#odds").textContent = `at least ${oddsWithout(spent)} of 100 without you, at most ${oddsWith(spent)} of 100 with you`;
    movePoint(spent, half);
    sayGroups(spent);
    drawDots(half, confidence);
    drawWorlds();
  };
  const set = (spent, from) => {
    if (from !== epsilon) epsilon.value = short(spent);
    if (from !== error) error.value = short(errorAt(k, spent, offset, most));
    if (from !== slider) slider.value = Math.log10(spent);
    show(spent);
  };
  slider.hidden = false;
  epsilon.addEventListener("input", () => set(Number(epsilon.value), epsilon));
  error.addEventListener("input", () => set(epsilonFor(k, Number(error.value), offset), error));
  slider.addEventListener("input", () => set(10 ** Number(slider.value), slider));
  find("#play").hidden = false;
  find("#play").addEventListener("click", () => play(errorAt(k, Number(epsilon.value), offset, most), confidence));
  sharing();
  const worlds = find("#worlds");
  if (worlds) worlds.dataset.drawn = epsilon.value;
  set(Number(epsilon.value), epsilon);
}

// the icons are the server's, who knows all answers so far; they follow when the slider rests for a moment
let resting;
function drawWorlds() {
  const worlds = find("#worlds");
  if (!worlds || find("[name=epsilon]").value === worlds.dataset.drawn) return;
  clearTimeout(resting);
  resting = setTimeout(() => {
    worlds.dataset.drawn = find("[name=epsilon]").value;
    worlds.dispatchEvent(new Event("moved"));
  }, 120);
}

function sayGroups(spent) {
  const table = find("#groups"), most = Number(table.dataset.most) || Infinity;
  for (const row of all("tbody tr", table)) {
    const half = errorAt(Number(row.dataset.k), spent, Number(row.dataset.offset), most), value = Math.abs(Number(row.dataset.value));
    const cell = find("[data-cell=relative]", row), share = value ? half / value : Infinity;
    find("[data-cell=error]", row).textContent = short(half);
    cell.textContent = Number.isFinite(share) ? `${short(100 * share)} %${share > 0.25 ? " ~" : ""}` : "–";
    cell.classList.toggle("bad", share > 0.25);
  }
}

function movePoint(spent, half) {
  const point = find("#curve polygon.f2"), axis = find("#curve");
  if (!point) return;
  const x = place(Math.min(Math.max(spent, 1e-3), 10), 1e-3, 10, PLOT.left, PLOT.right);
  const low = Number(axis.dataset.low), high = Number(axis.dataset.high);
  const y = place(Math.min(Math.max(half, low), high), low, high, PLOT.bottom, PLOT.top);
  point.setAttribute("points", [[0, -5], [5, 4], [-5, 4]].map(([dx, dy]) => `${x + dx},${y + dy}`).join(" "));
}

const SVG = "http://www.w3.org/2000/svg";
function circle(x, y, radius, kind) {
  const made = document.createElementNS(SVG, "circle");
  for (const [name, value] of Object.entries({ cx: x, cy: y, r: radius, class: kind })) made.setAttribute(name, value);
  return made;
}

function drawDots(half, confidence) {
  const plot = find("#dots");
  const places = dots(half, confidence), most = places[places.length - 1] * 1.1;
  const heights = {};
  plot.replaceChildren(...places.map((at) => {
    const column = Math.round((at / most) * 10);
    heights[column] = (heights[column] || 0) + 1;
    return circle(240 + column * 20, 120 - heights[column] * 12, 5, "f0");
  }));
  find("#dots-low").textContent = short(-most);
  find("#dots-high").textContent = "+" + short(most);
}

function play(half, confidence) {
  const plot = find("#dots"), scale = scaleOf(half, confidence);
  const most = quantile(scale, 0.98) * 1.1;
  const still = matchMedia("(prefers-reduced-motion: reduce)").matches;
  let left = still ? 1 : 12;
  const step = () => {
    all("circle.f1", plot).forEach((old) => old.remove());
    const at = quantile(scale, Math.random());
    find("#played").textContent = `this one is off by ${at < 0 ? "" : "+"}${short(at)}`;
    plot.append(circle(240 + Math.max(-11, Math.min(11, (at / most) * 10)) * 20, 124, 6, "f1"));
    if (--left > 0) setTimeout(step, 400);
  };
  step();
}

// --- several questions share one budget
function sharing() {
  const list = find("#sharing");
  if (!list) return;
  list.hidden = false;
  const total = Number(list.dataset.total);
  const rows = () => all("[data-k]", list).map((row) => ({
    row, k: Number(row.dataset.k), epsilon: Number(find("input[type=range]", row).value), locked: find("input[type=checkbox]", row).checked,
  }));
  const say = () => {
    let sum = 0;
    for (const each of rows()) {
      sum += each.epsilon;
      find("output", each.row).textContent = `epsilon ${short(each.epsilon)}, ± ${each.epsilon ? short(errorAt(each.k, each.epsilon, Number(each.row.dataset.offset))) : "∞"}`;
    }
    find("#sum").textContent = `${short(sum)} of ${short(total)}` + (sum > total * 1.0001 ? ": more than is left" : "");
  };
  list.addEventListener("input", say);
  list.addEventListener("click", (event) => {
    const how = event.target.dataset && event.target.dataset.balance;
    if (!how) return;
    const questions = rows();
    share(total, questions, how).forEach((spent, at) => { find("input[type=range]", questions[at].row).value = spent; });
    say();
  });
  const add = find("#add");
  add.addEventListener("click", () => {
    const epsilon = Number(find("[name=epsilon]").value), form = find("#explorer");
    const row = find("#row").content.firstElementChild.cloneNode(true);
    row.dataset.k = form.dataset.k; row.dataset.offset = form.dataset.offset;
    find("span", row).textContent = form.dataset.name;
    const slider = find("input[type=range]", row);
    slider.max = total; slider.step = total / 1000; slider.value = epsilon;
    slider.setAttribute("aria-label", `epsilon of ${form.dataset.name}`);
    find("ul", list).append(row);
    say();
  });
}

explorer();

// Pictures that move: two worlds, a sparse-vector run, a binary tree, three models, a budget game.
// No dependency, no network. Numbers come from the functions in `laws`, which tests compare with
// the library; drawing begins at `kit`.
"use strict";

const laws = {
  // The scale of continuous Laplace noise that is (epsilon, delta)-private at a distance.
  scale(epsilon, delta, distance) {
    return distance / (epsilon - 2 * Math.log1p(-delta));
  },
  density(y, scale) {
    return Math.exp(-Math.abs(y) / scale) / (2 * scale);
  },
  // What epsilon does not cover: 1 - exp((epsilon - distance / scale) / 2).
  delta(epsilon, scale, distance) {
    return Math.max(0, -Math.expm1((epsilon - distance / scale) / 2));
  },
  // The most that an alarm can catch of those in the data, by its share of false alarms.
  caught(epsilon, delta, alarm) {
    const direct = Math.exp(epsilon) * alarm + delta;
    const swapped = 1 - Math.exp(-epsilon) * (1 - delta - alarm);
    return Math.min(1, direct, swapped);
  },
  geometric(k, scale) {
    const a = Math.exp(-1 / scale);
    return ((1 - a) / (1 + a)) * a ** Math.abs(k);
  },
  // The chance that two-sided geometric noise is at least k.
  atLeast(k, scale) {
    const a = Math.exp(-1 / scale);
    return k > 0 ? a ** k / (1 + a) : 1 - a ** (1 - k) / (1 + a);
  },
  // The chance of "below" for each of these counts and then "above" for the last, threshold 0.
  run(counts, epsilon) {
    let total = 0;
    const last = counts[counts.length - 1];
    for (let t = -200; t <= 200; t += 1) {
      let chance = laws.geometric(t, 2 / epsilon);
      for (const count of counts.slice(0, -1)) chance *= 1 - laws.atLeast(t - count, 4 / epsilon);
      total += chance * laws.atLeast(t - last, 4 / epsilon);
    }
    return total;
  },
  // The exact loss of AboveThreshold on its worst neighbors.
  runLoss(belows, epsilon) {
    const here = [...Array(belows).fill(0), 1];
    const there = [...Array(belows).fill(1), 0];
    return Math.log(laws.run(here, epsilon) / laws.run(there, epsilon));
  },
  // A recorded run, step by step: the noisy threshold, and each noisy count until the first above.
  steps(run) {
    const bar = THRESHOLD + run.threshold;
    const found = [];
    for (let i = 0; i < run.counts.length; i += 1) {
      const noisy = COUNTS[i] + run.counts[i];
      found.push({ count: COUNTS[i], noise: run.counts[i], noisy, bar, above: noisy >= bar });
      if (noisy >= bar) break;
    }
    return found;
  },
  depth(days) {
    return Math.floor(Math.log2(days)) + 1;
  },
  // The blocks [first, last] whose noisy sums add up to the sum of the first `day` days.
  blocks(day) {
    const found = [];
    let start = 1;
    for (let size = 2 ** Math.floor(Math.log2(Math.max(day, 1))); size >= 1; size /= 2) {
      if (start + size - 1 <= day) {
        found.push([start, start + size - 1]);
        start += size;
      }
    }
    return found;
  },
  central(people, epsilon) {
    const a = Math.exp(-epsilon);
    return Math.sqrt(2 * a) / (1 - a) / people;
  },
  // Randomized response on one bit, beside the error of sampling: sqrt(p q / n) / (p - q).
  local(people, epsilon) {
    const keep = Math.exp(epsilon) / (1 + Math.exp(epsilon));
    return Math.sqrt(keep * (1 - keep) / people) / (2 * keep - 1);
  },
  // What each device may spend where one bit is shuffled among so many, for (1, 1e-6) in all.
  devices: { 100: 1.546875, 200: 1.9814453125, 500: 2.673828125, 1000: 3.26953125, 2000: 3.908203125, 5000: 4.7890625, 10000: 5.46875, 30000: 6.55859375, 100000: 7.7578125 },
  shuffled(people) {
    return laws.local(people, laws.devices[people]);
  },
  // The share of bits that the Fourier attack finds, by its noise in roots of n: Phi(1 / (4 r)).
  found(roots) {
    const end = 1 / (4 * roots);
    if (end > 8) return 1;
    const f = (x) => Math.exp((-x * x) / 2) / Math.sqrt(2 * Math.PI);
    let sum = f(0) + f(end);
    for (let i = 1; i < 400; i += 1) sum += (i % 2 ? 4 : 2) * f((end * i) / 400);
    return 0.5 + (end / 1200) * sum;
  },
  // In how many of ten bits a table that fits all subsets may be wrong, by the error of answers.
  wrong(error) {
    return Math.min(10, 2 * Math.floor(2 * error + 1e-9));
  },
  // How far off Laplace noise is, 95 % sure.
  halfWidth(sensitivity, epsilon) {
    return (sensitivity / epsilon) * Math.log(20);
  },
  // Give a share a new value; shares that are not locked give way in proportion.
  split(shares, locks, index, value) {
    const fixed = shares.reduce((sum, s, i) => sum + (locks[i] && i !== index ? s : 0), 0);
    const own = Math.min(Math.max(value, 0.01), 1 - fixed - 0.01);
    const free = shares.map((s, i) => (i === index || locks[i] ? 0 : s));
    const sum = free.reduce((a, b) => a + b, 0);
    if (sum === 0) return [...shares];
    const rest = 1 - fixed - own;
    return shares.map((s, i) => (i === index ? own : locks[i] ? s : (free[i] / sum) * rest));
  },
};

// Noise that the library drew for AboveThreshold at epsilon 1, on these counts: recorded, so that
// a page repeats.  A real run keeps all of it secret, and shows its answers only.
const THRESHOLD = 100;
const COUNTS = [88, 91, 97, 90, 94, 103, 99, 106, 121];
const RECORDED = [
  { label: "recorded run 11", threshold: 1, counts: [-1, -3, 1, -4, 5, -1] },
  { label: "recorded run 8", threshold: 2, counts: [-1, -14, 1, 2, -6, -13, -2, 0] },
  { label: "recorded run 12", threshold: -2, counts: [4, 0, 5] },
];

const GAME = [
  { name: "How many patients", unit: "patients", sensitivity: 1 },
  { name: "How many in ward 7", unit: "patients", sensitivity: 1 },
  { name: "Mean age of 1,000, from 0 to 100", unit: "years", sensitivity: 0.1 },
  { name: "Total cost, up to 5,000 each", unit: "euros", sensitivity: 5000 },
];

// --- drawing ---------------------------------------------------------------------------------

const kit = {
  make(name, attributes, ...inside) {
    const svg = ["svg", "polyline", "polygon", "rect", "text", "line", "circle", "g", "title"];
    const made = svg.includes(name)
      ? document.createElementNS("http://www.w3.org/2000/svg", name)
      : document.createElement(name);
    for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, value);
    made.append(...inside);
    return made;
  },
  slider(box, name, low, high, step, value, changed) {
    const shown = kit.make("output", {});
    const input = kit.make("input", { type: "range", min: low, max: high, step, value });
    input.setAttribute("aria-label", name);
    const tell = () => {
      shown.textContent = ` ${input.dataset.shown ?? input.value}`;
    };
    input.addEventListener("input", () => {
      changed(Number(input.value), input);
      tell();
    });
    box.append(kit.make("label", {}, `${name} `, input, shown));
    tell();
    return { input, tell };
  },
  button(box, name, pressed) {
    const made = kit.make("button", { type: "button" }, name);
    made.addEventListener("click", pressed);
    box.append(made);
    return made;
  },
  stage(figure, title) {
    figure.replaceChildren();
    const controls = kit.make("div", { class: "moving-controls" });
    const svg = kit.make("svg", { viewBox: "0 0 640 260", role: "img", "aria-label": title });
    const words = kit.make("p", { class: "moving-words", "aria-live": "polite" });
    figure.append(kit.make("figcaption", {}, title), controls, svg, words);
    return { controls, svg, words };
  },
  curve(points, style) {
    return kit.make("polyline", { points: points.map((p) => p.join(",")).join(" "), fill: "none", ...style });
  },
};

const pictures = {
  "two-worlds"(figure) {
    const { controls, svg, words } = kit.stage(figure, "Two worlds: without you, and with you");
    const now = { epsilon: 1, delta: 0, distance: 1 };
    const show = () => {
      const { epsilon, delta, distance } = now;
      const scale = laws.scale(epsilon, delta, distance);
      const top = laws.density(0, scale) * Math.exp(epsilon);
      const at = (y, height) => [320 + 40 * y, 250 - 230 * Math.min(1, height / Math.min(top, 3 * laws.density(0, scale)))];
      const ys = Array.from({ length: 161 }, (_, i) => -8 + i / 10);
      const low = (y) => laws.density(y, scale);
      const high = (y) => laws.density(y - distance, scale);
      const band = [...ys.map((y) => at(y, low(y) * Math.exp(epsilon))), ...ys.map((y) => at(y, low(y) * Math.exp(-epsilon))).reverse()];
      const extra = ys.filter((y) => high(y) > Math.exp(epsilon) * low(y));
      const area = [...extra.map((y) => at(y, high(y))), ...extra.map((y) => at(y, Math.exp(epsilon) * low(y))).reverse()];
      svg.replaceChildren(
        kit.make("polygon", { points: band.map((p) => p.join(",")).join(" "), class: "moving-band" }),
        kit.make("polygon", { points: area.map((p) => p.join(",")).join(" "), class: "moving-area" }),
        kit.curve(ys.map((y) => at(y, low(y))), { class: "moving-first" }),
        kit.curve(ys.map((y) => at(y, high(y))), { class: "moving-second" }),
      );
      const caught = 100 * laws.caught(epsilon, delta, 0.01);
      words.textContent = `Laplace noise of scale ${scale.toFixed(4)}; δ area ${laws.delta(epsilon, scale, distance).toFixed(4)}; an alarm that is wrong for 1 in 100 catches at most ${caught.toFixed(2)} of 100.`;
    };
    const set = (name) => (value) => {
      now[name] = value;
      show();
    };
    kit.slider(controls, "ε", 0.1, 4, 0.1, 1, set("epsilon"));
    kit.slider(controls, "δ", 0, 0.3, 0.01, 0, set("delta"));
    kit.slider(controls, "Δ", 1, 5, 1, 1, set("distance"));
    show();
  },

  "sparse-run"(figure) {
    const title = "A sparse-vector run, count by count: threshold 100, ε = 1, and its price beside it";
    const { controls, svg, words } = kit.stage(figure, title);
    let chosen = 0;
    let shown = 1;
    const height = (value) => 200 - 4.5 * (value - 75);
    const across = (x1, x2, y, style, name) => [
      kit.make("line", { x1, x2, y1: y, y2: y, class: style }),
      ...(name ? [kit.make("text", { x: x1 + 4, y: y - 5 }, name)] : []),
    ];
    const run = (steps) => steps.flatMap((step, i) => [
      kit.make("line", { x1: 60 + 38 * i, x2: 60 + 38 * i, y1: height(step.count), y2: height(step.noisy), class: "moving-noise" }),
      kit.make("circle", { cx: 60 + 38 * i, cy: height(step.count), r: 5, class: "moving-true" }),
      kit.make("circle", { cx: 60 + 38 * i, cy: height(step.noisy), r: 5, class: step.above ? "moving-on" : "moving-first-bar" }),
      kit.make("text", { x: 54 + 38 * i, y: 235 }, step.above ? "⊤" : "⊥"),
    ]);
    const prices = (steps) => steps.flatMap((_, i) => {
      const one = (i + 1) / 4;
      const whole = laws.runLoss(i, 1);
      return [
        kit.make("rect", { x: 430 + 25 * i, y: 215 - 80 * one, width: 9, height: 80 * one, class: "moving-second-bar" }),
        kit.make("rect", { x: 440 + 25 * i, y: 215 - 80 * whole, width: 9, height: 80 * whole, class: "moving-first-bar" }),
      ];
    });
    const show = () => {
      const all = laws.steps(RECORDED[chosen]);
      const steps = all.slice(0, shown);
      const { count, noise, noisy, bar, above } = steps[steps.length - 1];
      svg.replaceChildren(
        ...across(40, 400, height(THRESHOLD), "moving-promise"),
        ...across(40, 400, height(bar), "moving-bar"),
        ...run(steps),
        ...across(425, 630, 135, "moving-promise", "the promise: 1"),
        ...prices(steps),
        kit.make("text", { x: 40, y: 255 }, "○ count   ● noisy count   — noisy threshold"),
        kit.make("text", { x: 425, y: 255 }, "one by one, and in one run"),
      );
      next.disabled = above;
      const sign = noise < 0 ? "−" : "+";
      words.textContent = `Count ${shown}: ${count} ${sign} ${Math.abs(noise)} = ${noisy}, noisy threshold ${bar}: ${above ? "⊤, above, and the run halts" : "⊥, below"}. One by one ${(shown / 4).toFixed(2)} so far; a run that ends with ⊤ here loses ${laws.runLoss(shown - 1, 1).toFixed(4)}, and was charged 1 before it began.`;
    };
    const begin = (which) => () => {
      chosen = which() % RECORDED.length;
      shown = 1;
      show();
    };
    const next = kit.button(controls, "next count", () => {
      shown = Math.min(laws.steps(RECORDED[chosen]).length, shown + 1);
      show();
    });
    kit.button(controls, "start again", begin(() => chosen));
    kit.button(controls, "another run", begin(() => chosen + 1));
    show();
  },

  "binary-tree"(figure) {
    const { controls, svg, words } = kit.stage(figure, "A binary tree over 16 days (noise of scale 10)");
    const show = (day) => {
      const used = laws.blocks(day).map(String);
      const marks = [];
      for (let size = 1; size <= 16; size *= 2) {
        for (let first = 1; first <= 16; first += size) {
          const on = used.includes(String([first, first + size - 1]));
          const known = first + size - 1 <= day;
          marks.push(kit.make("rect", {
            x: 20 + 37.5 * (first - 1) + 2, y: 210 - 42 * Math.log2(size), width: 37.5 * size - 4, height: 34,
            class: on ? "moving-on" : known ? "moving-known" : "moving-off",
          }));
        }
      }
      svg.replaceChildren(...marks);
      words.textContent = `Day ${day}: the sum adds ${used.length} noisy ${used.length === 1 ? "block" : "blocks"}. So far the tree costs ${(laws.depth(day) / 10).toFixed(1)}; noise on every sum would cost ${(day / 10).toFixed(1)}.`;
    };
    const day = kit.slider(controls, "day", 1, 16, 1, 1, show);
    kit.button(controls, "next day", () => {
      day.input.value = String(Math.min(16, Number(day.input.value) + 1));
      day.tell();
      show(Number(day.input.value));
    });
    show(1);
  },

  "three-models"(figure) {
    const { controls, svg, words } = kit.stage(figure, "Who adds the noise? A share of n people at ε = 1");
    const sizes = Object.keys(laws.devices).map(Number).sort((a, b) => a - b);
    const show = (index, input) => {
      const people = sizes[index];
      if (input) input.dataset.shown = people.toLocaleString("en");
      const errors = { local: laws.local(people, 1), shuffled: laws.shuffled(people), central: laws.central(people, 1) };
      const marks = [];
      Object.entries(errors).forEach(([name, error], i) => {
        const width = 90 * (Math.log10(error) + 5.2);
        marks.push(kit.make("rect", { x: 110, y: 30 + 70 * i, width: Math.max(width, 1), height: 40, class: "moving-first-bar" }));
        marks.push(kit.make("text", { x: 10, y: 55 + 70 * i }, name));
        marks.push(kit.make("text", { x: 120 + width, y: 55 + 70 * i }, error.toPrecision(3)));
      });
      svg.replaceChildren(...marks);
      words.textContent = `${people.toLocaleString("en")} people: root mean squared error ${errors.central.toPrecision(3)} central, ${errors.shuffled.toPrecision(3)} shuffled, ${errors.local.toPrecision(3)} local.`;
    };
    const start = sizes.indexOf(10000);
    const slider = kit.slider(controls, "people", 0, sizes.length - 1, 1, start, show);
    show(start, slider.input);
    slider.tell();
  },

  "attack-noise"(figure) {
    const { controls, svg, words } = kit.stage(figure, "How much noise stops an attack?");
    const now = { error: 0, roots: 0.1 };
    const show = () => {
      const share = laws.found(now.roots);
      const right = (10 - laws.wrong(now.error)) / 10;
      const bar = (y, width, name) => [
        kit.make("rect", { x: 220, y, width: 400 * width, height: 40, class: "moving-first-bar" }),
        kit.make("text", { x: 10, y: y + 25 }, name),
      ];
      svg.replaceChildren(
        ...bar(40, right, "all subsets: right, at least"),
        ...bar(130, share, "Fourier: right, expected"),
        kit.make("line", { x1: 420, x2: 420, y1: 20, y2: 200, class: "moving-promise" }),
      );
      words.textContent = `Ten people, errors of up to ${now.error}: at least ${10 - laws.wrong(now.error)} bits are right. Noise of ${now.roots} roots of n: the Fourier attack finds ${(100 * share).toFixed(1)} % of the bits; a coin finds half.`;
    };
    kit.slider(controls, "error of each subset", 0, 3, 0.5, 0, (value) => {
      now.error = value;
      show();
    });
    kit.slider(controls, "noise in roots of n", 0.05, 4, 0.05, 0.1, (value) => {
      now.roots = value;
      show();
    });
    show();
  },

  "budget-game"(figure) {
    const { controls, svg, words } = kit.stage(figure, "One budget, ε = 1, four questions: move, lock, compare");
    let shares = GAME.map(() => 1 / GAME.length);
    const locks = GAME.map(() => false);
    const sliders = [];
    const show = () => {
      const marks = [];
      let x = 20;
      shares.forEach((share, i) => {
        marks.push(kit.make("rect", { x, y: 20, width: 600 * share, height: 30, class: `moving-part-${i}` }));
        x += 600 * share;
        const error = laws.halfWidth(GAME[i].sensitivity, share);
        marks.push(kit.make("text", { x: 20, y: 90 + 40 * i }, `${GAME[i].name}: ε ${share.toFixed(3)}, within ${error.toLocaleString("en", { maximumSignificantDigits: 4 })} ${GAME[i].unit}`));
        sliders[i].input.value = String(share);
        sliders[i].input.dataset.shown = share.toFixed(3);
        sliders[i].tell();
      });
      svg.replaceChildren(...marks);
      words.textContent = `Together ${shares.reduce((a, b) => a + b, 0).toFixed(3)}. Widths hold 95 % of the time.`;
    };
    GAME.forEach((question, i) => {
      sliders.push(kit.slider(controls, question.name, 0.01, 0.97, 0.01, shares[i], (value) => {
        shares = laws.split(shares, locks, i, value);
        show();
      }));
      const lock = kit.make("input", { type: "checkbox", "aria-label": `lock: ${question.name}` });
      lock.addEventListener("change", () => {
        locks[i] = lock.checked;
      });
      controls.append(kit.make("label", {}, lock, " lock"));
    });
    show();
  },
};

const STYLE = `
.moving{margin:1em 0;padding:.5em 1em;border:1px solid #8885;border-radius:6px}
.moving svg{width:100%;height:auto;color:inherit}
.moving figcaption{font-weight:600}
.moving-controls{display:flex;flex-wrap:wrap;gap:.3em 1em;align-items:center;margin:.4em 0}
.moving text{fill:currentColor;font-size:14px}
.moving-band{fill:#0072b2;opacity:.2}.moving-area{fill:#d55e00;opacity:.7}
.moving-first{stroke:#0072b2;stroke-width:2}.moving-second{stroke:#d55e00;stroke-width:2;stroke-dasharray:6 3}
.moving-first-bar{fill:#0072b2}.moving-second-bar{fill:#d55e00}.moving-promise{stroke:currentColor;stroke-dasharray:4 4}
.moving-bar{stroke:#d55e00;stroke-width:2}.moving-noise{stroke:currentColor;opacity:.5}.moving-true{fill:none;stroke:currentColor}
.moving-on{fill:#d55e00}.moving-known{fill:#0072b2;opacity:.35}.moving-off{fill:none;stroke:#8888}
.moving-part-0{fill:#0072b2}.moving-part-1{fill:#d55e00}.moving-part-2{fill:#009e73}.moving-part-3{fill:#cc79a7}
@media print{.moving-controls{display:none}}
`;

if (typeof document !== "undefined") {
  const begin = () => {
    const figures = document.querySelectorAll("figure.moving");
    if (figures.length) document.head.append(kit.make("style", {}, STYLE));
    figures.forEach((figure) => pictures[figure.dataset.picture](figure));
  };
  if (document.readyState === "loading") document.addEventListener("DOMContentLoaded", begin);
  else begin();
}
if (typeof module !== "undefined") module.exports = { laws, GAME, RECORDED, COUNTS, THRESHOLD, pictures: Object.keys(pictures) };

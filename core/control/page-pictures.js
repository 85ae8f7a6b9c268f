// SPDX-License-Identifier: BSD-3-Clause
// Pictures of streams: which views suit their axes, and how each is drawn.
import { Plot, colour, cyclic, quantity, range, sequential } from "./page-draw.js";

const HISTORY = 120;                                       // rows of a waterfall
const LINES = ["#2f7ed8", "#d9534f", "#3c9d5d", "#a46bd1", "#d98b2b", "#2aa6a6", "#c2568f", "#7d8590"];
const SPECTRAL = ["channel", "phase"];

function decode(text) {
  const bytes = Uint8Array.from(atob(text), (character) => character.charCodeAt(0));
  const view = new DataView(bytes.buffer);
  return Float32Array.from({ length: bytes.length / 4 }, (_, i) => view.getFloat32(4 * i, true));
}

const decibels = (power) => power > 0 ? 10 * Math.log10(power) : NaN;

// One picture of a stream, with access by the names of axes.
class Picture {
  constructor(json) {
    Object.assign(this, json);
    this.mean = decode(json.mean);
    this.power = decode(json.power);
    this.valid = decode(json.valid);
    let stride = 1;
    for (const axis of [...this.axes].reverse()) {
      axis.stride = stride;
      stride *= axis.length;
    }
    this.isVisibility = this.has("baseline");
    // Real numbers along channels, beams or Stokes parameters are powers already.
    this.isPower = !this.complex && ["channel", "beam", "stokes"].some((name) => this.has(name));
  }

  axis(name) { return this.axes.find((axis) => axis.name === name); }

  has(name) { return this.axis(name) !== undefined; }

  // The index of an element, from indices by name; those that are not given are 0.
  at(indices) {
    return this.axes.reduce((sum, axis) => sum + (indices[axis.name] ?? 0) * axis.stride, 0);
  }

  // The mean power of an element, or of a real stream of powers the mean itself.
  strength(i) { return this.isPower ? this.mean[i] : this.power[i]; }

  amplitude(i) { return this.complex ? Math.hypot(this.mean[2 * i], this.mean[2 * i + 1]) : this.mean[i]; }

  turn(i) { return this.complex ? Math.atan2(this.mean[2 * i + 1], this.mean[2 * i]) : 0; }

  label(axis, i) { return axis.labels ? axis.labels[i] : String(i * axis.step); }

  // Coordinates of an axis, from those of its parent's element.
  coordinates(axis, indices) {
    if (!axis.coordinates)
      return Array.from({ length: axis.length }, (_, i) => i * axis.step);
    const first = axis.parent ? (indices[axis.parent] ?? 0) * axis.length : 0;
    return axis.coordinates.slice(first, first + axis.length);
  }
}

// Indices by the coordinate's order: channel 0 of a spectrum is often in the middle of the band.
function order(coordinates) {
  return coordinates.map((_, i) => i).sort((a, b) => coordinates[a] - coordinates[b]);
}

function axisOf(name, coordinates, unit) {
  const [low, high] = range(coordinates, 0);
  return { name, unit, low, high };
}

function nearest(values, value) {
  return values.reduce((best, one, i) =>
    Math.abs(one - value) < Math.abs(values[best] - value) ? i : best, 0);
}

const inDecibels = (value) => Number.isFinite(value) ? `${value.toFixed(1)} dB` : "no valid sample";

const BAR = 68; // pixels for the colours beside an image

// ---- views: each draws one canvas of a panel; `suits` says for which pictures. A plot's `read` says
// what is at a point. ----

function spectrum(panel, canvas) {
  const { picture, indices } = panel;
  const axis = panel.spectral;
  const xs = picture.coordinates(axis, indices), by = order(xs);
  const lines = panel.lines();
  const all = lines.map((line) => by.map((i) =>
    decibels(picture.strength(picture.at({ ...indices, ...line.indices, [axis.name]: i })))));
  const [low, high] = range(all.flat());
  const plot = new Plot(canvas, 190, axisOf(axis.unit === "Hz" ? "frequency" : axis.name, xs, axis.unit),
    { low, high, name: "power (dB)" });
  all.forEach((ys, k) => plot.line(by.map((i) => xs[i]), ys, LINES[k % LINES.length]));
  plot.axes();
  plot.key(lines.map((line) => line.name), LINES);
  plot.read = ([x]) => {
    const i = nearest(by.map((k) => xs[k]), x);
    return `${quantity(xs[by[i]], axis.unit ?? "", 7)}: ${all.map((ys) => inDecibels(ys[i])).join(", ")}`;
  };
  return plot;
}

function waterfall(panel, canvas) {
  const axis = panel.spectral;
  const xs = panel.picture.coordinates(axis, panel.indices);
  const rows = panel.history.map((row) => row.values);
  const [low, high] = range(rows.flat(), 0);
  const ages = panel.history.length > 1
    ? (performance.now() - panel.history.at(-1).time) / 1000 : 0;
  const plot = new Plot(canvas, 190, axisOf(axis.unit === "Hz" ? "frequency" : axis.name, xs, axis.unit),
    { low: -ages, high: 0, unit: "s", name: "by the clock" }, BAR);
  plot.image(rows, low, high, sequential);
  plot.axes();
  plot.bar(low, high, sequential, inDecibels);
  const sorted = order(xs).map((i) => xs[i]);
  plot.read = ([x, y]) => {
    const row = rows[Math.min(Math.floor(-y / (ages || 1) * rows.length), rows.length - 1)];
    const i = nearest(sorted, x);
    return `${quantity(sorted[i], axis.unit ?? "", 7)}, ${(-y).toFixed(1)} s ago: ${inDecibels(row[i])}`;
  };
  return plot;
}

// Visibilities against baseline and channel.
function matrix(value, limits, map, say) {
  return (panel, canvas) => {
    const { picture, indices } = panel;
    const baseline = picture.axis("baseline"), axis = panel.spectral;
    const xs = axis ? picture.coordinates(axis, indices) : [0], by = order(xs);
    const rows = Array.from({ length: baseline.length }, (_, b) => by.map((i) =>
      value(picture, picture.at({ ...indices, baseline: b, ...(axis && { [axis.name]: i }) })))).reverse();
    const [low, high] = limits ?? range(rows.flat(), 0);
    const plot = new Plot(canvas, 230,
      axis ? axisOf(axis.unit === "Hz" ? "frequency" : axis.name, xs, axis.unit) : { low: 0, high: 1, name: "" },
      { low: 0, high: baseline.length, name: "baseline", offset: 0.5,
        labels: Array.from({ length: baseline.length }, (_, b) => picture.label(baseline, b)) }, BAR);
    plot.image(rows, low, high, map);
    plot.axes();
    plot.bar(low, high, map, say);
    plot.read = ([x, y]) => {
      const b = Math.floor(y);
      const i = nearest(by.map((k) => xs[k]), x);
      const at = axis ? `, ${quantity(xs[by[i]], axis.unit ?? "", 7)}` : "";
      return `baseline ${picture.label(baseline, b)}${at}: ${say(rows[baseline.length - 1 - b][i])}`;
    };
    return plot;
  };
}

function overAxis(picture, name, indices, value) {
  const axis = picture.axis(name);
  const others = picture.axes.filter((other) => other.name !== name && !(other.name in indices));
  return Array.from({ length: axis.length }, (_, i) => {
    let sum = 0, n = 0;
    const visit = (k, at) => {
      if (k === others.length) {
        const one = value(picture.at(at));
        if (Number.isFinite(one)) {
          sum += one;
          n++;
        }
        return;
      }
      for (let e = 0; e < others[k].length; e++)
        visit(k + 1, { ...at, [others[k].name]: e });
    };
    visit(0, { ...indices, [name]: i });
    return n ? sum / n : NaN;
  });
}

function along(name, title, value, fixedLow, fixedHigh) {
  return (panel, canvas) => {
    const { picture } = panel;
    const axis = picture.axis(name);
    const pol = picture.has("pol") ? { pol: panel.indices.pol ?? 0 } : {};
    const ys = overAxis(picture, name, pol, (i) => value(picture, i));
    const [low, high] = range(ys);
    const plot = new Plot(canvas, 130, { low: -0.5, high: axis.length - 0.5, name,
      labels: ys.map((_, i) => picture.label(axis, i)) },
      { low: fixedLow ?? low, high: fixedHigh ?? high, name: title });
    plot.bars(ys.map((_, i) => i), ys, 1, colour("bar"));
    plot.axes();
    plot.read = ([x]) => {
      const i = Math.round(x);
      return `${name} ${picture.label(axis, i)}: ${Number.isFinite(ys[i]) ? Number(ys[i].toPrecision(4)) : "no valid sample"}`;
    };
    return plot;
  };
}

function histogram(panel, canvas) {
  const { first, step, counts } = panel.picture.levels;
  const xs = counts.map((_, i) => first + i * step);
  const used = xs.filter((_, i) => counts[i] > 0);
  const low = (used[0] ?? first) - step, high = (used.at(-1) ?? first) + step;
  const plot = new Plot(canvas, 150, { low, high, name: "level" },
    { low: 0, high: Math.max(...counts, 1) * 1.05, name: "samples" });
  plot.bars(xs.filter((x) => x > low && x < high), counts.filter((_, i) => xs[i] > low && xs[i] < high),
    step, colour("bar"));
  plot.axes();
  plot.read = ([x]) => {
    const i = Math.min(Math.max(Math.round((x - first) / step), 0), counts.length - 1);
    return `level ${Number(xs[i].toPrecision(4))}: ${counts[i].toLocaleString("en")} samples`;
  };
  return plot;
}

const rms = (picture, i) => picture.isPower ? picture.mean[i] : Math.sqrt(picture.power[i]);
const VIEWS = [
  { name: "spectrum", title: "Spectrum", suits: (p, axis) => axis && !p.isVisibility, draw: spectrum },
  { name: "waterfall", title: "Waterfall: the newest at the top", suits: (p, axis) => axis && !p.isVisibility,
    draw: waterfall },
  { name: "amplitude", title: "Amplitude against baseline and channel (dB)", suits: (p) => p.isVisibility,
    draw: matrix((p, i) => decibels(p.amplitude(i)), null, sequential, inDecibels) },
  { name: "phase", title: "Phase: red 0, green 120°, blue 240°", suits: (p) => p.isVisibility && p.complex,
    draw: matrix((p, i) => Math.abs(p.amplitude(i)) > 0 ? (p.turn(i) / (2 * Math.PI) + 1) % 1 : NaN, [0, 1],
      cyclic, (turn) => Number.isFinite(turn) ? `${(360 * turn).toFixed(0)}°` : "no valid sample") },
  { name: "beams", title: "Power of beams", suits: (p) => p.has("beam"),
    draw: along("beam", "power", (p, i) => p.strength(i), 0) },
  { name: "stations", title: "Level of stations", suits: (p) => p.has("station"),
    draw: along("station", "rms", rms, 0) },
  { name: "valid", title: "Valid samples of stations", suits: (p) => p.has("station"),
    draw: along("station", "share", (p, i) => p.valid[i], 0, 1) },
  { name: "levels", title: "Levels", suits: (p) => !p.isVisibility, draw: histogram },
];

// The pictures of one node.
export class Panel {
  constructor(name, parent) {
    this.name = name;
    this.number = 0;
    this.history = [];
    this.indices = {};
    this.element = document.createElement("article");
    this.element.className = "picture";
    this.element.dataset.node = name;
    this.element.innerHTML = "<header><h3></h3><p></p></header><div class='choices'></div>";
    this.element.querySelector("h3").textContent = name;
    parent.append(this.element);
    this.canvases = new Map();
    this.plots = new Map();
  }

  // A line for each element of the shortest axis beside the chosen ones, at most eight.
  lines() {
    const axis = this.picture.axes.find((one) => ["stokes", "pol"].includes(one.name));
    if (!axis)
      return [{ indices: {}, name: "" }];
    return Array.from({ length: Math.min(axis.length, LINES.length) }, (_, i) =>
      ({ indices: { [axis.name]: i }, name: `${axis.name} ${this.picture.label(axis, i)}` }));
  }

  update(json) {
    this.picture = new Picture(json);
    this.number = json.number;
    this.spectral = SPECTRAL.map((name) => this.picture.axis(name)).find((axis) => axis);
    if (!this.choices)
      this.offerChoices();
    this.remember();
    this.element.dataset.number = json.number;
    this.element.querySelector("p").textContent = [json.type,
      this.picture.axes.map((axis) => `${axis.name} ${axis.of}`).join(", "),
      json.utc ?? `tick ${json.tick}`,
      `${json.samples} sample${json.samples === 1 ? "" : "s"} at ${quantity(json.rate, "Hz")}`].join(" · ");
    this.draw();
  }

  offerChoices() {
    this.choices = this.element.querySelector(".choices");
    for (const axis of this.picture.axes) {
      const isWhole = axis === this.spectral || axis.length === 1 ||
        ["baseline", this.picture.isVisibility ? "" : "pol", "stokes"].includes(axis.name);
      if (isWhole || !(this.spectral || this.picture.isVisibility))
        continue;
      const label = document.createElement("label"), select = document.createElement("select");
      label.append(`${axis.name} `, select);
      for (let i = 0; i < axis.length; i++)
        select.add(new Option(this.picture.label(axis, i), i));
      select.addEventListener("change", () => {
        this.indices[axis.name] = Number(select.value);
        this.history = [];
        this.remember();
        this.draw();
      });
      this.indices[axis.name] = 0;
      this.choices.append(label, " ");
    }
  }

  remember() {
    if (!this.spectral || this.picture.isVisibility)
      return;
    const xs = this.picture.coordinates(this.spectral, this.indices);
    const values = order(xs).map((i) =>
      decibels(this.picture.strength(this.picture.at({ ...this.indices, [this.spectral.name]: i }))));
    this.history.unshift({ time: performance.now(), values });
    this.history.length = Math.min(this.history.length, HISTORY);
  }

  // A figure for a view, which says what is under the pointer.
  add(view) {
    const figure = document.createElement("figure");
    const caption = document.createElement("figcaption"), canvas = document.createElement("canvas");
    const read = document.createElement("output");
    caption.append(view.title, read);
    canvas.setAttribute("role", "img");
    canvas.setAttribute("aria-label", `${view.title} of ${this.name}`);
    canvas.addEventListener("pointermove", (event) => {
      const plot = this.plots.get(view.name), at = plot.under(event.offsetX, event.offsetY);
      read.textContent = at ? plot.read(at) : "";
    });
    canvas.addEventListener("pointerleave", () => { read.textContent = ""; });
    figure.append(caption, canvas);
    this.element.append(figure);
    this.canvases.set(view.name, canvas);
  }

  draw() {
    for (const view of VIEWS) {
      if (!view.suits(this.picture, this.spectral))
        continue;
      if (!this.canvases.has(view.name))
        this.add(view);
      this.plots.set(view.name, view.draw(this, this.canvases.get(view.name)));
    }
  }
}

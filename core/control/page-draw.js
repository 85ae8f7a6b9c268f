// SPDX-License-Identifier: BSD-3-Clause
// Draws lines, bars and images with axes on a canvas.

const PREFIXES = [[1e15, "P"], [1e12, "T"], [1e9, "G"], [1e6, "M"], [1e3, "k"], [1, ""], [1e-3, "m"],
  [1e-6, "µ"], [1e-9, "n"], [1e-12, "p"]];

// The prefix with which numbers as large as `size` are written.
function prefixOf(size, unit) {
  if (!unit)
    return [1, ""];
  return PREFIXES.find(([factor]) => size >= factor) ?? [1, ""];
}

export function quantity(value, unit, digits = 4) {
  if (!Number.isFinite(value))
    return "–";
  // Samples are counted whole: 0.6 samples/s, not 600 msamples/s.
  const [factor, prefix] = /^sa/i.test(unit) && Math.abs(value) < 1 ? [1, ""]
    : prefixOf(Math.abs(value), unit || " ");
  return `${Number((value / factor).toPrecision(digits))} ${prefix}${unit}`.trim();
}

// Round numbers between two values, at most about `n`.
function ticks(low, high, n) {
  const span = high - low;
  if (!(span > 0))
    return [low];
  const raw = span / Math.max(n, 1);
  const size = 10 ** Math.floor(Math.log10(raw));
  const step = [1, 2, 5, 10].find((factor) => factor * size >= raw) * size;
  const found = [];
  for (let i = Math.ceil(low / step - 1e-9); i * step <= high + 1e-9 * span; i++)
    found.push(i * step);
  return found;
}

export function colour(name) {
  return getComputedStyle(document.documentElement).getPropertyValue(`--${name}`).trim();
}

// D. A. Green, Bull. Astr. Soc. India 39 (2011) 289: brightness rises evenly, hue turns.
export function sequential(x) {
  const angle = 2 * Math.PI * (0.5 / 3 + 1 - 1.5 * x), a = x * (1 - x) / 2;
  const cos = Math.cos(angle), sin = Math.sin(angle);
  return [x + a * (-0.14861 * cos + 1.78277 * sin), x + a * (-0.29227 * cos - 0.90649 * sin),
    x + a * 1.97294 * cos].map((part) => 255 * Math.min(Math.max(part, 0), 1));
}

// Phases: x and x + 1 are the same colour.
export function cyclic(x) {
  return [0, 1 / 3, 2 / 3].map((part) => 255 * (0.5 + 0.4 * Math.cos(2 * Math.PI * (x - part))));
}

// A canvas with axes. Plots are in pixels of CSS; `x` and `y` have { low, high, unit, name }.
export class Plot {
  constructor(canvas, height, x, y, right = 20) {
    const width = canvas.clientWidth || 480, ratio = window.devicePixelRatio || 1;
    canvas.style.height = `${height}px`;
    canvas.width = Math.round(width * ratio);
    canvas.height = Math.round(height * ratio);
    this.context = canvas.getContext("2d");
    this.context.scale(ratio, ratio);
    this.context.font = "11px system-ui, sans-serif";
    this.left = 58;
    this.top = 6;
    this.width = width - this.left - right;
    this.height = height - this.top - 34;
    this.x = x;
    this.y = y;
  }

  atX(value) { return this.left + (value - this.x.low) / (this.x.high - this.x.low || 1) * this.width; }

  atY(value) {
    return this.top + (1 - (value - this.y.low) / (this.y.high - this.y.low || 1)) * this.height;
  }

  // The values under a point of the canvas; null: it is outside the axes.
  under(left, top) {
    const x = (left - this.left) / this.width, y = 1 - (top - this.top) / this.height;
    return x < 0 || x >= 1 || y <= 0 || y > 1 ? null
      : [this.x.low + x * (this.x.high - this.x.low), this.y.low + y * (this.y.high - this.y.low)];
  }

  axes() {
    const context = this.context;
    context.fillStyle = colour("faint");
    context.strokeStyle = colour("line");
    const size = (axis) => Math.max(Math.abs(axis.low), Math.abs(axis.high));
    const labels = (axis, n) => {
      const [factor, prefix] = prefixOf(size(axis), axis.unit);
      const found = ticks(axis.low / factor, axis.high / factor, n);
      const step = found.length > 1 ? found[1] - found[0] : 1;
      const digits = Math.max(0, -Math.floor(Math.log10(step) + 1e-9));
      const text = (value) => axis.labels ? axis.labels[Math.round(value)] ?? "" : size(axis) / factor >= 1e5 || step < 1e-4 ? value.toPrecision(3)
        : value.toFixed(digits);
      const whole = axis.labels ? found.filter((value) => Number.isInteger(value)) : found;
      return [whole.map((value) => [value * factor + (axis.offset ?? 0), text(value)]),
        [axis.name, axis.unit ? `(${prefix}${axis.unit})` : ""].join(" ").trim()];
    };
    const [xs, xName] = labels(this.x, this.width / 80);
    const [ys, yName] = labels(this.y, this.height / 28);
    context.textAlign = "center";
    for (const [value, text] of xs) {
      context.fillText(text, this.atX(value), this.top + this.height + 14);
      context.fillRect(this.atX(value), this.top + this.height, 1, 3);
    }
    context.fillText(xName, this.left + this.width / 2, this.top + this.height + 29);
    context.textAlign = "right";
    for (const [value, text] of ys) {
      context.fillText(text, this.left - 5, this.atY(value) + 4);
      context.fillRect(this.left - 3, this.atY(value), 3, 1);
    }
    context.save();
    context.translate(10, this.top + this.height / 2);
    context.rotate(-Math.PI / 2);
    context.textAlign = "center";
    context.fillText(yName, 0, 0);
    context.restore();
    context.strokeRect(this.left, this.top, this.width, this.height);
  }

  // A line through points; a value that is not finite interrupts it.
  line(xs, ys, stroke) {
    const context = this.context;
    context.strokeStyle = stroke;
    context.lineWidth = 1.3;
    context.beginPath();
    let drawn = false;
    xs.forEach((x, i) => {
      if (!Number.isFinite(ys[i])) {
        drawn = false;
        return;
      }
      context[drawn ? "lineTo" : "moveTo"](this.atX(x), this.atY(ys[i]));
      drawn = true;
    });
    context.stroke();
  }

  // Bars around whole numbers, or around `xs` with the width `step`.
  bars(xs, ys, step, fill) {
    const base = this.atY(Math.max(this.y.low, 0));
    xs.forEach((x, i) => {
      const from = this.atX(x - step / 2), to = this.atX(x + step / 2);
      const isGap = !Number.isFinite(ys[i]);
      this.context.fillStyle = isGap ? colour("gap") : fill;
      const end = isGap ? this.top : this.atY(ys[i]);
      this.context.fillRect(from + 0.5, Math.min(base, end), Math.max(to - from - 1, 0.6),
        Math.abs(base - end));
    });
  }

  // Names of lines, in their colours.
  key(names, strokes) {
    const context = this.context;
    context.textAlign = "right";
    names.forEach((name, i) => {
      context.fillStyle = strokes[i % strokes.length];
      context.fillText(name, this.left + this.width - 6, this.top + 14 + 13 * i);
    });
  }

  // The colours of an image, beside it, with the values at both ends.
  bar(low, high, map, text) {
    const context = this.context, left = this.left + this.width + 8;
    for (let row = 0; row < this.height; row++) {
      const [red, green, blue] = map(1 - row / this.height);
      context.fillStyle = `rgb(${red} ${green} ${blue})`;
      context.fillRect(left, this.top + row, 8, 1.5);
    }
    context.fillStyle = colour("faint");
    context.textAlign = "left";
    context.fillText(text(high), left + 12, this.top + 9);
    context.fillText(text(low), left + 12, this.top + this.height);
  }

  // An image of values [row][column], the first row at the top; not finite: a gap.
  image(rows, low, high, map) {
    const nRows = rows.length, nColumns = rows[0]?.length ?? 0;
    if (!nRows || !nColumns)
      return;
    const gap = colour("gap").match(/[0-9a-f]{2}/gi).map((part) => parseInt(part, 16));
    const pixels = new ImageData(nColumns, nRows);
    rows.forEach((row, r) => {
      for (let c = 0; c < nColumns; c++) {
        const isGap = !Number.isFinite(row[c]);
        const x = Math.min(Math.max((row[c] - low) / (high - low || 1), 0), 1);
        pixels.data.set([...(isGap ? gap : map(x)), 255], 4 * (r * nColumns + c));
      }
    });
    const sheet = new OffscreenCanvas(nColumns, nRows);
    sheet.getContext("2d").putImageData(pixels, 0, 0);
    this.context.imageSmoothingEnabled = false;
    this.context.drawImage(sheet, this.left, this.top, this.width, this.height);
  }
}

// The least and largest finite value, a little apart; [0, 1] if there is none.
export function range(values, margin = 0.05) {
  let low = Infinity, high = -Infinity;
  for (const value of values) {
    if (Number.isFinite(value)) {
      low = Math.min(low, value);
      high = Math.max(high, value);
    }
  }
  if (low > high)
    return [0, 1];
  const gap = high > low ? margin * (high - low) : Math.abs(high) * 0.1 || 1;
  return [low - gap, high + gap];
}

// SPDX-License-Identifier: BSD-3-Clause
// The page of a run: follows its statistics, draws its graph and its streams, and steers it.
import { quantity } from "./page-draw.js";
import { Panel } from "./page-pictures.js";

const PERIOD = 1000; // milliseconds between two looks at the run
const byId = (id) => document.getElementById(id);
const panels = new Map();
let before = null; // the statistics before these, for rates
let graph = null;  // the drawing

async function get(path, what = "json") {
  const reply = await fetch(path, { signal: AbortSignal.timeout(10 * PERIOD) });
  if (!reply.ok)
    throw new Error((await reply.json()).error);
  return reply[what]();
}

async function post(path, body) {
  const reply = await fetch(path, {
    method: "POST",
    headers: { "Content-Type": "application/json", Authorization: `Bearer ${byId("token").value.trim()}` },
    body: JSON.stringify(body),
  });
  const answer = await reply.json();
  if (!reply.ok)
    throw new Error(answer.error);
  return answer;
}

function make(name, text = "", properties = {}) {
  const element = document.createElement(name);
  element.textContent = text;
  Object.assign(element, properties);
  return element;
}

// ---- rates ----

// Each node with its rates since the last look, or since the start.
function withRates(statistics) {
  const seconds = statistics.running_seconds - (before?.running_seconds ?? 0);
  const earlier = new Map((before?.nodes ?? []).map((node) => [node.name, node]));
  return statistics.nodes.map((node) => {
    const since = (member) => node[member] - (earlier.get(node.name)?.[member] ?? 0);
    const rate = (member) => seconds > 0 ? since(member) / seconds : 0;
    return { ...node, sampleRate: rate("samples"), byteRate: rate("bytes"), busy: rate("work_seconds") };
  });
}

const percent = (share) => `${Math.round(100 * share)} %`;
const losses = (node) => Object.entries(node.counters).filter(([, count]) => count > 0);

// ---- the head ----

function showHead(statistics, state) {
  const { stream_seconds: stream, running_seconds: running } = statistics;
  document.title = `${state.graph}: ${statistics.state} – Cornerturn`;
  byId("graph-name").textContent = state.graph;
  byId("state").className = statistics.state;
  byId("state").textContent = state.ending && statistics.state === "running" ? "ending" :
    statistics.error ? `${statistics.state}: ${statistics.error}` : statistics.state;
  const rate = before && running > before.running_seconds
    ? (stream - before.stream_seconds) / (running - before.running_seconds)
    : running > 0 ? stream / running : 0;
  const rows = [["stream", "stream_seconds", quantity(stream, "s"), stream],
    ["running", "running_seconds", quantity(running, "s"), running],
    ["speed", "speed", `${Number(rate.toPrecision(3))} × real time`, rate],
    ["workers", "workers", statistics.workers, statistics.workers]];
  byId("summary").replaceChildren(...rows.map(([name, field, text, value]) => {
    const row = make("div"), item = make("dd", text);
    item.dataset.field = field;
    item.dataset.value = value;
    row.append(make("dt", name), item);
    return row;
  }));
}

function showWarnings(warnings) {
  byId("warnings-part").hidden = warnings.length === 0;
  byId("warnings").replaceChildren(...warnings.map((warning) =>
    make("li", typeof warning === "string" ? warning : warning.text ?? warning.message)));
}

// ---- the table of nodes ----

const COLUMNS = [
  { head: "node", field: "name", text: (node) => node.name, isText: true },
  { head: "stage", field: "stage", text: (node) => node.stage, isText: true },
  { head: "variant", field: "variant", text: (node) => node.variant, isText: true },
  { head: "samples", field: "samples", text: (node) => node.samples.toLocaleString("en") },
  { head: "rate", field: "sampleRate", text: (node) => quantity(node.sampleRate, "samples/s", 3) },
  { head: "bytes", field: "byteRate", text: (node) => quantity(node.byteRate, "B/s", 3) },
  { head: "of the workers", field: "busy", text: (node, n) => percent(node.busy / n), share: (node, n) => node.busy / n },
  { head: "queue", field: "queue", text: (node) => percent(node.queue), share: (node) => node.queue },
  { head: "invalid", field: "invalid", text: (node) => node.invalid.toLocaleString("en"),
    isBad: (node) => node.invalid > 0 },
  { head: "counted", field: "counters", isText: true,
    text: (node) => losses(node).map(([name, count]) => `${count.toLocaleString("en")} ${name}`).join(", ") },
];

function cellOf(column, node, workers) {
  const cell = make("td"), text = make("span", column.text(node, workers));
  cell.dataset.node = node.name;
  cell.dataset.field = column.field;
  cell.dataset.value = typeof node[column.field] === "object" ? "" : node[column.field];
  cell.className = [column.isText && "text", column.isBad?.(node) && "bad", column.share && "bar"]
    .filter(Boolean).join(" ");
  if (column.share) {
    const bar = make("i");
    bar.style.width = `${Math.min(100 * column.share(node, workers), 100)}%`;
    cell.append(bar);
  }
  cell.append(text);
  return cell;
}

function showNodes(nodes, workers) {
  const busiest = nodes.reduce((most, node) => node.busy > most.busy ? node : most, { busy: 0 });
  const head = make("tr");
  head.append(...COLUMNS.map((column) =>
    make("th", column.head, { className: column.isText ? "text" : "", scope: "col" })));
  const rows = nodes.map((node) => {
    const row = make("tr", "", { id: `row-${node.name}`, tabIndex: -1 });
    row.className = [node.inserted && "inserted", node.name === busiest.name && "busiest"]
      .filter(Boolean).join(" ");
    row.append(...COLUMNS.map((column) => cellOf(column, node, workers)));
    return row;
  });
  const chosen = document.activeElement?.id;
  byId("nodes").replaceChildren(head, ...rows);
  if (chosen?.startsWith("row-"))
    byId(chosen)?.focus({ preventScroll: true });
  return busiest.name;
}

// What each part of a source's data has lost.
function showLosses(nodes) {
  const accounts = nodes.flatMap((node) => (node.accounts ?? []).map((account) => ({ node, account })));
  byId("losses-part").hidden = accounts.length === 0;
  if (accounts.length === 0)
    return;
  const names = Object.keys(accounts[0].account).filter((name) => name !== "name");
  const head = make("tr");
  head.append(...["node", "part", ...names].map((name, i) =>
    make("th", name, { className: i < 2 ? "text" : "", scope: "col" })));
  byId("losses").replaceChildren(head, ...accounts.map(({ node, account }) => {
    const row = make("tr");
    row.append(make("td", node.name, { className: "text" }), make("td", account.name, { className: "text" }),
      ...names.map((name) => make("td", (account[name] ?? 0).toLocaleString("en"))));
    return row;
  }));
}

// ---- the drawing ----

function choose(name) {
  const row = byId(`row-${name}`);
  for (const other of document.querySelectorAll("tr.chosen"))
    other.classList.remove("chosen");
  row?.classList.add("chosen");
  row?.scrollIntoView({ block: "nearest" });
  row?.focus({ preventScroll: true });
}

// A text in SVG, without its own rules, which the policy of the page refuses there: they become the page's.
function takeRules(text) {
  return text.replace(/<style>([^]*?)<\/style>/g, (_, rules) => {
    const sheet = new CSSStyleSheet();
    sheet.replaceSync(rules);
    document.adoptedStyleSheets = [...document.adoptedStyleSheets, sheet];
    return "";
  });
}

async function drawGraph() {
  const text = takeRules(await get("api/v1/plan.svg", "text"));
  const drawing = new DOMParser().parseFromString(text, "image/svg+xml").documentElement;
  graph = document.importNode(drawing, true);
  for (const group of graph.querySelectorAll("g.node")) {
    const name = group.id.slice("node-".length);
    group.setAttribute("tabindex", "0");
    group.setAttribute("role", "button");
    group.addEventListener("click", () => choose(name));
    group.addEventListener("keydown", (event) => {
      if (event.key !== "Enter" && event.key !== " ")
        return;
      event.preventDefault();
      choose(name);
    });
  }
  byId("graph").replaceChildren(graph);
}

// Puts what a node does now in the place of what was predicted.
function showGraph(nodes, workers, busiest) {
  for (const node of nodes) {
    const group = graph.querySelector(`#${CSS.escape(`node-${node.name}`)}`);
    if (!group)
      continue;
    const track = group.querySelector("rect.track"), bar = group.querySelector("rect.bar");
    const texts = group.querySelectorAll("text.small");
    group.classList.toggle("busiest", node.name === busiest);
    if (track && bar)
      bar.setAttribute("width", track.getAttribute("width") * Math.min(node.busy / workers, 1));
    if (texts.length)
      texts[texts.length - 1].textContent =
        `${quantity(node.sampleRate, "Sa/s", 3)}, ${percent(node.busy / workers)}`;
    group.querySelector("title").textContent =
      `${node.name}: ${quantity(node.sampleRate, "samples/s", 3)}, queue ${percent(node.queue)}, ` +
      `${node.invalid} invalid`;
  }
}

// ---- pictures ----

async function showPictures(nodes) {
  const shown = nodes.filter((node) => node.pictures > 0);
  byId("pictures-part").hidden = shown.length === 0;
  await Promise.all(shown.map(async (node) => {
    if (!panels.has(node.name))
      panels.set(node.name, new Panel(node.name, byId("pictures")));
    const panel = panels.get(node.name);
    if (panel.number < node.pictures)
      panel.update(await get(`api/v1/pictures/${encodeURIComponent(node.name)}`));
  }));
}

// ---- steering ----

function showParameters(parameters) {
  const select = byId("parameter");
  const names = parameters.map(({ node, parameter }) => `${node}.${parameter}`);
  if (names.join() !== [...select.options].map((option) => option.value).join())
    select.replaceChildren(...names.map((name) => new Option(name, name)));
  const chosen = parameters[names.indexOf(select.value)];
  byId("value").placeholder = chosen ? chosen.value ?? chosen.wants ?? "" : "";
  byId("when").placeholder = !chosen || chosen.next === null ? ""
    : byId("from").value === "utc" ? chosen.utc ?? "" : String(chosen.next);
  for (const control of byId("steer").querySelectorAll("#parameter, #value, #from, [type=submit]"))
    control.disabled = names.length === 0;
}

function showChanges(statistics, parameters) {
  const pending = parameters.flatMap((one) => one.pending);
  const row = (change, when) => {
    const line = make("tr");
    line.append(make("td", change.set), make("td", `${when} tick ${change.tick}`));
    return line;
  };
  byId("changes").replaceChildren(...pending.map((change) => row(change, "will hold from")),
    ...[...statistics.changes].reverse().slice(0, 10).map((change) => row(change, "holds from")));
}

async function answer(action) {
  const place = byId("answer");
  try {
    place.className = "";
    place.textContent = await action();
  } catch (error) {
    place.className = "bad";
    place.textContent = error.message;
  }
}

// A link may carry the token: http://localhost:8080/#token=…
if (location.hash.startsWith("#token=")) {
  byId("token").value = decodeURIComponent(location.hash.slice("#token=".length));
  history.replaceState(null, "", location.pathname);
}
byId("from").addEventListener("change", () => {
  byId("when-label").hidden = byId("from").value === "now";
});
byId("steer").addEventListener("submit", (event) => {
  event.preventDefault();
  answer(async () => {
    const from = byId("from").value, when = byId("when").value.trim();
    if (from === "tick" && !/^-?\d+$/.test(when))
      throw new Error(`the tick wants a whole number, but is given '${when}'`);
    const body = { assignment: `${byId("parameter").value}=${byId("value").value}` };
    if (from !== "now")
      body[from] = from === "tick" ? Number(when) : when;
    const { tick } = await post("api/v1/parameters", body);
    return `${body.assignment} from tick ${tick}`;
  });
});
byId("end").addEventListener("click", () => {
  if (window.confirm("End the run? Its sources stop, and its files are completed."))
    answer(async () => {
      await post("api/v1/end", {});
      return "the run ends";
    });
});

// ---- the loop ----

async function look() {
  const [statistics, state, { parameters }] = await Promise.all(
    ["api/v1/statistics", "api/v1/state", "api/v1/parameters"].map((path) => get(path)));
  if (!graph)
    await drawGraph();
  const nodes = withRates(statistics);
  showHead(statistics, state);
  showWarnings(statistics.warnings);
  const busiest = showNodes(nodes, statistics.workers);
  showGraph(nodes, statistics.workers, busiest);
  showLosses(nodes);
  showParameters(parameters);
  showChanges(statistics, parameters);
  await showPictures(nodes);
  before = statistics;
  document.body.dataset.looks = Number(document.body.dataset.looks ?? 0) + 1;
}

async function follow() {
  try {
    await look();
  } catch (error) {
    byId("state").className = "gone";
    byId("state").textContent = before ? "the run has ended, or its port is closed"
      : `the run does not answer: ${error.message}`;
    document.title = `${byId("graph-name").textContent}: gone – Cornerturn`;
  }
  setTimeout(follow, PERIOD);
}

window.addEventListener("resize", () => {
  for (const panel of panels.values())
    if (panel.picture)
      panel.draw();
});
follow();

# SPDX-License-Identifier: BSD-3-Clause
"""docs/performance.md: the tables from what the benchmarks printed, in the text of a template.

The template has marks @NAME@ on lines of their own, one for each entry of MARKS."""
import pathlib
import re

import measured

ROOT = pathlib.Path(__file__).resolve().parent.parent
PAGE = ROOT / "docs" / "performance.md"
PICTURES = ROOT / "docs" / "pictures"
MEASURED = ROOT / "docs" / "measured"
TEMPLATE = MEASURED / "performance.md.in"

# The benchmarks of `meson test --benchmark` whose output the page shows, with the kind of machine.
GROUPS = {"floors": "cpu", "network": "cpu", "orders-cpu": "cpu", "kernels-cpu": "cpu", "stage": "cpu",
          "pipeline": "cpu", "fusion": "cpu", "published": "cpu", "gpu": "gpu", "orders-gpu": "gpu"}
MEASURED_HERE = list(GROUPS)
GROUPS["published-gpu"] = "gpu"  # what `cornerturn bench published` printed on another machine

BANK = re.compile(r"PFB (?P<type>\w+) (?P<channels>\d+) channels, (?P<taps>\d+) taps"
                  r"(?:, (?!then )(?P<way>.+))?")
FILTER = re.compile(r"fir (?P<input>.*\]) (?P<channels>\d+) channels, (?P<taps>\d+) taps(?:, (?P<way>.+))?")
CORRELATOR = re.compile(r"correlate (?P<type>\w+) (?P<stations>\d+) stations, (?P<spectra>\d+) spectra"
                        r"(?:, (?P<way>.+))?")
BEAMFORMER = re.compile(r"beamform (?P<what>\w+ \d+ x \d+(?:, weights as \w+)?)(?:, (?P<way>.+))?")
NOTHING = "Not measured in this run.\n"


# ---- tables ----

def cell(value):
    """A number with three digits, as a measurement has."""
    if value is None:
        return ""
    return f"{value:.3g}" if value < 1000 else f"{value:.0f}"


def share(value):
    return "" if value is None else f"{value:.2f}"


def table(head, rows):
    lines = [head, ["---"] * len(head), *rows]
    return "".join(f"| {' | '.join(line)} |\n" for line in lines) if rows else NOTHING


def pivot(corner, entries, unit=""):
    """A table of {(row, …): {column: text}}; columns that are numbers are in order."""
    columns = list(dict.fromkeys(column for row in entries.values() for column in row))
    if all(isinstance(column, int) for column in columns):
        columns.sort()
    return table([*corner, *(f"{column}{unit}" for column in columns)],
                 [[*row, *(values.get(column, "") for column in columns)]
                  for row, values in entries.items()])


def by_stage(rows):
    """A table of {stage: cases}."""
    return table(["stage", "cases"], [[stage, "; ".join(cases)] for stage, cases in rows.items()])


def picture(name, about, is_drawn):
    return f"![{about}](pictures/performance-{name}.png)\n\n" if is_drawn else ""


# ---- floors ----

def verdict(printed):
    return {"pass": "held", "FALL SHORT": "**falls short**"}.get(printed, printed)


def floor_row(floor):
    if floor.value is None:
        return [floor.name, "", "", verdict(floor.verdict)]
    return [floor.name, f"{cell(floor.value)} {floor.unit}", f"{floor.bound} {cell(floor.limit)}",
            verdict(floor.verdict)]


def floors(outputs, kind):
    """All floors of the processor; those of a GPU, which are of cases of the tables below, if they
    fall short."""
    all_floors = [floor for group, of in GROUPS.items() if of == kind
                  for floor in outputs[group].floors if floor.name not in chains(outputs[group])]
    shown = [floor for floor in all_floors if kind == "cpu" or floor.verdict != "pass"]
    rows = table(["", "measured", "floor", ""], [floor_row(floor) for floor in shown]) if shown else ""
    held = sum(floor.verdict == "pass" for floor in all_floors)
    return rows if kind == "cpu" else (
        f"{held} of {len(all_floors)} floors of this run are held" +
        (f"; these are not:\n\n{rows}" if shown else "."))


# ---- when and where ----

def heading(outputs, group):
    """The machine, the date, remarks and the ceilings of a run."""
    output = outputs[group]
    lines = [*output.remarks]
    if output.device:
        lines.append(", ".join(filter(None, [output.date, output.device])))
    lines = [line.rstrip(".") for line in [*lines, *output.ceilings]]
    return ". ".join(lines) + ".\n" if lines else ""


# ---- on a GPU ----

def bytes_of(name):
    """Bytes of an element of this type: ci8 has 2."""
    bits = int(re.search(r"\d+", name)[0])
    return bits / 8 * (2 if name.startswith("c") else 1)


def bank_share(output, bank, rate):
    """Of the ceiling of copies; a filter bank reads a sample and writes its share of cf32."""
    n_bytes = bytes_of(bank["type"]) + (8 if bank["type"].startswith("c") else 4)
    return rate * n_bytes / output.copy if output.copy else None


def matches(output, pattern):
    """Yields (match, case) of the cases by this pattern, without those that ran fused and not."""
    paired = chains(output)
    for case in output.device_cases:
        found = pattern.fullmatch(case.name)
        if found and case.name not in paired:
            yield found, case


def bank_table(outputs):
    output, rows = outputs["gpu"], {}
    for bank, case in matches(output, BANK):
        row = rows.setdefault((bank["type"], bank["taps"], bank["way"] or "the planner's"), {})
        row[int(bank["channels"])] = f"{cell(case.wall)} ({share(bank_share(output, bank, case.wall))})"
    rows = dict(sorted(rows.items(), key=lambda row: (row[0][0], int(row[0][1]))))
    about = "Filter banks by number of channels, below what copies allow"
    return (picture("banks", about, planned_banks(output)) +
            pivot(["", "taps", "variant"], rows, " channels"))


def planned_banks(output):
    """{taps: [(channels, rate)]} of ci8, by the planner's choice."""
    lines = {}
    for bank, case in matches(output, BANK):
        if bank["type"] == "ci8" and not bank["way"]:
            lines.setdefault(int(bank["taps"]), []).append((int(bank["channels"]), case.wall))
    return {taps: sorted(line) for taps, line in sorted(lines.items())}


def chains(output):
    """{name: (fused, not fused)} of the cases that ran both ways, in this order."""
    named = {}
    for case in output.device_cases:
        named.setdefault(case.name, []).append(case)
    return {name: cases for name, cases in named.items() if len(cases) == 2}


def chain_table(outputs):
    output, rows = outputs["gpu"], {}
    missed = {floor.name for floor in output.floors if floor.verdict == "FALL SHORT"}
    for name, (fused, unfused) in chains(output).items():
        bank, behind = bank_and_behind(name)
        short = f" {verdict('FALL SHORT')}" if name in missed else ""
        rows.setdefault((bank,), {})[behind] = (
            f"{cell(fused.wall)} / {cell(unfused.wall)}: {fused.wall / unfused.wall:.2f}{short}")
    about = "Filter banks with stages behind them, in one kernel and in several"
    return picture("chains", about, rows) + pivot(["fused / not fused: gain"], rows)


def bank_and_behind(name):
    """"PFB ci8 …, then power" and "PFB, power, …: ci8 …" are a bank and what is behind it."""
    if found := re.fullmatch(r"PFB, (.*): (.*)", name):
        return found[2], found[1]
    bank, _, behind = name.removeprefix("PFB ").partition(", then ")
    return bank, behind


def filter_table(outputs):
    rows = {}
    for found, case in matches(outputs["gpu"], FILTER):
        row = rows.setdefault((found["input"], found["channels"], found["way"] or "the planner's"), {})
        row[int(found["taps"])] = f"{cell(case.rate)} ({share(case.of_copy)})"
    return pivot(["", "channels", "variant"], rows, " taps")


def correlators(output):
    """{(type, spectra, way): {stations: case}}."""
    rows = {}
    for found, case in matches(output, CORRELATOR):
        key = found["type"], found["spectra"], found["way"] or "the planner's"
        rows.setdefault(key, {})[int(found["stations"])] = case
    return rows


def correlator_table(outputs):
    cases = correlators(outputs["gpu"])
    rows = {key: {stations: f"{cell(case.operations)} ({share(case.of_fma)})"
                  for stations, case in row.items()} for key, row in cases.items()}
    about = "Correlators by number of stations"
    return (picture("correlators", about, rows) +
            pivot(["", "spectra", "variant"], rows, " stations"))


def beamformer_table(outputs):
    rows = {}
    for found, case in matches(outputs["gpu"], BEAMFORMER):
        rate = cell(case.rate)
        if case.operations:
            rate += f", {cell(case.operations)} ({share(case.of_fma)})"
        rows.setdefault((found["what"],), {})[found["way"] or "alone"] = rate
    return pivot(["beams x stations"], rows)


def of_case(case):
    """The rate, and the share of copies or the rates of all nodes but the sink."""
    more = [share(case.of_copy)] if case.of_copy else [
        f"{name} {cell(rate)}" for name, rate in case.nodes.items() if name != "sink"]
    return cell(case.rate) + (f" ({', '.join(more)})" if more else "")


def other_table(outputs):
    """Cases that no other table has, by stage or graph."""
    rows = {}
    for found, case in matches(outputs["gpu"], re.compile(r"(?P<stage>\w\S*?),? (?P<about>.*)")):
        if not any(pattern.fullmatch(case.name) for pattern in (BANK, FILTER, CORRELATOR, BEAMFORMER)):
            rows.setdefault(found["stage"], []).append(f"{found['about']}: {of_case(case)}")
    return by_stage(rows)


# ---- on the processor ----

def percent(value):
    return "" if value is None else f"{value:.0f}%"


def stage_table(outputs):
    rows = {}
    cases = [case for case in outputs["stage"].host_cases if case.group == "stage"]
    for case in cases:
        stage, _, about = case.name.partition(" ")
        shares = [percent(case.shares[0]), percent(case.shares[1])]
        rows.setdefault(stage, []).append(
            f"{about and about + ': '}{cell(case.samples)} ({' FMA, '.join(filter(None, shares))} L2)")
    about = "Stages on one worker, beside multiply-adds and copies in the cache"
    return picture("stages", about, cases) + by_stage(rows)


def idle(*cases):
    """A remark on workers that waited, for each other or for a processor."""
    busy = min(case.busy for case in cases)
    return f", busy {busy}%" if busy < 95 else ""


def pipeline_table(outputs):
    rows = {}
    for case in outputs["pipeline"].host_cases:
        if case.group == "pipeline":
            rows.setdefault((case.name,), {})[case.workers] = (
                f"{cell(case.samples)}, {percent(case.shares[0])} of FMA{idle(case)}")
    return pivot(["Msamples/s by workers"], rows)


def fusion_table(outputs):
    output, rows = outputs["fusion"], {}
    cases = {(case.name, case.workers): case for case in output.host_cases}
    for (name, workers), ratio in output.ratios.items():
        kinds = ("cpu", "fused") if (f"{name}, cpu", workers) in cases else ("apart", "attached")
        apart, fused = (cases[f"{name}, {kind}", workers] for kind in kinds)
        rows.setdefault((name,), {})[workers] = (
            f"{cell(fused.samples)} / {cell(apart.samples)}: {ratio:.2f}{idle(apart, fused)}")
    return pivot(["fused / not fused by workers"], rows)


def orders_table(outputs):
    rows = {}
    for group, where in ("orders-cpu", "processor"), ("orders-gpu", "GPU"):
        for (type_, distance), of_copy in outputs[group].distances.items():
            rows.setdefault((where, type_), {})[distance] = share(of_copy)
    return pivot(["", "distance"], rows)


# Columns of `cornerturn bench published` that the page leaves out.
NOT_SHOWN = {"operations/s", "bytes/s", "variants"}


def published_table(family, head, rows):
    """A table; a published figure that is that of all its rows stands above it."""
    named = [dict(zip(head, row)) for row in rows]
    figures = {row.get("published", "") for row in named}
    columns = [name for name in head[1:] if name not in NOT_SHOWN and not (name == "published" and len(figures) == 1)]
    above = f"Published: {figures.pop()}.\n\n" if len(figures) == 1 and any(figures) else ""
    return f"#### {family.capitalize()}\n\n{above}" + table(
        ["", *columns], [[row[head[0]], *(row[name] for name in columns)] for row in named])


def published_tables(outputs, group, is_shown):
    """The tables of the rows whose place is shown."""
    shown = {family: (head, [row for row in rows if is_shown(row[head.index("place")])])
             for family, (head, *rows) in outputs[group].tables.items()}
    return "\n".join(published_table(family, head, rows) for family, (head, rows) in shown.items() if rows) or NOTHING


MARKS = {
    "floors-cpu": lambda outputs: floors(outputs, "cpu"),
    "floors-gpu": lambda outputs: floors(outputs, "gpu"),
    "banks": bank_table,
    "chains": chain_table,
    "filters": filter_table,
    "correlators": correlator_table,
    "beamformers": beamformer_table,
    "others": other_table,
    "stages": stage_table,
    "pipelines": pipeline_table,
    "fusion": fusion_table,
    "orders": orders_table,
    "published": lambda outputs: published_tables(outputs, "published", lambda place: True),
    "published-gpu": lambda outputs: published_tables(outputs, "published-gpu", lambda place: place != "host"),
    **{f"run-{group}": lambda outputs, group=group: heading(outputs, group) for group in GROUPS},
}


def read_all(folder=MEASURED):
    return {group: measured.read(folder / f"{group}.txt") for group in GROUPS}


def page(template, outputs):
    """The text of the page."""
    def fill(mark):
        if mark[1] not in MARKS:
            raise ValueError(f"{TEMPLATE.name}: wants a mark of {', '.join(MARKS)}, but is given @{mark[1]}@")
        return MARKS[mark[1]](outputs)
    text = re.sub(r"^@([\w-]+)@\n", fill, template, flags=re.M)
    return re.sub(r"\n{3,}", "\n\n", text)

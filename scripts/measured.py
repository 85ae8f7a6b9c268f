# SPDX-License-Identifier: BSD-3-Clause
"""What the benchmarks print, read line by line: cases, floors and ceilings.

Lines are recognised by their form, so a benchmark may get further cases without a change here."""
import dataclasses
import re

# "NAME  wall  X G/s  NODE  Y G/s  S of copy  O Top/s  F of FMA  each A 1, B 2" of bench-gpu.
DEVICE_CASE = re.compile(r"(?P<name>\S.*?) +wall +(?P<wall>[\d.]+) G/s(?P<rest>.*)")
NODE = re.compile(r" +\S+ +([\d.]+) G/s")
RATE_OF_NODE = re.compile(r"(\S+) (\d+)(?=,|$)")
DEVICE = re.compile(r"(?:(?P<date>\d{4}-\d\d-\d\d), )?(?P<device>\S.*?): (?P<ceilings>FMA [\d.]+ Top/s"
                    r", copy (?P<copy>[\d.]+) GB/s[^(]*)(?P<more>\([^)]*\))?")
# "GROUP  NAME  WORKERS  BUSY%  …" of bench; the shares stand in columns of seven characters.
HOST_CASE = re.compile(r"(?P<group>\w+) +(?P<name>\S.*?) +(?P<workers>\d+) +(?P<busy>\d+)% +"
                       r"(?P<samples>[\d.]+) +(?P<bytes>[\d.]+) +(?P<operations>[\d.]+)"
                       r"(?P<shares>[ \d.%]{0,21})")
HOST_RATIO = re.compile(r"fusion +(?P<name>\S.*?) +(?P<workers>\d+) (?P<ratio>[\d.]+) "
                        r"x the (?:chain|stages apart)")
# The floors of bench and bench-gpu, and those of bench-choices.
FLOOR = re.compile(r"(?P<name>\S.*?) +(?P<value>[\d.]+), at (?P<bound>least|most) +(?P<limit>[\d.]+) "
                   r"(?P<unit>\S.*?) +(?P<verdict>pass|FALL SHORT)")
ORDERS_FLOOR = re.compile(r"(?P<type>\w+(?: primes)?) +(?P<name>the \S.*?) +(?P<value>[\d.]+) (?P<unit>of copy), "
                          r"at (?P<bound>least) (?P<limit>[\d.]+): (?P<verdict>pass|FALL SHORT)")
ORDERS_DEVICE = re.compile(r"orders: .* MiB in and out, (?!per worker)(?P<device>.+)")
DISTANCE = re.compile(r"(?P<type>\w+(?: primes)?) +distance (?P<distance>\d+): +(?P<share>[\d.]+) of copy.*")
ABSENT = re.compile(r"(?P<name>\S.*?) +not (?P<how>measured|run)")


@dataclasses.dataclass
class DeviceCase:
    """A line of bench-gpu; rates are elements of the source in 10⁹ a second."""
    name: str
    wall: float
    node: float | None  # the rate of the node that is measured
    of_copy: float | None
    operations: float | None  # 10¹² a second
    of_fma: float | None
    nodes: dict  # the rates of all nodes, if they are printed

    @property
    def rate(self):
        return self.wall if self.node is None else self.node


@dataclasses.dataclass
class HostCase:
    """A line of bench; rates are millions of samples and 10⁹ bytes and operations a second."""
    group: str
    name: str
    workers: int
    busy: int  # per cent
    samples: float
    bytes: float
    operations: float
    shares: list  # per cent of FMA, of copies in L2, of copies in memory; None: not printed


@dataclasses.dataclass
class Floor:
    name: str
    value: float | None  # None: there is no value, for the reason `verdict`
    bound: str
    limit: float
    unit: str
    verdict: str


@dataclasses.dataclass
class Output:
    """All that is known from one file."""
    remarks: list = dataclasses.field(default_factory=list)
    date: str = ""
    device: str = ""
    ceilings: list = dataclasses.field(default_factory=list)
    copy: float = 0  # 10⁹ bytes a second
    device_cases: list = dataclasses.field(default_factory=list)
    host_cases: list = dataclasses.field(default_factory=list)
    ratios: dict = dataclasses.field(default_factory=dict)  # of (name, workers)
    floors: list = dataclasses.field(default_factory=list)
    distances: dict = dataclasses.field(default_factory=dict)  # shares of (type, distance)
    tables: dict = dataclasses.field(default_factory=dict)  # of `cornerturn bench`: rows of cells, by title


def number(pattern, text):
    found = re.search(pattern, text)
    return float(found[1]) if found else None


def device_case(line):
    rest = line["rest"]
    node = NODE.match(rest)
    return DeviceCase(line["name"], float(line["wall"]), float(node[1]) if node else None,
                      number(r"([\d.]+) of copy", rest), number(r"([\d.]+) Top/s", rest),
                      number(r"([\d.]+) of FMA", rest),
                      {} if node else {name: float(rate) for name, rate in RATE_OF_NODE.findall(rest)})


def host_case(line):
    shares = [line["shares"][i:i + 7].strip(" %") for i in (0, 7, 14)]
    return HostCase(line["group"], line["name"], int(line["workers"]), int(line["busy"]),
                    float(line["samples"]), float(line["bytes"]), float(line["operations"]),
                    [float(share) if share else None for share in shares])


def floor(line):
    of = f"transposes of {line['type']}: " if "type" in line.groupdict() else ""
    return Floor(of + line["name"], float(line["value"]), line["bound"],
                 float(line["limit"]), line["unit"], line["verdict"])


def take(output, line):
    """Adds what a line says to the output; a line of any other form says nothing."""
    if line.startswith("#"):
        output.remarks.append(line.lstrip("# "))
    elif line.startswith("ceilings, "):
        output.ceilings.append(line.partition(", ")[2])
    elif found := DEVICE.match(line):
        output.date, output.device = found["date"] or "", found["device"]
        output.ceilings.append((found["ceilings"] + (found["more"] or "")).rstrip(" ,"))
        output.copy = float(found["copy"])
    elif found := FLOOR.fullmatch(line) or ORDERS_FLOOR.fullmatch(line):
        output.floors.append(floor(found))
    elif found := ABSENT.fullmatch(line):
        output.floors.append(Floor(found["name"], None, "", 0, "", f"not {found['how']}"))
    elif found := ORDERS_DEVICE.fullmatch(line):
        output.device = found["device"]
    elif found := DISTANCE.fullmatch(line):
        output.distances[found["type"], int(found["distance"])] = float(found["share"])
    elif found := HOST_RATIO.fullmatch(line):
        output.ratios[found["name"], int(found["workers"])] = float(found["ratio"])
    elif found := DEVICE_CASE.fullmatch(line):
        output.device_cases.append(device_case(found))
    elif found := HOST_CASE.match(line):
        output.host_cases.append(host_case(found))


def cells_of(lines):
    """The cells of a table: two columns or more of blanks in all lines stand between them."""
    width = max(len(line) for line in lines)
    padded = [line.ljust(width) for line in lines]
    blanks = "".join(" " if all(line[i] == " " for line in padded) else "x" for i in range(width))
    spans = [found.span() for found in re.finditer(r"x(?: ?x)*", blanks)]
    return [[line[begin:end].strip() for begin, end in spans] for line in padded]


def take_table(output, paragraph):
    """Adds a table of `cornerturn bench published`, whose first title has a place beside it."""
    lines = [line for line in paragraph.splitlines() if not re.search(r" on a device: \d+ cases? skipped: ", line)]
    if lines and (found := re.match(r"published (.*?) {2,}place ", lines[0])):
        output.tables[found[1]] = cells_of(lines)


def parse(text):
    output = Output()
    for line in text.splitlines():
        take(output, line.rstrip())
    for paragraph in text.split("\n\n"):
        take_table(output, paragraph)
    return output


def read(path):
    """What the file says; a file that does not exist says nothing."""
    return parse(path.read_text(encoding="utf-8") if path.exists() else "")

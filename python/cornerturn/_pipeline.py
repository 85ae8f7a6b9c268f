# SPDX-License-Identifier: BSD-3-Clause
"""Pipelines: a graph from its text to its results."""
import atexit
import ctypes
import json
import math
import operator
import os
import threading
import warnings
import weakref

import numpy

from . import _block, _endpoint, _errors, _graph, _library
from ._picture import Picture
from ._plan import Plan
from ._stream import Streams

# Settings: "s" and "B" stand for quantities, whose texts may have units.
_SETTINGS = {
    "duration": "s", "strict": int, "reads_pipes": int, "workers": int, "cpus": str, "cache": "B",
    "device_block": "B", "in_flight": int, "costs": str, "default_layouts": int, "fusion": int,
    "missing": int, "poison": int,
}
_MOST = {int: 2**31, "B": 2**63, "s": math.inf}  # what C holds; a setting that takes more is below
_MOST_OF = {"missing": 2**63}
_WANTED = {
    int: "an integer, 0 or more", str: "a text", "s": "a time such as '5 us', 0 or more",
    "B": "an amount such as '1.5 GiB', 0 or more",
}


def _parse_quantity(text, unit):
    quantity = _library.Quantity()
    _library.call("quantity_parse", ctypes.byref(quantity), text.encode(), unit.encode())
    return quantity.value


def _convert(name, value):
    """What the function of a setting wants of a value."""
    kind = _SETTINGS[name]
    try:
        if kind is str:
            return _library.encode(value)
        if kind is int:
            number = operator.index(value)
        else:
            number = _parse_quantity(value, kind) if isinstance(value, str) else float(value)
            # Less than a byte would be 0, which stands for the default.
            number = math.ceil(number) if kind == "B" else number
        if 0 <= number < _MOST_OF.get(name, _MOST[kind]):
            return number
    except (TypeError, ValueError, OverflowError):
        pass
    raise _errors.ParameterError(f"{name} wants {_WANTED[kind]}, but is given {value!r}")


def _encode_name(setting, value):
    if not isinstance(value, str):
        raise _errors.ParameterError(f"{setting} wants a text, but is given {value!r}")
    return _library.encode(value)


def _convert_tick(tick):
    number = operator.index(tick)
    if not -2**63 <= number < 2**63:
        raise _errors.ParameterError(f"a tick wants an integer of 64 bits, but is given {tick}")
    return number


_alive = weakref.WeakSet()  # handles of all pipelines


@atexit.register
def _stop_all():
    """Threads of runs end before the interpreter does."""
    for handle in [one for one in _alive if one.process == os.getpid()]:
        _library.functions["pipeline_stop"](handle.pointer)
        _library.functions["pipeline_wait"](handle.pointer, -1)


class Report(str):
    """A text for people. `holds`: whether all differences are within the bounds (verify), or all is
    measured (tune)."""

    holds = None

    def __repr__(self):
        return str(self)


class Pipeline:
    """A graph that is run once.

    `graph` is the path of a file, the text of a graph, or a dictionary. Settings are `workers`,
    `backend` (for all nodes, or a dictionary by node), `variant` (a dictionary by node),
    `duration`, `strict`, `cpus`, `cache`, `device_block`, `in_flight`, `costs`, `default_layouts`,
    `fusion`, `missing`, `poison`, `reads_pipes`: those of <cornerturn/pipeline.h>.

    At the end of a `with` statement the pipeline is closed: a run that is not over is stopped, and
    its sinks are not completed."""

    def __init__(self, graph, **settings):
        self._handle = None
        self._streams = self._nodes = self._plan = None
        self._inputs, self._outputs = {}, {}
        self._is_prepared = self._is_started = False
        self._lock = threading.Lock()
        self._handle = _endpoint.Handle(self._load(graph))
        _alive.add(self._handle)
        self.configure(**settings)

    __reduce_ex__ = _endpoint.Handle.__reduce_ex__

    @staticmethod
    def _load(graph):
        if isinstance(graph, dict):
            text, name = _graph.text_of(graph), "graph"
        elif isinstance(graph, os.PathLike) or not _graph.is_text(graph):
            return _library.call("pipeline_load", os.fsencode(graph))
        else:
            text, name = graph, "graph"
        encoded = text.encode()
        return _library.call("pipeline_parse", encoded, len(encoded), name.encode())

    @property
    def _pointer(self):
        if self._handle is None:
            raise _errors.OrderError("the pipeline is closed")
        return self._handle.pointer

    def _call(self, name, *arguments):
        # The handle stays alive until the call returns, whatever other threads close.
        handle = self._handle
        return _library.call("pipeline_" + name, self._pointer, *arguments) if handle else self._pointer

    def _text(self, name, *arguments):
        return _library.take_text(self._call(name, *arguments))

    # ---- settings ----

    def configure(self, **settings):
        """Sets what the constructor takes as well, before the step that reads it."""
        for name, value in settings.items():
            if name == "backend" and not isinstance(value, dict):
                self._call("set_backend", None, _encode_name(name, value))
            elif name in ("backend", "variant"):
                for node, choice in value.items():
                    self._call("set_" + name, _encode_name(name, node), _encode_name(name, choice))
            elif name in _SETTINGS:
                self._call("set_" + name, _convert(name, value))
            else:
                raise TypeError(f"no setting '{name}'; there are backend, variant, "
                                f"{', '.join(_SETTINGS)}")
        return self

    def set(self, target, **values):
        """set("filter.n_taps=8") or set("filter", n_taps=8), before the check."""
        for assignment in _graph.assignments(target, values):
            self._call("set", assignment.encode())
        return self

    def set_at(self, target, tick, **values):
        """Changes parameters from a tick on, on the clock of the node's output:
        set_at("gains.gain=2", tick) or set_at("gains", tick, gain=2)."""
        for assignment in _graph.assignments(target, values):
            self._call("set_at", assignment.encode(), _convert_tick(tick))
        self._is_prepared = True

    def set_now(self, target, **values):
        """The same from the first output sample that is not made yet; its tick, of the last
        parameter."""
        tick = ctypes.c_int64()
        for assignment in _graph.assignments(target, values):
            self._call("set_now", assignment.encode(), ctypes.byref(tick))
        self._is_prepared = True
        return tick.value

    # ---- before the run ----

    def check(self):
        """Checks the graph without planning."""
        self._call("check")
        return self

    def _describe_streams(self):
        if self._streams is None:
            self._nodes = json.loads(self._text("streams_json"))["nodes"]
            self._streams = Streams(self._nodes)

    @property
    def streams(self):
        """Streams by "node.output" or "node". Checks first."""
        self._describe_streams()
        return self._streams

    def plan(self):
        """The plan. Checks first."""
        return Plan(lambda form: self._text("describe", form.encode()))

    def verify(self, against="reference", node=None):
        """Compares the nodes with another backend; a Report."""
        agrees = ctypes.c_int()
        report = Report(self._text("verify", against.encode(), _library.encode(node),
                                   ctypes.byref(agrees)))
        report.holds = bool(agrees.value)
        return report

    def tune(self, budget=0, quick=False, progress=None):
        """Measures the candidates that decide the plan; a Report. `budget` is in seconds (0: none);
        `progress` is called now and then with a dictionary: what is measured, numbers, seconds.
        Ctrl-C ends it; what is measured is kept."""
        failures = []

        def guard(ask):
            """An exception cannot pass through the library: it ends the tuning, and is raised
            after it."""
            try:
                ask()
            except BaseException as failure:  # pylint: disable=broad-exception-caught
                failures.append(failure)
            return bool(failures)

        def tell(told, _):
            fields = {name: getattr(told.contents, name)
                      for name, _ in _library.TuneProgress._fields_}
            fields["what"] = (fields["what"] or b"").decode()
            if progress:
                guard(lambda: progress(fields))

        control = _library.TuneControl(
            budget=budget, is_quick=quick, progress=_library.TuneControl.Progress(tell),
            is_over=_library.TuneControl.IsOver(lambda _: guard(lambda: None)))
        decided = ctypes.c_int()
        report = Report(self._text("tune", ctypes.byref(control), ctypes.byref(decided)))
        if failures:
            raise failures[0]
        report.holds = bool(decided.value)
        return report

    @property
    def warnings(self):
        """Lines "FILE:LINE:COLUMN: node 'NAME': warning: …" so far."""
        return _library.take_texts(_library.functions["pipeline_warnings"](self._pointer))

    # ---- the run ----

    def prepare(self):
        """Prepares all stages. Plans first."""
        self._call("prepare")
        self._is_prepared = True
        return self

    def start(self):
        """Starts the run, once. Prepares first."""
        self._call("start")
        self._is_prepared = self._is_started = True
        return self

    def _has_ended(self, seconds):
        return bool(_library.functions["pipeline_wait"](self._pointer, seconds))

    def wait(self, timeout=None):
        """Waits for the end of the run, and raises its error. TimeoutError after `timeout`. Ctrl-C
        interrupts the run: it ends in order before KeyboardInterrupt is raised; a second Ctrl-C
        leaves at once."""
        _endpoint.refuse_in_a_stage("wait()")
        if not self._is_started:
            raise _errors.OrderError("wait() comes too early: it wants to come after start()")
        try:
            _endpoint.wait_for(self._has_ended, timeout, "the run is not over")
        except KeyboardInterrupt:
            self.interrupt()
            _endpoint.wait_for(self._has_ended, None, "")
            raise
        self._handle.fed.clear()
        self._call("result")

    def run(self):
        """Runs the graph to its end; for graphs without `input` and `output`. Returns the
        statistics."""
        self._call("check_fed")
        self._call("check_taken")
        self.start()
        self.wait()
        return self.statistics

    def interrupt(self):
        """Ends the sources now; what they have given goes through."""
        _library.functions["pipeline_interrupt"](self._pointer)

    @property
    def is_interrupted(self):
        return bool(_library.functions["pipeline_is_interrupted"](self._pointer))

    @property
    def statistics(self):
        """State, warnings, and per node time, blocks, samples, counters; so far."""
        if not self._is_prepared:
            raise _errors.OrderError("statistics come too early: they want to come after prepare() "
                                     "or start()")
        return json.loads(_library.take_text(
            _library.functions["pipeline_stats_json"](self._pointer)))

    def picture(self, node):
        """The newest Picture of its stream that a node shows, as a stage monitor does; None: there is
        none yet."""
        text = self._call("picture", _library.encode(node), None)
        return Picture(json.loads(_library.take_text(text))) if text else None

    def close(self):
        """Stops a run that is not over, without completing its sinks, and frees the pipeline."""
        _endpoint.refuse_in_a_stage("close()")
        handle, self._handle = self._handle, None
        if handle is None:
            return
        if self._is_started and not _library.functions["pipeline_wait"](handle.pointer, 0):
            _library.functions["pipeline_stop"](handle.pointer)
            _library.functions["pipeline_wait"](handle.pointer, -1)
        for output in self._outputs.values():
            output.current = None
        self._inputs, self._outputs = {}, {}
        handle.fed.clear()

    def __enter__(self):
        return self

    def __exit__(self, kind, *_):
        if kind is None and self._is_started and self._handle and not self._has_ended(0):
            warnings.warn("the pipeline is closed before the end of its run: wait() waits for it",
                          RuntimeWarning, stacklevel=2)
        self.close()

    # ---- arrays ----

    def _find_endpoints(self):
        """Reads from the plan how arrays pass through `input` and `output`."""
        self._describe_streams()
        plan = json.loads(self._text("describe", b"json"))
        stages = {node["name"]: node for node in self._nodes}
        for node in plan["nodes"]:
            name, device = node["name"], _block.find_device(node["place"])
            stage = stages.get(name, {"stage": None})["stage"]
            if stage == "input":
                self._inputs[name] = _endpoint.Input(self._handle, name, self._streams[name], device)
            elif stage == "output":
                writer = plan["nodes"][plan["links"][node["inputs"][0]]["writer"]]
                self._outputs[name] = _endpoint.Output(
                    self._handle, name, self._streams[stages[name]["inputs"][0]["from"]],
                    node["input_layouts"][0], device, "input" in writer["stages"])

    def _endpoint(self, kind, name):
        found = self._inputs if kind == "input" else self._outputs
        if name in found:
            return found[name]
        if self._pointer and not self._is_prepared:
            raise _errors.OrderError(f"node '{name}' comes too early: call start() first")
        with self._lock:
            if not self._inputs and not self._outputs:
                self._find_endpoints()
        found = self._inputs if kind == "input" else self._outputs
        if name not in found:
            raise _errors.ConfigError(f"the graph has no node '{name}' of stage '{kind}'; it has "
                                      f"{', '.join(found) or 'none'}")
        return found[name]

    def feed(self, node, array, validity=None, *, copy=False, timeout=None):
        """Feeds an array to an `input`: the next samples of its stream.

        The array has the axes of the layout in the graph and is read in place, without a copy: it
        must be contiguous and of the type's dtype, and must not be changed until it is read
        (`copy=True` copies and converts). `validity` is [lanes…][time], true where samples are
        valid; invalid samples are set to zero in the array. Waits while the pipeline has four
        blocks to read. One thread may feed a node."""
        self._endpoint("input", node).feed(array, validity, copy, timeout)

    def feed_end(self, node):
        """Ends the stream of an `input`."""
        self._endpoint("input", node).end()

    def take(self, node, timeout=None):
        """The next block of an `output`; without samples (false) at the end of its stream. It is
        given back when it is closed or when the next one is taken. TimeoutError after `timeout`.

            for block in pipeline.take("out"):
                …"""
        return self._endpoint("output", node).take(timeout)

    def read(self, *nodes, masked=False):
        """All samples of an `output` as one array, or of several as a tuple of arrays. Starts the
        run if it is not started; at the end of the streams, waits for that of the run if all
        outputs are read. `masked`: masked arrays."""
        if not nodes or len(set(nodes)) < len(nodes):
            raise _errors.ParameterError(f"read() wants different nodes, but is given {nodes}")
        if not self._is_started:
            self.start()
        outputs = [self._endpoint("output", node) for node in nodes]
        arrays = [None] * len(outputs)
        failures = []

        def gather(i):
            try:
                arrays[i] = _gather(outputs[i], masked)
            except Exception as failure:  # pylint: disable=broad-exception-caught
                failures.append(failure)

        threads = [threading.Thread(target=gather, args=(i,), daemon=True)
                   for i in range(1, len(outputs))]
        for thread in threads:
            thread.start()
        gather(0)
        for thread in threads:
            thread.join()
        if failures:
            raise failures[0]
        if set(nodes) == set(self._outputs):
            self.wait()
        return arrays[0] if len(nodes) == 1 else tuple(arrays)


def _gather(output, masked):
    """The samples of a whole stream, time by time. Blocks of an axis of time are joined as they
    are."""
    names = output.layout.names
    parts = []
    while block := output.take(None):
        parts.append(block.masked.copy() if masked else block.copy())
    if not parts:
        empty = numpy.empty(output.empty_shape, output.kind.dtype)
        return numpy.ma.MaskedArray(empty) if masked else empty
    join = numpy.ma.concatenate if masked else numpy.concatenate
    return join(parts, names.index("time")) if len(parts) > 1 else parts[0]


def inspect(stage=None):
    """Describes a stage for people, or lists all stages and devices."""
    return Report(_library.take_text(_library.call("inspect", _library.encode(stage), None)))

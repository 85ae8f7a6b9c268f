#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""The processors of a run and its NUMA nodes. hwloc is told to describe other machines."""
import contextlib
import ctypes
import errno
import json
import os
import pathlib
import platform
import random
import re
import signal
import struct
import subprocess
import time
import unittest

import graphs
import tap

EMULATED = "CORNERTURN_TEST_BACKEND" in os.environ
OWN = sorted(os.sched_getaffinity(0))
TWO = {"HWLOC_SYNTHETIC": "numa:2 core:2 pu:1"}
TWO_SOCKETS = {"HWLOC_XMLFILE": str(pathlib.Path(__file__).parent / "two-sockets.xml")}
# The numbers of calls of the kernel.
CALLS = {"x86_64": {"mbind": 237, "sched_setaffinity": 203},
         "aarch64": {"mbind": 235, "sched_setaffinity": 122}}.get(platform.machine())
NEEDS_SECCOMP = unittest.skipUnless(CALLS, "unknown architecture")


def stages(**numas):
    """A graph; `numas` are NUMA nodes of its nodes."""
    made = {
        "sky": {"stage": "generate", "type": "ci8", "sample_rate": "1 MHz", "duration": "0.1 s",
                "n_stations": 2, "noise": 1, "block": {"time": 4096}},
        "filter": {"stage": "fir", "from": "sky", "n_channels": 16, "n_taps": 4},
        "spectra": {"stage": "fft", "from": "filter"},
        "products": {"stage": "correlate", "from": "spectra", "integration": 64},
        "out": {"stage": "file.sink", "from": "products", "path": "out.npy"},
    }
    for node, numa in numas.items():
        made[node]["numa"] = numa
    return made


def refusing(call):
    """Returns a function for a child to begin with: the kernel will not permit the call, as in some
    containers."""
    code = [(0x20, 0, 0, 0),  # loads the number of the call
            (0x15, 0, 1, CALLS[call]),
            (0x06, 0, 0, 0x00050000 | errno.EPERM),
            (0x06, 0, 0, 0x7fff0000)]
    program = ctypes.create_string_buffer(b"".join(struct.pack("HBBI", *line) for line in code))
    filters = struct.pack("HxxxxxxQ", len(code), ctypes.addressof(program))

    def begin():
        libc = ctypes.CDLL(None, use_errno=True)
        if libc.prctl(38, 1, 0, 0, 0) or libc.prctl(22, 2, filters, 0, 0):
            raise OSError(ctypes.get_errno(), "prctl")
        return program
    return begin


class ProcessorsTest(graphs.GraphTest):
    def write_graph(self, graph, **keys):
        """Each node is in a line of its own."""
        lines = [f"{key}: {value}" for key, value in keys.items()] + ["stages:"]
        lines += [f"  {name}: {json.dumps(node)}" for name, node in graph.items()]
        (self.folder / "g.yaml").write_text("\n".join(lines) + "\n")

    def command(self, name, *arguments, variables=None, **options):
        return subprocess.run([graphs.COMMAND, name, *arguments, "g.yaml"], cwd=self.folder,
                              capture_output=True, text=True, timeout=120, check=False,
                              env={**os.environ, **(variables or {})}, **options)

    @contextlib.contextmanager
    def run_endless(self, *arguments, variables=None):
        """Runs a graph without an end: gives its process when it works, and interrupts it then. Skips the
        test where the kernel refuses to bind anything."""
        self.write_graph({
            "sky": {"stage": "generate", "sample_rate": "1 MHz", "block": {"time": 4096}},
            "sums": {"stage": "integrate", "from": "sky", "length": 4096},
            "out": {"stage": "file.sink", "from": "sums", "path": "out.npy"},
        })
        process = subprocess.Popen([graphs.COMMAND, "run", "--quiet", *arguments, "g.yaml"],
                                   cwd=self.folder, env={**os.environ, **(variables or {})},
                                   stderr=subprocess.PIPE, text=True)
        self.addCleanup(process.kill)
        partial = self.folder / "out.npy.partial"
        end = time.monotonic() + 60
        while not partial.exists() or partial.stat().st_size < 10000:
            self.assertLess(time.monotonic(), end)
            time.sleep(0.01)
        yield process
        process.send_signal(signal.SIGINT)
        _, errors = process.communicate(timeout=60)
        if "Operation not permitted" in errors:
            self.skipTest(errors)

    def plan(self, *arguments, variables=None):
        done = self.command("plan", "--json", *arguments, variables=variables)
        self.assertEqual(done.returncode, 0, done.stderr)
        return json.loads(done.stdout)

    def check_error(self, message, *arguments, variables=None, status=1, **options):
        done = self.command("plan", *arguments, variables=variables, **options)
        self.assertEqual((done.returncode, done.stdout), (status, ""))
        self.assertIn(message, done.stderr)

    def run_to_end(self, *arguments, **options):
        """Returns the array and the messages."""
        done = self.command("run", "--quiet", *arguments, **options)
        self.assertEqual(done.returncode, 0, done.stderr)
        return (self.folder / "out.npy").read_bytes(), done.stderr


def has_hwloc():
    with_two = subprocess.run([graphs.COMMAND, "plan", "--json", "/dev/stdin"], check=True, text=True,
                              input=json.dumps({"stages": {
                                  "a": {"stage": "generate", "sample_rate": "1 MHz", "duration": "1 ms"},
                                  "b": {"stage": "discard", "from": "a"}}}),
                              capture_output=True, env={**os.environ, "HWLOC_SYNTHETIC": "numa:2 pu:9"})
    return len(json.loads(with_two.stdout)["processors"]) == 18


NEEDS_HWLOC = unittest.skipUnless(has_hwloc(), "built without hwloc")


@unittest.skipIf(EMULATED, "without devices")
class OneNode(ProcessorsTest):
    """On this machine."""

    def test_workers_take_all_processors(self):
        self.write_graph(stages())
        plan = self.plan()
        self.assertEqual([worker["number"] for worker in plan["processors"]],
                         (OWN * plan["workers"])[:plan["workers"]])

    def test_cpus_of_the_command_override_those_of_the_graph(self):
        last = OWN[-1]
        self.write_graph(stages(), cpus=OWN[0])
        for arguments, number in ([], OWN[0]), ([f"--cpus={last}"], last):
            plan = self.plan(*arguments, variables={"CORNERTURN_WORKERS": ""})
            self.assertEqual([worker["number"] for worker in plan["processors"]], [number])
        text = self.command("plan", "--workers=3", f"--cpus={last}").stdout
        if "NUMA" not in text:
            self.assertIn(f"\n3 workers on processors {last}\n", text)

    def test_threads_stay_on_the_processors(self):
        """Those of workers, of sources and sinks that wait, and those that stages start."""
        with self.run_endless("--workers=2", f"--cpus={OWN[-1]}") as process:
            threads = self.threads(process)
        main = threads.pop(process.pid)
        self.assertEqual(main, ("cornerturn", set(OWN)))
        for name, processors in threads.values():
            self.assertEqual(processors, {OWN[-1]}, name)
        self.assertEqual([name for name, _ in threads.values()].count("worker"), 2)
        self.assertIn("out", [name for name, _ in threads.values()])

    @staticmethod
    def threads(process):
        """Maps the numbers of threads to their names and processors, without those of the driver."""
        found = {}
        for folder in pathlib.Path(f"/proc/{process.pid}/task").iterdir():
            try:
                text = (folder / "status").read_text()
            except (FileNotFoundError, ProcessLookupError):
                continue
            allowed = set()
            for part in re.search(r"^Cpus_allowed_list:\s*(\S+)", text, re.M)[1].split(","):
                first, _, last = part.partition("-")
                allowed |= set(range(int(first), int(last or first) + 1))
            name = re.search(r"^Name:\s*(\S+)", text, re.M)[1]
            if not name.startswith("cuda"):
                found[int(folder.name)] = name, allowed
        return found

    def test_errors(self):
        self.write_graph(stages())
        for given in "", "x", "3-1", "1,", "-1", "0 1", "99999999999":
            self.check_error(f"--cpus wants processors as in 0-3,8, but is given '{given}'",
                             f"--cpus={given}", status=2)
        absent = OWN[-1] + 5000
        self.check_error(f", which this process may use, but is given {OWN[0]},{absent}",
                         f"--cpus={absent},{OWN[0]}")
        self.write_graph(stages(), cpus=absent)
        self.check_error("g.yaml:1:7: 'cpus' wants processors of ")
        self.write_graph(stages(), cpus="")
        self.check_error("g.yaml:1:6: 'cpus' wants processors as in 0-3,8, but is given nothing")
        self.write_graph(stages(), cpus="[0, 1]")
        self.check_error("g.yaml:1:7: 'cpus' wants processors as in 0-3,8, but is given a list of 2")
        self.write_graph(stages(filter="near"))
        self.check_error("node 'filter': 'numa' wants the number of a NUMA node, but is given 'near'")
        self.write_graph(stages(filter=-1))
        self.check_error("node 'filter': 'numa' wants the number of a NUMA node, but is given '-1'")
        self.write_graph(stages(filter=4000))
        self.check_error("node 'filter': 'numa' wants a NUMA node of this machine (")
        self.write_graph(stages(), numa=4000)
        self.check_error("g.yaml:1:7: 'numa' wants a NUMA node of this machine (")

    @unittest.skipIf(len(OWN) < 2, "one processor")
    def test_processors_outside_the_affinity(self):
        self.write_graph(stages())
        self.check_error(f"--cpus: wants processors of {OWN[0]}, which this process may use, but is "
                         f"given {OWN[1]}\n", f"--cpus={OWN[1]}",
                         preexec_fn=lambda: os.sched_setaffinity(0, {OWN[0]}))

    @NEEDS_SECCOMP
    def test_refused_processors_are_one_warning(self):
        self.write_graph(stages())
        expected, messages = self.run_to_end()
        self.assertEqual(messages, "")
        found, messages = self.run_to_end("--workers=3", preexec_fn=refusing("sched_setaffinity"))
        self.assertEqual(found, expected)
        self.assertEqual(messages, "warning: workers cannot be pinned to their processors: Operation "
                                   "not permitted\n")

    def test_the_only_numa_node_changes_nothing(self):
        self.write_graph(stages())
        expected = self.run_to_end()
        if "NUMA" in self.command("plan").stdout:
            self.skipTest("several NUMA nodes")
        self.write_graph(stages(filter=0, out=0), numa=0)
        self.assertEqual(self.run_to_end(), expected)
        self.assertNotIn("NUMA", self.command("plan").stdout)


@NEEDS_HWLOC
@unittest.skipIf(EMULATED, "without devices")
class TwoNodes(ProcessorsTest):
    """What is decided on another machine, on which nothing is bound."""

    def numas(self, plan):
        nodes = {node["name"]: node["numa"] for node in plan["nodes"]}
        rings = {plan["nodes"][link["writer"]]["name"]: link["numa"] for link in plan["links"]}
        return nodes, rings

    def test_without_names(self):
        """Rings that workers of both NUMA nodes read are on neither."""
        self.write_graph(stages())
        plan = self.plan(variables=TWO)
        self.assertEqual(plan["processors"], [{"number": 0, "numa": 0}, {"number": 1, "numa": 0},
                                              {"number": 2, "numa": 1}, {"number": 3, "numa": 1}])
        self.assertEqual(set(self.numas(plan)[1].values()), {None})
        plan = self.plan("--cpus=2-3", variables=TWO)
        self.assertEqual([worker["number"] for worker in plan["processors"]], [2, 3])
        self.assertEqual(set(self.numas(plan)[1].values()), {1})

    def test_nodes_that_name_numa_nodes(self):
        self.write_graph(stages(filter=0, products=1))
        plan = self.plan("--variant=filter=cpu-baseline", variables=TWO)
        nodes, rings = self.numas(plan)
        self.assertEqual((nodes["filter"], nodes["products"], nodes["out"]), (0, 1, None))
        self.assertEqual((rings["sky"], rings["spectra"], rings["products"]), (0, 1, None))
        # Workers are on both NUMA nodes, however few there are.
        plan = self.plan("--workers=2", variables=TWO)
        self.assertEqual([worker["numa"] for worker in plan["processors"]], [0, 1])
        text = self.command("plan", "--workers=3", variables=TWO).stdout
        self.assertRegex(text, r"\nNUMA node 0: 2 workers on processors 0-1, \S+ \S+\n"
                               r"NUMA node 1: 1 worker on processors 2, \S+ \S+\n")
        self.assertRegex(text, r"\nproducts +cpu\S* +host, NUMA 1 +")
        self.assertRegex(text, r"\nsky +filter\S* +host, NUMA 0 +")

    def test_graph_that_names_one(self):
        self.write_graph(stages(), numa=1)
        plan = self.plan(variables=TWO)
        self.assertEqual([worker["number"] for worker in plan["processors"]], [2, 3])
        nodes, rings = self.numas(plan)
        self.assertEqual((set(nodes.values()), set(rings.values())), ({1}, {1}))
        self.write_graph(stages(filter=0), numa=1)
        plan = self.plan(variables=TWO)
        self.assertEqual([worker["number"] for worker in plan["processors"]], [0, 2, 1, 3])

    def test_stages_of_different_numa_nodes_are_not_fused(self):
        self.write_graph(stages(filter=0, spectra=0))
        self.assertIn("filter+spectra", self.numas(self.plan("--variant=filter=fused-baseline", variables=TWO))[0])
        self.write_graph(stages(filter=0, spectra=1))
        nodes = self.numas(self.plan(variables=TWO))[0]
        self.assertEqual((nodes["filter"], nodes["spectra"]), (0, 1))

    def test_errors(self):
        self.write_graph(stages(filter=0, products=1))
        self.check_error("node 'products': 'numa' wants a NUMA node of the run's processors (0-1), but "
                         "is given 1\n", "--cpus=0-1", variables=TWO)
        self.check_error("node 'products': 'numa' wants a worker on its NUMA node, with more than 1 in "
                         "all, but is given 1\n", "--workers=1", variables=TWO)
        self.check_error("--cpus: wants processors of 0-3, which this process may use, but is given "
                         "2-5\n", "--cpus=2-5", variables=TWO)
        self.write_graph(stages(filter=2))
        self.check_error(": node 'filter': 'numa' wants a NUMA node of this machine (0, 1), but is "
                         "given 2\n", variables=TWO)

    def test_runs_give_the_same(self):
        """Nodes are served by workers of their NUMA node alone, however few these are."""
        graph = {
            "sky": {"stage": "generate", "type": "ci8", "sample_rate": "1 MHz", "duration": "20 ms",
                    "n_stations": 2, "noise": 1, "block": {"time": 512}},
            "wide": {"stage": "convert", "from": "sky", "type": "ci16"},
            "joined": {"stage": "stack", "from": ["wide", "wide"], "axis": "station"},
            "products": {"stage": "correlate", "from": "joined", "integration": 64, "output": "ci64"},
            "out": {"stage": "file.sink", "from": "products", "path": "out.npy"},
            "rest": {"stage": "discard", "from": "sky"},
        }
        self.write_graph(graph)
        expected = self.run_to_end()
        seeded = random.Random(5)
        for _ in range(12):
            numas = {name: seeded.choice([0, 1, None]) for name in graph}
            self.write_graph({name: {**node, **({} if numas[name] is None else {"numa": numas[name]})}
                              for name, node in graph.items()})
            n_workers = seeded.randint(2, 6)
            self.assertEqual(self.run_to_end(f"--workers={n_workers}", variables=TWO), expected,
                             (numas, n_workers))

    @unittest.skipUnless(os.path.exists("/proc/self/numa_maps"), "a kernel without NUMA nodes")
    def test_memory_is_bound(self):
        """hwloc takes a machine for this one on which all processors are of NUMA node 0."""
        here = {"HWLOC_SYNTHETIC": f"numa:2 pu:{OWN[-1] + 1}", "HWLOC_THISSYSTEM": "1"}
        with self.run_endless(variables=here) as process:
            maps = pathlib.Path(f"/proc/{process.pid}/numa_maps").read_text()
        self.assertRegex(maps, r"(?m)^\w+ (bind|prefer)( \(many\))?:0 ")

    @NEEDS_SECCOMP
    def test_refused_memory_is_one_warning(self):
        """hwloc takes a machine for this one on which all processors are of NUMA node 1."""
        self.write_graph(stages())
        expected, _ = self.run_to_end()
        here = {"HWLOC_SYNTHETIC": f"numa:2(indexes=1,0) pu:{OWN[-1] + 1}", "HWLOC_THISSYSTEM": "1"}
        found, messages = self.run_to_end(variables=here, preexec_fn=refusing("mbind"))
        self.assertEqual(found, expected)
        self.assertEqual(messages, "warning: rings cannot be put on their NUMA nodes: Operation not "
                                   "permitted\n")


@NEEDS_HWLOC
@unittest.skipUnless(EMULATED, "wants the emulated device, whose bus is known")
class Devices(ProcessorsTest):
    """The first emulated device is next to NUMA node 1."""

    def test_placement(self):
        graph = stages()
        graph["spectra"]["backend"] = "cuda"
        graph["spectra"]["numa"] = 0
        self.write_graph(graph, numa=0)
        done = self.command("plan", variables=TWO_SOCKETS)
        self.assertIn(", next to NUMA node 1\n", done.stdout)
        self.assertRegex(done.stderr, r"^g.yaml:\d+:\d+: node 'spectra': warning: 'numa' has no effect: "
                                      r"it runs on cuda:0\n$")
        plan = self.plan(variables=TWO_SOCKETS)
        self.assertEqual([device["numa"] for device in plan["devices"]], [1])
        for link in plan["links"]:
            copied = [plan["nodes"][reader["node"]] for reader in link["readers"]]
            at_device = any(node["place"] == "cuda:0"
                            for node in [plan["nodes"][link["writer"]], *copied])
            expected = None if link["place"] != "host" else 1 if at_device else 0
            self.assertEqual(link["numa"], expected)

    def test_runs_give_the_same(self):
        graph = stages()
        graph["spectra"]["backend"] = "cuda"
        self.write_graph(graph)
        expected = self.run_to_end()
        self.write_graph(graph, numa=0)
        self.assertEqual(self.run_to_end(variables=TWO_SOCKETS), expected)

    def test_other_buses(self):
        graph = stages()
        graph["spectra"]["backend"] = "cuda"
        self.write_graph(graph)
        self.assertEqual([device["numa"] for device in self.plan(variables=TWO)["devices"]], [None])


if __name__ == "__main__":
    tap.main()

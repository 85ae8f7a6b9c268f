#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""The control port: what it shows, the parameters that it sets, and the end of a run."""
import json
import os
import re
import shutil
import stat
import subprocess

import numpy as np

import controls
import graphs
import oracles
import tap

API = json.loads((graphs.SOURCE_ROOT / "core" / "control" / "openapi.json").read_text())
JSONSCHEMA = "jsonschema==4.23.0"
PROMETHEUS = "prometheus_client==0.21.1"

# Checks replies by the schemas of the description.
CHECK = """
import json, sys
import jsonschema
api = json.load(open(sys.argv[1]))
for schema, value in json.load(open(sys.argv[2])):
    jsonschema.Draft202012Validator({**schema, "components": api["components"]}).validate(value)
    print("good")
"""
# Prints each sample of a text of metrics.
PARSE = """
import json, sys
from prometheus_client.parser import text_string_to_metric_families
families = list(text_string_to_metric_families(open(sys.argv[1]).read()))
print(json.dumps([[one.type, one.documentation, sample.name, sample.labels, sample.value]
                  for one in families for sample in one.samples]))
"""


class Shows(controls.ControlTest):
    def schema(self, path, method, reply):
        """The schema of a reply in the description; its type is checked."""
        described = API["paths"][path][method.lower()]["responses"][str(reply.status)]
        if "$ref" in described:
            described = API["components"]["responses"][described["$ref"].rpartition("/")[2]]
        kind = reply.headers["Content-Type"].partition(";")[0]
        self.assertIn(kind, described["content"], path)
        return described["content"][kind]["schema"]

    def test_replies_are_as_described(self):
        """Every path and method of the description, over both kinds of sockets; the replies are as
        its schemas say."""
        for address in "tcp:localhost:0", "unix:control":
            with self.subTest(address):
                port = self.launch(controls.ENDLESS, address=address)
                pairs = []
                asked = [(path, method.upper(), None) for path, methods in API["paths"].items()
                         for method in methods if method in ("get", "post") and path != "/api/v1/end"]
                asked += [("/api/v1/parameters", "POST", body) for body in (
                    {"assignment": "gains.gain=2"}, {"assignment": "gains.gain=3", "tick": 1 << 50},
                    {"assignment": "gains.gain=3", "tick": 0}, {"assignment": "sky.noise=3"}, "{")]
                asked += [("/api/v1/nodes/{name}", "GET", "missing"), ("/api/v1/end", "POST", None)]
                for path, method, body in asked:
                    name = "missing" if body == "missing" else "gains"
                    reply = port.ask(path.replace("{name}", name), method,
                                     None if body == "missing" else body)
                    schema = self.schema(path, method, reply)
                    is_json = reply.headers["Content-Type"] == "application/json"
                    pairs.append([schema, reply.json if is_json else reply.bytes.decode()])
                self.assertEqual(self.finish(port)[0], 143)
                (self.folder / "pairs.json").write_text(json.dumps(pairs))
                checked = oracles.run(self, JSONSCHEMA, CHECK,
                                      graphs.SOURCE_ROOT / "core" / "control" / "openapi.json",
                                      self.folder / "pairs.json")
                self.assertEqual(checked.split(), ["good"] * len(pairs))

    def test_documents(self):
        port = self.launch(controls.ENDLESS, "--set", "sums.length=2048")
        state = port.get("state")
        self.assertEqual((state["graph"], state["state"], state["error"], state["ending"]),
                         ("graph.yaml", "running", None, False))
        graph = port.get("graph")
        self.assertEqual(graph["text"], (self.folder / "graph.yaml").read_text())
        self.assertEqual(graph["settings"], ["sums.length=2048"])
        self.assertEqual([one["name"] for one in port.get("plan")["nodes"]],
                         [one["name"] for one in port.get("statistics")["nodes"]])
        self.assertEqual(port.get("nodes/gains")["stage"], "gains")
        known = {f"{one['node']}.{one['parameter']}": one["value"]
                 for one in port.get("parameters")["parameters"]}
        self.assertEqual(known, {"gains.gains": None, "gains.gain": "1", "gains.inverse": "false"})
        self.assertEqual(port.get("warnings"), {"warnings": []})
        self.assertEqual(json.loads(port.ask("/openapi.json").bytes), API)
        self.assertEqual(port.ask("/api/v1/state", "HEAD").bytes, b"")
        self.end(port)

    def test_metrics(self):
        """A parser of others reads them, and counters do not fall."""
        stages = {**controls.ENDLESS}
        name = 'graph "1" \\ é.yaml'
        (self.folder / name).write_text(json.dumps({"stages": stages}))
        self.write = lambda _: name
        port = self.launch(stages)
        read = []
        for i in range(3):
            reply = port.ask("/metrics")
            self.assertEqual(reply.headers["Content-Type"],
                             "text/plain; version=0.0.4; charset=utf-8")
            (self.folder / "metrics").write_bytes(reply.bytes)
            rows = json.loads(oracles.run(self, PROMETHEUS, PARSE, self.folder / "metrics"))
            read.append({(row[2], *sorted(row[3].items())): row for row in rows})
        self.end(port)
        self.assertIn(name, [row[3].get("graph") for row in read[0].values()])
        first, *others = read
        for other in others:
            self.assertEqual(first.keys(), other.keys())
            for key, (kind, about, _, _, value) in other.items():
                self.assertTrue(about)
                if kind == "counter":
                    self.assertGreaterEqual(value, first[key][4], key)
        fed = [row[4] for row in others[-1].values() if row[2] == "cornerturn_node_samples_total"]
        self.assertEqual(len(fed), 4)
        self.assertGreater(min(fed), 0)
        states = {row[3]["state"]: row[4] for row in read[0].values() if row[2] == "cornerturn_state"}
        self.assertEqual(states, {"running": 1, "complete": 0, "interrupted": 0, "failed": 0})


class Sets(controls.ControlTest):
    """Each sample is made with the value of its tick."""

    def feed(self, port, *arrays):
        for array in arrays:
            port.process.stdin.write(array.tobytes())
            port.process.stdin.flush()

    def begin(self, address="unix:control", n=1000, **source):
        stages = {**controls.FED, "in": {**controls.FED["in"], **source}}
        port = self.launch(stages, address=address)
        self.feed(port, controls.samples(n))
        self.wait_until(port, lambda stats: controls.node(stats, "gains")["samples"] == n)
        return port

    def complete(self, port, n, begin=1000):
        self.feed(port, controls.samples(n, begin))
        port.process.stdin.close()
        port.process.stdin = None
        status, stats, errors = self.finish_fed(port)
        self.assertEqual((status, errors), (0, ""))
        return stats, np.fromfile(self.folder / "out.raw", np.float32)

    def finish_fed(self, port):
        output = port.process.stdout.read()
        errors = port.process.stderr.read().decode()
        return port.process.wait(controls.SECONDS), json.loads(output), errors

    def stop(self, process):
        process.kill()
        process.wait()
        for pipe in process.stdin, process.stdout, process.stderr:
            if pipe:
                pipe.close()

    def expected(self, n, *changes):
        """Of `n` rows; each change is a row and the factor from there on."""
        rows = controls.samples(n).reshape(n, controls.WIDTH)
        factors = np.ones(n, np.float32)
        for row, factor in changes:
            factors[row:] = factor
        return (rows * factors[:, None]).ravel()

    def check_change(self, answered, assignment, tick):
        self.assertEqual(answered.status, 200, answered.bytes)
        self.assertEqual(answered.json, {"assignment": assignment, "tick": tick})

    def test_ticks(self):
        """In any order, also within blocks."""
        for address in "unix:control", "tcp:127.0.0.1:0":
            with self.subTest(address):
                port = self.begin(address)
                for value, tick in (3, 1777), (2, 1234), (-5, 2500):
                    self.check_change(port.set(f"gains.gain={value}", tick=tick),
                                      f"gains.gain={value}", tick)
                pending = next(one for one in port.get("parameters")["parameters"]
                               if one["parameter"] == "gain")
                self.assertEqual([(one["set"], one["tick"]) for one in pending["pending"]],
                                 [("gains.gain=2", 1234), ("gains.gain=3", 1777),
                                  ("gains.gain=-5", 2500)])
                self.assertEqual((pending["value"], pending["next"]), ("1", 1000))
                stats, out = self.complete(port, 2000)
                np.testing.assert_array_equal(
                    out, self.expected(3000, (1234, 2), (1777, 3), (2500, -5)))
                self.assertEqual([one["tick"] for one in stats["changes"]], [1234, 1777, 2500])

    def test_time(self):
        """The first tick that is not before it."""
        port = self.begin()
        self.check_change(port.set("gains.gain=2", utc="2026-11-28T00:00:01.2341Z"), "gains.gain=2",
                          1235)
        self.check_change(port.set("gains.gain=4", utc="2026-11-28T00:00:02Z"), "gains.gain=4", 2000)
        _, out = self.complete(port, 2000)
        np.testing.assert_array_equal(out, self.expected(3000, (1235, 2), (2000, 4)))

    def test_as_soon_as_possible(self):
        port = self.begin()
        self.check_change(port.set("gains.gain=2"), "gains.gain=2", 1000)
        self.check_change(port.set("gains.gain=7"), "gains.gain=7", 1000)
        _, out = self.complete(port, 500)
        np.testing.assert_array_equal(out, self.expected(1500, (1000, 7)))

    def test_refused(self):
        """Nothing changes then."""
        port = self.begin()
        for status, body, message in [
                (409, {"assignment": "gains.gain=2", "tick": 900}, "comes too late for tick 900"),
                (422, {"assignment": "gains.gain=x"}, "gain"),
                (422, {"assignment": "gains.gian=2"}, "gain"),
                (422, {"assignment": "gians.gain=2"}, "did you mean 'gains'"),
                (422, {"assignment": "in.path=x"}, "cannot change during a run"),
                (422, {"assignment": "gains"}, "wants node.parameter=value"),
                (422, {"assignment": "gains.gains=missing.npy"}, "but is given both"),
                (422, {"assignment": "gains.gain=2", "tick": 1 << 62}, "2^60"),
                (422, {"assignment": "gains.gain=2", "tick": 1.5}, "'tick' wants an integer"),
                (422, {"assignment": "gains.gain=2", "tick": "5"}, "'tick' wants an integer"),
                (422, {"assignment": 5}, "'assignment' wants a text"),
                (422, {"assignment": "gains.gain=2", "utc": 5}, "'utc' wants a text"),
                (422, {"assignment": "gains.gain=2", "utc": "noon"}, "noon"),
                (422, {"assignment": "gains.gain=2", "tick": 5, "utc": "5"}, "given both"),
                (422, {"assignment": "gains.gain=2", "tik": 5}, "'tik'"),
                (422, {}, "wants 'assignment'"),
                (400, {"assignment": "gains.gain=2", "tick": 1 << 63}, "64 bits"),
                (400, {"assignment": "gains.gain=2", "tick": (1 << 64) + 5}, "64 bits"),
                (400, {"assignment": "gains.gain=2\0x"}, "without NUL"),
                (400, [], "wants an object"),
                (400, "", "wants an object"),
                (400, "{", "wants JSON"),
                (400, b"\xff\x00", "wants JSON"),
                (400, "[" * 60000, "in one another"),
                (413, b" " * 65537, "65536 bytes"),
                (413, b" " * 500000, "65536 bytes")]:
            with self.subTest(body=str(body)[:80]):
                reply = port.ask("/api/v1/parameters", "POST", body)
                self.assertEqual(reply.status, status, reply.bytes)
                self.assertEqual(list(reply.json), ["error"])
                self.assertIn(message, reply.json["error"])
        _, out = self.complete(port, 500)
        np.testing.assert_array_equal(out, self.expected(1500))

    def test_no_time(self):
        """A stream that does not know its UTC."""
        source = dict(controls.FED["in"])
        del source["epoch"]
        port = self.launch({**controls.FED, "in": source}, address="unix:control")
        reply = port.set("gains.gain=2", utc="2026-11-28T00:00:02Z")
        self.assertEqual(reply.status, 422)
        self.assertIn("does not know the time in UTC", reply.json["error"])


class Ends(controls.ControlTest):
    def test_end(self):
        """Results are complete up to there; the status is that of SIGTERM."""
        port = self.launch(controls.ENDLESS, address="unix:control")
        self.wait_until(port, lambda stats: controls.node(stats, "out")["samples"] > 10)
        self.assertEqual(port.ask("/api/v1/end", "POST").json, {"ending": True})
        status, stats, errors = self.finish(port)
        self.assertEqual(status, 143)
        self.assertEqual(stats["state"], "interrupted")
        self.assertRegex(errors, r"(?m)^interrupted by the control port after [\d.]+ s of stream")
        sums = np.load(self.folder / "sums.npy")
        self.assertEqual(len(sums), controls.node(stats, "out")["samples"])
        self.assertFalse((self.folder / "control").exists())

    def test_files_are_removed(self):
        runtime = self.folder / "runtime"
        runtime.mkdir()
        port = self.launch(controls.ENDLESS, env={**os.environ, "XDG_RUNTIME_DIR": str(runtime)})
        token = runtime / f"cornerturn-{port.port}.token"
        self.assertEqual(port.token_path, str(token))
        self.assertEqual(stat.S_IMODE(token.stat().st_mode), 0o600)
        self.assertRegex(token.read_text(), r"^[0-9a-f]{64}\n$")
        self.end(port)
        self.assertFalse(token.exists())


class Documented(controls.ControlTest):
    def run_commands(self, pattern, *replaced):
        """Runs the commands of the page that match, with texts replaced; returns their replies."""
        page = (graphs.SOURCE_ROOT / "docs" / "watching.md").read_text()
        lines = re.sub(r"\\\n +", "", page).splitlines()
        found = [line.strip() for line in lines if re.match("    curl .*" + pattern, line)]
        self.assertTrue(found)
        for before, after in replaced:
            found = [command.replace(before, after) for command in found]
        done = [subprocess.run(command, shell=True, cwd=self.folder, capture_output=True, text=True,
                               timeout=controls.SECONDS) for command in found]
        self.assertEqual([one.returncode for one in done], [0] * len(done), done)
        return [json.loads(one.stdout) for one in done]

    def test_commands(self):
        if not shutil.which("curl"):
            self.skipTest("there is no curl")
        port = self.launch(controls.ENDLESS, address="unix:control")
        state, change = self.run_commands("--unix-socket")
        self.assertEqual(state["state"], "running")
        self.assertEqual(change["assignment"], "gains.gain=2")
        self.end(port)
        port = self.launch(controls.ENDLESS)
        ends = self.run_commands("Bearer", ("8080", port.port), ("/run/user/1000/", ""))
        self.assertEqual(ends, [{"ending": True}])
        self.assertEqual(self.finish(port)[0], 143)

    def test_paths_and_metrics(self):
        """The page lists them all."""
        page = (graphs.SOURCE_ROOT / "docs" / "watching.md").read_text()
        listed = set(re.findall(r"(?m)^\| `(/[^`]*)` \|", page))
        self.assertEqual(listed, {path.replace("{name}", "NAME") for path in API["paths"]
                                  if not path.startswith("/page")})
        port = self.launch(controls.ENDLESS, address="unix:control")
        metrics = set(re.findall(r"(?m)^# TYPE (\w+)", port.ask("/metrics").bytes.decode()))
        named = re.sub(r"`…(\w+)`", r"`cornerturn_node\1`", page)
        self.assertEqual(set(re.findall(r"`(cornerturn_\w+)`", named)), metrics)
        self.end(port)


if __name__ == "__main__":
    tap.main()

# SPDX-License-Identifier: BSD-3-Clause
"""A page in Chromium without a screen, by the WebDriver protocol (https://www.w3.org/TR/webdriver2/)."""
import base64
import http.client
import json
import shutil
import subprocess
import time

import ports

ELEMENT = "element-6066-11e4-a52e-4f735466cecf"  # the standard's name for the identity of an element
PROGRAMS = ("chromium", "chromedriver")


def missing():
    """What the tests lack; None: nothing."""
    lacking = [name for name in PROGRAMS if not shutil.which(name)]
    return f"no {' and no '.join(lacking)} (Debian: chromium, chromium-driver)" if lacking else None


class Browser:
    def __init__(self, folder, size=(1200, 900)):
        self.port = ports.free_port()
        self.log = open(f"{folder}/chromedriver.log", "w", encoding="utf-8")
        self.driver = subprocess.Popen(["chromedriver", f"--port={self.port}"], stdout=self.log,
                                       stderr=self.log)
        options = {"binary": shutil.which("chromium"),
                   "args": ["--headless=new", "--no-sandbox", "--disable-gpu", "--no-first-run",
                            f"--user-data-dir={folder}/profile", "--disable-dev-shm-usage",
                            f"--window-size={size[0]},{size[1]}"]}
        wanted = {"browserName": "chrome", "goog:chromeOptions": options,
                  "goog:loggingPrefs": {"browser": "ALL"}}
        self.session = ""
        try:
            self._wait_for_driver()
            made = self._ask("POST", "/session", {"capabilities": {"alwaysMatch": wanted}})
        except BaseException:
            self.close()
            raise
        self.session = f"/session/{made['sessionId']}"

    def _wait_for_driver(self):
        until = time.monotonic() + 60
        while True:
            try:
                if self._ask("GET", "/status")["ready"]:
                    return
            except OSError:
                pass
            if self.driver.poll() is not None or time.monotonic() > until:
                raise RuntimeError("chromedriver does not start")
            time.sleep(0.1)

    def _ask(self, method, path, body=None):
        connection = http.client.HTTPConnection("localhost", self.port, timeout=120)
        try:
            connection.request(method, path, None if body is None else json.dumps(body),
                               {"Content-Type": "application/json"})
            value = json.loads(connection.getresponse().read())["value"]
        finally:
            connection.close()
        if isinstance(value, dict) and "error" in value:
            raise RuntimeError(f"{path}: {value['error']}: {value['message']}")
        return value

    def ask(self, method, path, body=None):
        return self._ask(method, self.session + path, body)

    def open(self, url):
        self.ask("POST", "/url", {"url": url})

    def run(self, script, *arguments):
        """The value that a function with this body returns."""
        return self.ask("POST", "/execute/sync", {"script": script, "args": arguments})

    def wait(self, script, *arguments, seconds=120):
        """Waits until the function returns something that is true, and returns it."""
        until = time.monotonic() + seconds
        while time.monotonic() < until:
            value = self.run(script, *arguments)
            if value:
                return value
            time.sleep(0.1)
        raise RuntimeError(f"in vain: {script}")

    def find(self, selector):
        found = self.ask("POST", "/element", {"using": "css selector", "value": selector})
        return found[ELEMENT]

    def click(self, selector):
        self.ask("POST", f"/element/{self.find(selector)}/click", {})

    def type(self, selector, text):
        self.ask("POST", f"/element/{self.find(selector)}/value", {"text": text})

    def press(self, *keys):
        """Presses keys, one after the other, wherever the focus is."""
        actions = [{"type": kind, "value": key} for key in keys for kind in ("keyDown", "keyUp")]
        self.ask("POST", "/actions", {"actions": [{"type": "key", "id": "keys",
                                                   "actions": actions}]})

    def accept(self):
        """Says yes to a question of the page."""
        self.ask("POST", "/alert/accept", {})

    def prefer(self, scheme):
        """Prefers "light" or "dark"."""
        self.ask("POST", "/goog/cdp/execute", {
            "cmd": "Emulation.setEmulatedMedia",
            "params": {"features": [{"name": "prefers-color-scheme", "value": scheme}]}})

    def picture(self, path, height=None):
        """A picture of the page from its top, as a PNG file."""
        parameters = {"format": "png", "captureBeyondViewport": True}
        if height:
            width = self.run("return document.documentElement.clientWidth")
            parameters["clip"] = {"x": 0, "y": 0, "width": width, "height": height, "scale": 1}
        shot = self.ask("POST", "/goog/cdp/execute",
                        {"cmd": "Page.captureScreenshot", "params": parameters})
        with open(path, "wb") as file:
            file.write(base64.b64decode(shot["data"]))

    def complaints(self):
        """What the page and the browser have complained about since the last call."""
        return [entry["message"] for entry in self.ask("POST", "/se/log", {"type": "browser"})
                if entry["level"] in ("SEVERE", "WARNING")]

    def close(self):
        try:
            if self.session:
                self.ask("DELETE", "")
        finally:
            self.driver.terminate()
            self.driver.wait()
            self.log.close()

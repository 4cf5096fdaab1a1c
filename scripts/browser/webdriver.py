"""A browser driven over WebDriver, by chromedriver, with the standard library alone."""
import base64
import json
import os
import re
import shutil
import subprocess
import tempfile
import time
import urllib.request

ELEMENT = "element-6066-11e4-a52e-4f735466cecf"
ARGUMENTS = [
    "--headless=new", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking",
    "--disable-component-update", "--disable-sync", "--disable-dev-shm-usage", "--hide-scrollbars",
]


class Browser:
    """Chromium with one window; `with` closes it."""

    def __enter__(self):
        self.profile = tempfile.mkdtemp()
        self.driver = subprocess.Popen(["chromedriver", "--port=0"], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
        port = None
        for line in self.driver.stdout:
            if found := re.search(r"started successfully on port (\d+)", line):
                port = found.group(1)
                break
        if port is None:
            raise SystemExit("chromedriver did not start")
        self.address = f"http://127.0.0.1:{port}"
        arguments = ARGUMENTS + [f"--user-data-dir={self.profile}"] + (["--no-sandbox"] if os.geteuid() == 0 else [])
        options = {"args": arguments, "perfLoggingPrefs": {"enableNetwork": True}}
        wanted = {"goog:chromeOptions": options, "goog:loggingPrefs": {"browser": "ALL", "performance": "ALL"}}
        self.path = ""
        self.path = "/session/" + self.post("/session", {"capabilities": {"alwaysMatch": wanted}})["sessionId"]
        return self

    def __exit__(self, *_):
        try:
            self.call("DELETE", "")
        finally:
            self.driver.terminate()
            self.driver.wait()
            shutil.rmtree(self.profile, ignore_errors=True)

    def call(self, method, path, body=None):
        data = json.dumps(body).encode() if body is not None else None
        request = urllib.request.Request(self.address + self.path + path, data, {"Content-Type": "application/json"}, method=method)
        # Nothing goes through a proxy: the driver is on this machine.
        opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
        try:
            with opener.open(request, timeout=120) as answer:
                return json.load(answer)["value"]
        except urllib.error.HTTPError as error:
            raise AssertionError(f"{method} {path}: {json.load(error)['value']['message'][:300]}") from error

    def post(self, path, body):
        return self.call("POST", path, body)

    def open(self, url):
        self.post("/url", {"url": url})

    def script(self, text, *arguments):
        """The value of JavaScript: an expression, or a body with `return`."""
        body = text if "return" in text else f"return ({text});"
        return self.post("/execute/sync", {"script": body, "args": list(arguments)})

    def wait(self, text, *arguments, seconds=20):
        """Waits until JavaScript is true; returns its value."""
        end = time.monotonic() + seconds
        while not (value := self.script(text, *arguments)):
            if time.monotonic() > end:
                raise AssertionError(f"never true: {text} {arguments}")
            time.sleep(0.01)
        return value

    def find(self, selector):
        return self.post("/element", {"using": "css selector", "value": selector})[ELEMENT]

    def click(self, selector):
        self.post(f"/element/{self.find(selector)}/click", {})

    def keys(self, selector, text):
        self.post(f"/element/{self.find(selector)}/value", {"text": text})

    def back(self):
        self.post("/back", {})

    def log(self, kind):
        return self.post("/se/log", {"type": kind})

    def devtools(self, command, **parameters):
        return self.post("/goog/cdp/execute", {"cmd": command, "params": parameters})

    def size(self, width, height, dark=False, scale=1):
        self.devtools("Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=scale, mobile=False)
        self.devtools("Emulation.setEmulatedMedia", features=[
            {"name": "prefers-color-scheme", "value": "dark" if dark else "light"},
            {"name": "prefers-reduced-motion", "value": "reduce"},
        ])

    def screenshot(self, path):
        with open(path, "wb") as file:
            file.write(base64.b64decode(self.call("GET", "/screenshot")))

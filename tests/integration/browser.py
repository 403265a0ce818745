"""A real browser (Chromium, Debian's chromium and chromium-driver) over WebDriver, with no library between.

    with Browser(folder) as b:
        b.go("http://127.0.0.1:6820/ui/")
        b.fill("#token", "...")
        b.press("Sign in")
        b.wait("h1", "Queue")"""

import base64
import http.client
import json
import os
import shutil
import subprocess
from pathlib import Path

from conftest import ROOT, SLOW, free_ports, wait_until

ELEMENT = "element-6066-11e4-a52e-4f735466cecf"
# Buttons, links and fields by what a person reads on them, of those that are seen.
BY_NAME = """
const [what, name, inside] = arguments;
const seen = e => e.getClientRects().length > 0;
const text = e => (e.getAttribute("aria-label") || e.textContent).trim().replace(/\\s+/g, " ");
const fields = () => [...document.querySelectorAll(inside + " label")].filter(l => text(l) === name).map(l => l.control).filter(Boolean);
const all = what === "field" ? fields() : [...document.querySelectorAll(`${inside} button, ${inside} a`)].filter(e => text(e) === name);
return all.filter(seen).at(-1) ?? null;
"""


def missing():
    """Why there is no browser here; None: there is one.  Asks tools/bootstrap to install it."""
    if shutil.which("chromium") and shutil.which("chromedriver"):
        return None
    done = subprocess.run([ROOT / "tools" / "bootstrap", "web"], capture_output=True, text=True, timeout=600)
    if shutil.which("chromium") and shutil.which("chromedriver"):
        return None
    return f"Debian's chromium and chromium-driver cannot be had: {(done.stdout + done.stderr).strip()[-300:]}"


class Refused(Exception):
    """What the driver says that it cannot do."""


class Browser:
    def __init__(self, folder, dark=False):
        self.folder, self.dark = Path(folder), dark
        self.port = free_ports(1)[0]
        self.process = self.session = None

    def __enter__(self):
        home = self.folder / "browser"
        home.mkdir(exist_ok=True)
        env = {**os.environ, "HOME": str(home), "TMPDIR": str(home), "TZ": "UTC"}
        with open(home / "driver.log", "ab") as log:
            self.process = subprocess.Popen(["chromedriver", f"--port={self.port}"], env=env, stdin=subprocess.DEVNULL, stdout=log,
                                            stderr=log, start_new_session=True)
        try:
            wait_until(self.ready, "chromedriver is ready", 30)
            # Tests run as root, where Chromium's own sandbox cannot be; containers have a small /dev/shm.
            options = {"args": ["--headless=new", "--no-sandbox", "--disable-dev-shm-usage", "--disable-gpu", "--window-size=1280,860", "--no-first-run",
                                "--disable-background-networking", *(["--force-dark-mode"] if self.dark else [])]}
            self.session = self.ask("POST", "/session", {"capabilities": {"alwaysMatch": {
                "browserName": "chrome", "goog:chromeOptions": options, "goog:loggingPrefs": {"browser": "ALL", "performance": "ALL"}}}})["sessionId"]
        except BaseException:
            self.__exit__()
            raise
        return self

    def __exit__(self, *_):
        try:
            if self.session:
                self.ask("DELETE", f"/session/{self.session}")
        finally:
            self.process.terminate()
            self.process.wait(20)

    def ready(self):
        assert self.process.poll() is None, (self.folder / "browser" / "driver.log").read_text()
        try:
            return self.ask("GET", "/status")["ready"]
        except OSError:
            return False

    def ask(self, method, path, body=None):
        conn = http.client.HTTPConnection("127.0.0.1", self.port, timeout=60 * SLOW)
        try:
            conn.request(method, path, body=None if body is None else json.dumps(body), headers={"Content-Type": "application/json"})
            answer = conn.getresponse()
            value = json.loads(answer.read())["value"]
        finally:
            conn.close()
        if answer.status != 200:
            raise Refused(f"{value['error']}: {value['message'][:500]}")
        return value

    def do(self, method, path, body=None):
        return self.ask(method, f"/session/{self.session}{path}", body)

    # ---- looking ----

    def go(self, url):
        self.do("POST", "/url", {"url": url})

    def run(self, script, *args):
        """The value of a script's `return`."""
        return self.do("POST", "/execute/sync", {"script": script, "args": list(args)})

    def text(self, css="body"):
        """What is read there; "" when it is not there."""
        return self.run("return document.querySelector(arguments[0])?.innerText ?? ''", css)

    def texts(self, css):
        return self.run("return [...document.querySelectorAll(arguments[0])].filter(e => e.getClientRects().length)"
                        ".map(e => e.innerText)", css)

    def until(self, script, what, *args, timeout=15):
        """The value of the script once it is true."""
        def look():
            try:
                return self.run(script, *args)
            except Refused as e:
                if "javascript error" in str(e):
                    return None
                raise
        try:
            return wait_until(look, what, timeout)
        except BaseException:
            print(self.text()[:3000], self.log())
            raise

    def wait(self, css, words="", timeout=15):
        """Until an element that is seen says these words, blanks and lines aside; gives all it says."""
        return self.until("return [...document.querySelectorAll(arguments[0])].filter(e => e.getClientRects().length)"
                          ".map(e => e.innerText.replace(/\\s+/g, ' ')).find(t => t.includes(arguments[1]))",
                          f"{css} says {words!r}", css, words, timeout=timeout)

    def gone(self, css):
        self.until("return !document.querySelector(arguments[0])", f"no {css}", css)

    def log(self):
        """Complaints of the page since the last call: errors of scripts, breaches of the policy."""
        return [e["message"] for e in self.do("POST", "/se/log", {"type": "browser"}) if e["level"] in ("SEVERE", "WARNING")]

    def requests(self):
        """Addresses that were asked for since the last call."""
        entries = [json.loads(e["message"])["message"] for e in self.do("POST", "/se/log", {"type": "performance"})]
        return [e["params"]["request"]["url"] for e in entries if e["method"] == "Network.requestWillBeSent"]

    def broken_off(self):
        """How many answers the page itself has broken off since the last call."""
        entries = [json.loads(e["message"])["message"] for e in self.do("POST", "/se/log", {"type": "performance"})]
        return sum(e["method"] == "Network.loadingFailed" and bool(e["params"].get("canceled")) for e in entries)

    def size(self, width, height):
        self.do("POST", "/goog/cdp/execute", {"cmd": "Emulation.setDeviceMetricsOverride", "params": {
            "width": width, "height": height, "deviceScaleFactor": 1, "mobile": False}})

    def shot(self, path):
        Path(path).write_bytes(base64.b64decode(self.do("GET", "/screenshot")))

    # ---- acting, as a person does ----

    def named(self, what, name, inside="body"):
        return self.until("return (function() {" + BY_NAME + "}).apply(null, arguments)", f"there is a {what} {name!r}",
                          what, name, inside)[ELEMENT]

    def press(self, name, inside="body"):
        """A button or a link, by its words."""
        def click():
            try:
                self.do("POST", f"/element/{self.named('button', name, inside)}/click", {})
            except Refused as e:
                if "stale element" in str(e):  # it was made anew in between
                    return False
                raise
            return True
        wait_until(click, f"{name!r} is pressed")

    def type(self, element, text):
        self.do("POST", f"/element/{element}/value", {"text": text})

    def fill(self, name, text, inside="body"):
        """A field, by its label; what stood there goes."""
        element = self.named("field", name, inside)
        self.do("POST", f"/element/{element}/clear", {})
        self.type(element, text)

    def choose(self, name, value, inside="body"):
        """A row of a list, by the list's label and the row's words."""
        element = self.named("field", name, inside)
        done = self.run("const [list, text] = arguments; const o = [...list.options].find(o => o.text === text); if (!o) return false;"
                        "list.value = o.value; list.dispatchEvent(new Event('change', {bubbles: true})); list.dispatchEvent(new Event('input', {bubbles: true})); return true",
                        {ELEMENT: element}, value)
        assert done, f"{name} has no {value!r}"

    def keys(self, text):
        """Keys to what has the focus."""
        actions = [a for k in text for a in ({"type": "keyDown", "value": k}, {"type": "keyUp", "value": k})]
        self.do("POST", "/actions", {"actions": [{"type": "key", "id": "keys", "actions": actions}]})



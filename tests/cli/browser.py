"""A headless Chromium driven over its debugging pipe. Standard library only."""
import base64
import json
import os
import shutil
import subprocess
import tempfile
import time


def find_chromium():
    for name in ["chromium", "chromium-browser", "google-chrome", "chrome"]:
        if path := shutil.which(name):
            return path
    return None


class Browser:
    """One page. Errors that it logs or throws, and addresses it asks for, are collected."""

    def __init__(self, executable):
        self.errors, self.requests = [], []
        self._folder = tempfile.TemporaryDirectory(ignore_cleanup_errors=True)
        to_browser, self._write = os.pipe()
        self._read, from_browser = os.pipe()

        def place():  # the browser reads commands from 3 and answers on 4
            high = [os.dup(to_browser), os.dup(from_browser)]
            os.dup2(high[0], 3)
            os.dup2(high[1], 4)

        self._process = subprocess.Popen(
            [executable, "--headless=new", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--no-first-run",
             "--disable-background-networking", "--remote-debugging-pipe", f"--user-data-dir={self._folder.name}", "about:blank"],
            stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, close_fds=False,
            preexec_fn=place, pass_fds=[])
        os.close(to_browser)
        os.close(from_browser)
        self._buffer, self._id, self._session = b"", 0, None
        target = self.command("Target.createTarget", url="about:blank")["targetId"]
        self._session = self.command("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        for domain in ["Page", "Runtime", "Log", "Network"]:
            self.command(f"{domain}.enable")

    def close(self):
        self._process.kill()
        self._process.wait()
        os.close(self._write)
        os.close(self._read)
        self._folder.cleanup()

    def command(self, method, **parameters):
        self._id += 1
        message = {"id": self._id, "method": method, "params": parameters}
        if self._session:
            message["sessionId"] = self._session
        os.write(self._write, json.dumps(message).encode() + b"\0")
        while True:
            answer = self._message()
            if answer.get("id") == self._id:
                if "error" in answer:
                    raise RuntimeError(f"{method}: {answer['error']}")
                return answer["result"]
            self._note(answer)

    def _message(self):
        while b"\0" not in self._buffer:
            data = os.read(self._read, 1 << 16)
            if not data:
                raise RuntimeError("The browser ended.")
            self._buffer += data
        text, self._buffer = self._buffer.split(b"\0", 1)
        return json.loads(text)

    def _note(self, event):
        parameters = event.get("params", {})
        match event.get("method"):
            case "Runtime.exceptionThrown":
                details = parameters["exceptionDetails"]
                self.errors.append(details.get("exception", {}).get("description", details["text"]))
            case "Runtime.consoleAPICalled" if parameters["type"] in ["error", "warning", "assert"]:
                self.errors.append(" ".join(str(a.get("value", a.get("description"))) for a in parameters["args"]))
            case "Log.entryAdded" if parameters["entry"]["level"] in ["error", "warning"]:
                self.errors.append(parameters["entry"]["text"])
            case "Network.requestWillBeSent":
                self.requests.append(parameters["request"]["url"])

    def size(self, width, height):
        self.command("Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=1, mobile=width < 600)

    def open(self, path):
        self.command("Page.navigate", url=f"file://{path}")
        self.wait("document.readyState === 'complete'")

    def wait(self, condition):
        deadline = time.monotonic() + 60
        while not self.evaluate(condition):
            if time.monotonic() > deadline:
                raise RuntimeError(f"It does not come true: {condition}")
            time.sleep(0.02)

    def evaluate(self, expression):
        result = self.command("Runtime.evaluate", expression=expression, returnByValue=True, awaitPromise=True)
        if "exceptionDetails" in result:
            raise RuntimeError(f"{expression}: {result['exceptionDetails']}")
        return result["result"].get("value")

    def click(self, selector):
        """A press of the mouse in the middle of an element."""
        at = self.evaluate(f"(() => {{ const e = document.querySelector({json.dumps(selector)}); e.scrollIntoView({{block: 'nearest', inline: 'center'}});"
                           "const r = e.getBoundingClientRect(); return [r.x + r.width / 2, r.y + r.height / 2]; })()")
        self.press(*at)

    def press(self, x, y):
        for kind in ["mousePressed", "mouseReleased"]:
            self.command("Input.dispatchMouseEvent", type=kind, x=x, y=y, button="left", clickCount=1)

    def screenshot(self, path, whole=False):
        data = self.command("Page.captureScreenshot", format="png", captureBeyondViewport=whole)["data"]
        path.write_bytes(base64.b64decode(data))

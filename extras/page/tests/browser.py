"""A headless Chromium for tests, driven through chromedriver's WebDriver protocol."""
import base64, json, os, re, subprocess, tempfile, time, urllib.error, urllib.request

KEYS = {"Tab": "\ue004", "Escape": "\ue00c", "PageUp": "\ue00e", "PageDown": "\ue00f", "End": "\ue010",
        "Home": "\ue011", "ArrowLeft": "\ue012", "ArrowUp": "\ue013", "ArrowRight": "\ue014",
        "ArrowDown": "\ue015"}


class Browser:
    """`with Browser() as browser:` starts one and ends it."""

    def __enter__(self):
        self.folder = tempfile.TemporaryDirectory()
        self.driver = subprocess.Popen(["chromedriver", "--port=0"], stdout=subprocess.PIPE,
                                       stderr=subprocess.DEVNULL, text=True)
        port = None
        while not port:
            line = self.driver.stdout.readline()
            assert line, "chromedriver does not start"
            port = re.search(r"started successfully on port (\d+)", line)
        self.address = f"http://127.0.0.1:{port[1]}/session"
        options = {"args": ["--headless=new", "--no-sandbox", "--disable-gpu", "--hide-scrollbars",
                            f"--user-data-dir={self.folder.name}"]}
        wanted = {"browserName": "chrome", "goog:chromeOptions": options,
                  "goog:loggingPrefs": {"browser": "ALL"}}
        session = self.ask("", {"capabilities": {"alwaysMatch": wanted}})
        self.address += "/" + session["sessionId"]
        return self

    def __exit__(self, *_):
        try:
            self.ask("", method="DELETE")
        finally:
            self.driver.terminate()
            self.driver.wait()
            for _ in range(50):  # the browser's last writes
                try:
                    self.folder.cleanup()
                    break
                except OSError:
                    time.sleep(0.1)

    def ask(self, path, body=None, method=None):
        data = None if body is None else json.dumps(body).encode()
        request = urllib.request.Request(self.address + path, data, {"Content-Type": "application/json"},
                                         method=method or ("GET" if body is None else "POST"))
        try:
            with urllib.request.urlopen(request, timeout=300) as answer:
                return json.load(answer)["value"]
        except urllib.error.HTTPError as error:
            raise AssertionError(json.load(error)["value"]["message"]) from None

    def devtools(self, command, **parameters):
        return self.ask("/goog/cdp/execute", {"cmd": command, "params": parameters})

    def show(self, path, width=800, height=900, theme="light"):
        """Opens a file in a window of this size, in the light or dark theme."""
        self.devtools("Emulation.setDeviceMetricsOverride", width=width, height=height,
                      deviceScaleFactor=1, mobile=False)
        self.devtools("Emulation.setEmulatedMedia",
                      features=[{"name": "prefers-color-scheme", "value": theme}])
        self.ask("/url", {"url": "file://" + os.path.abspath(path)})

    def run(self, script, *arguments):
        """Runs the body of a function in the page, and returns what it returns."""
        return self.ask("/execute/sync", {"script": script, "args": list(arguments)})

    def wait(self, script, *arguments, seconds=300):
        """Waits until the function returns something true, and returns that. A page that is just
        being loaded may lack what the function looks for."""
        end, trouble = time.monotonic() + seconds, ""
        while time.monotonic() < end:
            try:
                found = self.run(script, *arguments)
                if found:
                    return found
            except AssertionError as error:
                trouble = error
            time.sleep(0.05)
        raise AssertionError(f"this does not come true: {script} {trouble}")

    def press(self, *keys):
        """Presses keys, one after another, where the focus is."""
        actions = [{"type": kind, "value": KEYS.get(key, key)}
                   for key in keys for kind in ("keyDown", "keyUp")]
        self.ask("/actions", {"actions": [{"type": "key", "id": "keys", "actions": actions}]})

    def point(self, x, y):
        """Moves the pointer to a place in the window."""
        move = {"type": "pointerMove", "duration": 0, "x": round(x), "y": round(y)}
        self.ask("/actions", {"actions": [{"type": "pointer", "id": "mouse", "actions": [move]}]})

    def messages(self):
        """What the page has written to the console since the last call."""
        return [entry["message"] for entry in self.ask("/se/log", {"type": "browser"})]

    def photograph(self, path):
        """Writes a picture of the whole page."""
        width, height = self.run("return [innerWidth, document.documentElement.scrollHeight]")
        clip = {"x": 0, "y": 0, "width": width, "height": height, "scale": 1}
        shot = self.devtools("Page.captureScreenshot", captureBeyondViewport=True, clip=clip)
        with open(path, "wb") as file:
            file.write(base64.b64decode(shot["data"]))

"""A headless Chromium for tests, driven through selenium."""
import base64, os

from selenium import webdriver
from selenium.common.exceptions import JavascriptException, TimeoutException
from selenium.webdriver.support.ui import WebDriverWait

RELOADING = (JavascriptException,)  # exceptions while a page reloads: it may lack what is asked for
HANGING = float(os.environ.get("TRIL_HANGING", "300"))  # seconds, after which a test has failed

# What reaches out of the window or of a box that hides the rest, unless it is within `arguments[0]`, which scrolls; what is
# too small for a finger; letters that are small, or too similar to their ground; labels of charts that lie upon each other.
FAULTS = """
const faults = [], edge = innerWidth + 1;
const say = (what, e) => faults.push(`${what}: ${e.closest("[id]")?.id}: ${e.outerHTML.slice(0, 70)}`);
if (document.documentElement.scrollWidth > innerWidth) say("wider than the window", document.body);
const painter = Object.assign(document.createElement("canvas"), { width: 1, height: 1 }).getContext("2d", { willReadFrequently: true });
const light = color => {
  painter.fillStyle = color;
  painter.fillRect(0, 0, 1, 1);
  const [r, g, b] = [...painter.getImageData(0, 0, 1, 1).data].map(x => x / 255).map(x => x <= 0.04045 ? x / 12.92 : ((x + 0.055) / 1.055) ** 2.4);
  return 0.2126 * r + 0.7152 * g + 0.0722 * b;
};
const ground = e => { for (; e; e = e.parentElement) { const color = getComputedStyle(e).backgroundColor; if (!/, 0\\)$|transparent/.test(color)) return color; } };
for (const e of document.querySelectorAll("body *")) {
  const box = e.getBoundingClientRect(), style = getComputedStyle(e);
  if (box.width === 0 || !e.checkVisibility({ visibilityProperty: true }) || e.closest(".unseen, script")) continue;
  const scrolls = arguments[0] && e.closest(arguments[0]);
  if (!scrolls && (box.left < -1 || box.right > edge)) say("cut off", e);
  if (!scrolls && style.overflowX === "hidden" && e.scrollWidth > e.clientWidth) say("hides a part", e);
  if (e.matches("button, input, summary, a, select, textarea") && !e.matches("p a, summary ~ *") &&
      Math.min(box.width, box.height) < 23.9) say("a small target", e);
  if (![...e.childNodes].some(node => node.nodeType === 3 && node.data.trim())) continue;
  if (parseFloat(style.fontSize) < 13) say("small letters", e);
  const [a, b] = [light(e.matches("text") ? style.fill : style.color), light(ground(e))].sort((a, b) => b - a);
  if (!e.closest(":disabled") && (a + 0.05) / (b + 0.05) < 4.5) say("pale letters", e);
}
for (const chart of document.querySelectorAll(".chart svg")) {
  const boxes = [...chart.querySelectorAll("text")].map(text => [text, text.getBoundingClientRect()]);
  boxes.forEach(([text, p], i) => boxes.slice(i + 1).forEach(([, q]) => {
    if (p.width > 0 && p.left < q.right - 1 && q.left < p.right - 1 && p.top < q.bottom - 4 && q.top < p.bottom - 4) say("upon another", text);
  }));
}
return faults;
"""


class Browser:
    """`with Browser() as browser:` starts one and ends it; then no page may have written to its console. Downloads
    go to the folder."""

    def __init__(self, folder="."):
        options = webdriver.ChromeOptions()
        for word in ("--headless=new", "--no-sandbox", "--disable-gpu", "--hide-scrollbars"):
            options.add_argument(word)
        options.binary_location = "/usr/bin/chromium"
        options.set_capability("goog:loggingPrefs", {"browser": "ALL"})
        options.add_experimental_option("prefs", {"download.default_directory": folder})
        self.driver = webdriver.Chrome(options=options, service=webdriver.ChromeService("/usr/bin/chromedriver"))
        self.driver.set_script_timeout(HANGING)

    def __enter__(self):
        return self

    def __exit__(self, kind, *_):
        try:
            said = [] if kind else [entry["message"] for entry in self.driver.get_log("browser")]
        finally:
            self.driver.quit()
        assert not said, said

    def cdp(self, command, **values):
        return self.driver.execute_cdp_cmd(command, values)

    def show(self, path, width=800, height=900, theme="light"):
        """Opens a file in a window of this size, in the light or dark theme."""
        self.cdp("Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=1, mobile=False)
        self.choose(theme)
        self.driver.get("file://" + os.path.abspath(path))

    def choose(self, theme):
        self.cdp("Emulation.setEmulatedMedia", features=[{"name": "prefers-color-scheme", "value": theme}])

    def js(self, code, *values):
        """Runs the body of a function in the page, and returns what it returns."""
        return self.driver.execute_script(code, *values)

    def wait(self, ready, what, loading=()):
        """Waits until ready() is true. Exceptions of the classes `loading` only mean that it is not true yet."""
        try:
            WebDriverWait(self.driver, HANGING, 0.1, loading).until(lambda _: ready())
        except TimeoutException as late:
            raise AssertionError(what) from late

    def faults(self, scrolls=""):
        """Lists what is wrong with the look of the page, except sideways in `scrolls`, a selector of what scrolls."""
        return self.js(FAULTS, scrolls)

    def press(self, *keys):
        """Presses keys, one after another, where the focus is."""
        webdriver.ActionChains(self.driver).send_keys(*keys).perform()

    def point(self, x, y):
        """Moves the pointer to a place in the window."""
        self.cdp("Input.dispatchMouseEvent", type="mouseMoved", x=x, y=y)

    def photograph(self, name):
        """Writes a picture of the whole page to the folder TRIL_PICTURES, if that is set."""
        if "TRIL_PICTURES" not in os.environ:
            return
        width, height = self.js("return [innerWidth, document.documentElement.scrollHeight]")
        clip = {"x": 0, "y": 0, "width": width, "height": height, "scale": 1}
        shot = self.cdp("Page.captureScreenshot", captureBeyondViewport=True, clip=clip)
        with open(os.path.join(os.environ["TRIL_PICTURES"], f"{name}.png"), "wb") as file:
            file.write(base64.b64decode(shot["data"]))

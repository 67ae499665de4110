"""A headless Chromium for tests, driven through selenium."""
import base64, os

from selenium import webdriver
from selenium.common.exceptions import JavascriptException, TimeoutException
from selenium.webdriver.support.ui import WebDriverWait

RELOADING = (JavascriptException,)  # exceptions while a page reloads: it may lack what is asked for
HANGING = float(os.environ.get("TRIL_HANGING", "300"))  # seconds, after which a test has failed


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

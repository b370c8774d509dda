"""What the tests of pages ask of headless Chromium.

Each page is opened narrow and wide, light and dark: nothing is wider than the window, text has contrast, what takes the
focus has a name in the accessibility tree, and the keys reach all of it in the order of the page."""

import base64
import json
import os
import shutil
import subprocess
import tempfile
from pathlib import Path

browser = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")


def chromium(*arguments):
    with tempfile.TemporaryDirectory() as profile:
        return subprocess.run([browser, "--headless", "--no-sandbox", "--disable-gpu", f"--user-data-dir={profile}",
                               "--enable-logging=stderr", "--virtual-time-budget=4000", "--window-size=1300,2600", *arguments],
                              capture_output=True, text=True, timeout=120)


def read(path):
    """The page's document after its script, and what the script complained about."""
    run = chromium("--dump-dom", f"file://{path}")
    errors = [line for line in run.stderr.splitlines() if "CONSOLE" in line]
    assert not errors, (path, errors)
    return run.stdout


class Browser:
    """Chromium, spoken to through a pipe as its developer tools do."""

    def __init__(self):
        self.profile = tempfile.TemporaryDirectory(ignore_cleanup_errors=True)
        asks, self.asks = os.pipe()
        self.answers, answers = os.pipe()
        command = [browser, "--headless", "--no-sandbox", "--disable-gpu", f"--user-data-dir={self.profile.name}",
                   "--remote-debugging-pipe", "about:blank"]
        # It reads at 3 and writes at 4.
        script = f'exec 3<&{asks} 4>&{answers} && exec "$@"'
        self.process = subprocess.Popen(["bash", "-c", script, "bash", *command], pass_fds=(asks, answers),
                                        stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        os.close(asks)
        os.close(answers)
        self.id, self.buffer, self.session, self.errors = 0, b"", None, []
        target = next(each for each in self.ask("Target.getTargets")["targetInfos"] if each["type"] == "page")
        self.session = self.ask("Target.attachToTarget", targetId=target["targetId"], flatten=True)["sessionId"]
        for domain in ("Page", "Runtime", "Accessibility", "Log"):
            self.ask(domain + ".enable")

    def receive(self):
        while b"\0" not in self.buffer:
            data = os.read(self.answers, 1 << 20)
            assert data, "the browser ended"
            self.buffer += data
        message, _, self.buffer = self.buffer.partition(b"\0")
        message = json.loads(message)
        if message.get("method") in ("Runtime.exceptionThrown", "Log.entryAdded"):
            self.errors.append(message["params"])
        return message

    def ask(self, method, **params):
        self.id += 1
        message = {"id": self.id, "method": method, "params": params}
        if self.session:
            message["sessionId"] = self.session
        os.write(self.asks, json.dumps(message).encode() + b"\0")
        while True:
            answer = self.receive()
            if answer.get("id") == self.id:
                assert "error" not in answer, (method, answer)
                return answer["result"]

    def open(self, path, width, dark):
        self.ask("Emulation.setDeviceMetricsOverride", width=width, height=900, deviceScaleFactor=1, mobile=False)
        self.ask("Emulation.setEmulatedMedia", features=[{"name": "prefers-color-scheme", "value": "dark" if dark else "light"}])
        self.ask("Page.navigate", url=f"file://{path}")
        while self.receive().get("method") != "Page.loadEventFired":
            pass
        assert not self.errors, self.errors

    def run(self, script):
        answer = self.ask("Runtime.evaluate", expression=script, returnByValue=True)
        assert "exceptionDetails" not in answer, answer
        return answer["result"].get("value")

    def press(self, key, code=0):
        for kind in ("rawKeyDown", "keyUp"):
            self.ask("Input.dispatchKeyEvent", type=kind, key=key, code=key, windowsVirtualKeyCode=code)

    def shot(self, path):
        height = self.run("document.documentElement.scrollHeight")
        width = self.run("innerWidth")
        data = self.ask("Page.captureScreenshot", captureBeyondViewport=True,
                        clip={"x": 0, "y": 0, "width": width, "height": min(height, 8000), "scale": 1})["data"]
        Path(path).write_bytes(base64.b64decode(data))

    def end(self):
        self.session = None
        os.write(self.asks, b'{"id": 0, "method": "Browser.close"}\0')
        try:
            self.process.wait(10)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
        os.close(self.asks)
        os.close(self.answers)
        self.profile.cleanup()


# Texts whose contrast with what is under them is under 4.5, with the contrast.
FAINT = """(() => {
const parse = text => (text.match(/[\\d.]+/g) || []).map(Number);
const light = ([r, g, b]) => { const c = [r, g, b].map(x => (x /= 255) <= 0.03928 ? x / 12.92 : ((x + 0.055) / 1.055) ** 2.4); return 0.2126 * c[0] + 0.7152 * c[1] + 0.0722 * c[2]; };
const under = e => { for (; e; e = e.parentElement) { const c = parse(getComputedStyle(e).backgroundColor); if (c.length === 3 || c[3] > 0) return c; } return [255, 255, 255]; };
const faint = [];
const texts = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
while (texts.nextNode()) {
  const e = texts.currentNode.parentElement;
  if (!texts.currentNode.data.trim() || !e.getClientRects().length || ["SCRIPT", "OPTION"].includes(e.tagName)) continue;
  const a = light(parse(getComputedStyle(e).color)), b = light(under(e)), ratio = (Math.max(a, b) + .05) / (Math.min(a, b) + .05);
  if (ratio < 4.5) faint.push(texts.currentNode.data.trim().slice(0, 30) + " " + ratio.toFixed(2));
}
for (const drawing of document.querySelectorAll("#schedules img"))
  if (light(under(drawing)) < 0.5) faint.push("the black letters of " + drawing.alt);
return faint;
})()"""
FOCUSED = """(e => e === document.body ? "" : e.id || e.getAttribute("aria-label") || e.textContent.slice(0, 20))(document.activeElement)"""
REACHED = """[...document.querySelectorAll("a[href], button, input, select, [tabindex='0']")]
  .filter(e => e.getClientRects().length && !e.disabled).map(e => e.id || e.getAttribute("aria-label") || e.textContent.slice(0, 20))"""
TAB, ENTER, DOWN = ("Tab", 9), ("Enter", 13), ("ArrowDown", 40)


def check_tree(seen, path):
    """Names and levels that a screen reader is given."""
    named = {"button", "combobox", "spinbutton", "listbox", "link", "image", "img", "region", "table", "textbox", "option"}
    levels = []
    for node in seen.ask("Accessibility.getFullAXTree")["nodes"]:
        role = node.get("role", {}).get("value", "")
        if node.get("ignored"):
            continue
        if role in named:
            assert node.get("name", {}).get("value", "").strip(), (path, role, "has no name", node)
        if role == "heading":
            levels += [p["value"]["value"] for p in node["properties"] if p["name"] == "level"]
    assert levels[0] == 1 and levels.count(1) == 1, levels
    assert all(b <= a + 1 for a, b in zip(levels, levels[1:])), (path, "a level of headings is left out", levels)


def check_keys(seen, path):
    """Tab reaches all of the page in its order, and the skip link works."""
    wanted, reached = seen.run(REACHED), []
    for _ in wanted:
        seen.press(*TAB)
        reached.append(seen.run(FOCUSED))
    assert reached == wanted, (path, reached, wanted)
    seen.run("document.activeElement.blur(), document.querySelector('.skip').focus()")
    assert seen.run("document.querySelector('.skip').getBoundingClientRect().left") >= 0, "the skip link is not seen"
    seen.press(*ENTER)
    assert seen.run("location.hash") == seen.run("document.querySelector('.skip').hash")


def check_as_seen(pages, shots=None, more=lambda seen, path: None):
    """`more` looks at a page further, when it is open."""
    seen = Browser()
    try:
        for path in pages:
            for width in (360, 1300):
                for dark in (False, True):
                    seen.open(path, width, dark)
                    wide = seen.run("document.documentElement.scrollWidth")
                    assert wide <= width, f"{path} is {wide} wide in a window of {width}"
                    faint = seen.run(FAINT)
                    assert not faint, (path, "dark" if dark else "light", faint[:5])
                    if shots:
                        seen.shot(f"{shots}/{path.stem}-{width}-{'dark' if dark else 'light'}.png")
            check_tree(seen, path)
            check_keys(seen, path)
            more(seen, path)
    finally:
        seen.end()

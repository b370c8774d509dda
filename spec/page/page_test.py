#!/usr/bin/env python3
"""spec/page/page_test.py [CHECK_SHARDING [FOLDER]]: pages of --html in headless Chromium; screenshots go to FOLDER.

Each page is opened narrow and wide, light and dark: nothing is wider than the window, text has contrast, what takes the
focus has a name in the accessibility tree, and the keys reach all of it in the order of the page.

Exit 77 where the program or a browser is missing."""

import base64
import html
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

root = Path(__file__).resolve().parent.parent.parent
program = Path(sys.argv[1] if len(sys.argv) > 1 else root / ".build/release/check-sharding").resolve()
browser = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")

HOSTILE = """# </script><script>document.title = "owned"</script> <!-- <img src=x onerror=alert(1)> &amp; \\u003c
mesh t
dim B
trusted "</script><b id=owned>&" plan p(x: f32[B/t]) -> f32[B/t]
"""
# Steps through the first plan as a user of the keyboard does, changes a size, and writes what is seen into the title.
DRIVE = """<script>
const seen = [], by = id => document.getElementById(id);
by("next").focus(); by("next").click(); by("next").click();
seen.push(by("steps").selectedIndex, document.querySelectorAll("#source tr.now").length);
by("previous").click(); seen.push(by("steps").selectedIndex);
const before = by("tensor").textContent;
const size = document.querySelector("#sizes input"); size.value = String(2 * size.value); size.dispatchEvent(new Event("input"));
seen.push(before !== by("tensor").textContent);
by("theme").click(); seen.push(document.documentElement.className);
for (const option of by("plan").options) { by("plan").value = option.value; by("plan").dispatchEvent(new Event("change")); }
for (const e of document.querySelectorAll("input, select")) if (!e.labels.length && !e.ariaLabel) seen.push("no label: " + e.id);
const ids = [...document.querySelectorAll("[id]")].map(e => e.id); if (new Set(ids).size !== ids.length) seen.push("an id twice");
document.title = "seen " + seen.join(",");
</script>"""


def chromium(*arguments):
    with tempfile.TemporaryDirectory() as profile:
        return subprocess.run([browser, "--headless", "--no-sandbox", "--disable-gpu", f"--user-data-dir={profile}",
                               "--enable-logging=stderr", "--virtual-time-budget=4000", "--window-size=1300,2600", *arguments],
                              capture_output=True, text=True, timeout=120)


class Browser:
    """Chromium, spoken to through a pipe as its developer tools do."""

    def __init__(self):
        self.profile = tempfile.TemporaryDirectory()
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
    """Tab reaches all of the page in its order; the skip link and the arrows of the list of steps work."""
    wanted, reached = seen.run(REACHED), []
    for _ in wanted:
        seen.press(*TAB)
        reached.append(seen.run(FOCUSED))
    assert reached == wanted, (path, reached, wanted)
    seen.run("document.activeElement.blur(), document.querySelector('.skip').focus()")
    assert seen.run("document.querySelector('.skip').getBoundingClientRect().left") >= 0, "the skip link is not seen"
    seen.press(*ENTER)
    assert seen.run("location.hash") == "#verdicts"
    if seen.run("steps.options.length") > 1:
        before = seen.run("steps.focus(), tensor.textContent")
        seen.press(*DOWN)
        assert seen.run("steps.selectedIndex") == 1 and seen.run("tensor.textContent") != before


def check_as_seen(pages, shots):
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
            if not seen.run("document.querySelector('#verdicts table') !== null"):
                assert not seen.run("plan.getClientRects().length"), "a choice of no plans"
            check_tree(seen, path)
            check_keys(seen, path)
    finally:
        seen.end()


def page(folder, file, *options):
    out = Path(folder, Path(file).stem + ".html")
    subprocess.run([program, file, "--html", out, *options], stdout=subprocess.DEVNULL, check=False)
    return out


def read(path):
    """The page's document after its script, and what the script complained about."""
    run = chromium("--dump-dom", f"file://{path}")
    errors = [line for line in run.stderr.splitlines() if "CONSOLE" in line]
    assert not errors, (path, errors)
    return run.stdout


def driven(path):
    copy = path.with_suffix(".driven.html")
    copy.write_text(path.read_text().replace("</body>", DRIVE + "</body>"))
    title = re.search(r"<title>(.*?)</title>", read(copy))[1]
    return html.unescape(title)


def check_models(folder):
    llama = page(folder, root / "spec/models/llama3_tensor_parallel.shard", "--config", "tiny", "--mesh", "d=2,t=2")
    assert llama.stat().st_size <= 1_000_000, f"{llama.stat().st_size} bytes for Llama 3"
    text = read(llama)
    for each in ["proved", "attn_t", "all_reduce", "Which device holds which block", "d=0 t=1", "Live bytes over"]:
        assert each in text, each
    seen = driven(llama)
    assert seen == "seen 2,1,1,true,dark", seen
    print(f"llama3_tensor_parallel: {llama.stat().st_size} bytes")
    return llama


def check_findings(folder):
    wrong = page(folder, root / "spec/tests/soundness/group_beside_its_factor.shard")
    text = read(wrong)
    assert "E0401" in text and "Smallest counterexample" in text and "<mark>" in text
    # What each device holds, its sum, and the entry that is wrong, marked.
    sums = read(page(folder, root / "spec/tests/seeds/megatron_mlp_bad.shard"))
    row = '<tr><th scope="row">{}</th><td class="number">{}</td></tr>'
    for where, number in (("t=0", "-1"), ("t=1", "-1"), ("sum", "-2"), ("t=0", "-0.15866"),
                          ("sum", "<mark>-0.31731</mark>, not -0.0455"), ("wanted", "-0.0455")):
        assert row.format(where, number) in sums, (where, number)
    broken = Path(folder, "broken.shard")
    broken.write_text("fn f( {\n")
    assert "E00" in read(page(folder, broken))
    empty = page(folder, Path(folder, "none.shard"))
    assert "does not exist" in read(empty)
    return [wrong, Path(folder, "megatron_mlp_bad.html"), broken.with_suffix(".html"), empty]


def check_hostile_text(folder):
    file = Path(folder, "hostile.shard")
    file.write_text(HOSTILE)
    out = page(folder, file)
    text = read(out)
    assert "<title>owned" not in text and 'id="owned"' not in text and "<b id=owned>" not in text
    assert out.read_text().count("</script>") == 2, "the text of the file ends a script"
    assert "&lt;/script&gt;" in text, "the comment is shown"


def check_pipeline(folder):
    file = root / "spec/tests/pipelines"
    for each in sorted(file.glob("*.shard")):
        out = page(folder, each, "--mesh", "p=4", "--set", "A=8")
        if "stage 0" in out.read_text():
            text = read(out)
            assert "Schedule " in text and "data:image/svg+xml," in text
            return out
    raise AssertionError("no pipeline was drawn")


def main():
    if not program.exists() or not browser:
        print("check-sharding or Chromium is missing")
        sys.exit(77)
    shots = sys.argv[2] if len(sys.argv) > 2 else None
    with tempfile.TemporaryDirectory() as folder:
        pages = [check_models(folder), *check_findings(folder), check_pipeline(folder)]
        check_hostile_text(folder)
        check_as_seen(pages, shots)
    print("pages show what they should, without script errors")


if __name__ == "__main__":
    main()

#!/usr/bin/env python3
"""spec/page/page_test.py [CHECK_SHARDING [FOLDER]]: pages of --html in headless Chromium; screenshots go to FOLDER.

Exit 77 where the program or a browser is missing."""

import html
import re
import subprocess
import sys
import tempfile
from pathlib import Path

root = Path(__file__).resolve().parent.parent.parent
sys.path.insert(0, str(root / "spec/html"))
from browser import DOWN, browser, check_as_seen, chromium, read  # noqa: E402

program = Path(sys.argv[1] if len(sys.argv) > 1 else root / ".build/release/check-sharding").resolve()

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


def check_plan(seen, path):
    """The arrows go through the steps; without a plan there is no choice of one."""
    if not seen.run("document.querySelector('#verdicts table') !== null"):
        assert not seen.run("plan.getClientRects().length"), "a choice of no plans"
    elif seen.run("steps.options.length") > 1:
        before = seen.run("steps.focus(), tensor.textContent")
        seen.press(*DOWN)
        assert seen.run("steps.selectedIndex") == 1 and seen.run("tensor.textContent") != before, path


def page(folder, file, *options):
    out = Path(folder, Path(file).stem + ".html")
    subprocess.run([program, file, "--html", out, *options], stdout=subprocess.DEVNULL, check=False)
    return out


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
        check_as_seen(pages, shots, check_plan)
    print("pages show what they should, without script errors")


if __name__ == "__main__":
    main()

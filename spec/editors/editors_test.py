#!/usr/bin/env python3
"""spec/editors/editors_test.py [--full]: the two grammars against the parser's words and the repository's programs.

Each reserved word of spec/syntax/words.cpp has to be colored by both; in every program (in models, the library and
one test in eight without --full) reserved words outside of comments and strings have to be colored as such, a comment
has to be a comment to its end, and no color may run over the end of its line. The .vsix has to hold what its manifest
names. A grammar whose reader is missing (textmate-grammar-python, vim, nvim) is skipped, with exit 77 if nothing was read."""

import importlib.util
import json
import logging
import re
import shutil
import subprocess
import sys
import tempfile
import zipfile
from pathlib import Path

editors = Path(__file__).resolve().parent
root = editors.parent.parent
grammar = json.loads((editors / "vscode/syntaxes/shard.tmLanguage.json").read_text())
failures = []


def expect(holds, text):
    if not holds:
        failures.append(text)


def reserved():
    """The words that the parser reserves: every quoted word of words.cpp's arrays."""
    text = (root / "spec/syntax/words.cpp").read_text()
    words = [w for array in re.findall(r"constexpr std::array<.*?> \w+ = \{(.*?)\};", text, re.S)
             for w in re.findall(r'"(\w+)"', array)]
    expect(len(words) >= 40, f"words.cpp: only {len(words)} words were found")
    return words


def programs(full):
    files = subprocess.run(["git", "ls-files", "*.shard"], cwd=root, check=True, text=True,
                           stdout=subprocess.PIPE).stdout.split()
    tests = [f for f in files if f.startswith("spec/tests/")]
    return [f for f in files if f not in tests] + (tests if full else tests[::8])


def strip(line):
    """A line with its strings and its comment blanked, as the parser sees it."""
    out, quoted = [], False
    for c in line:
        if c == "#" and not quoted:
            break
        if c == '"':
            quoted = not quoted
            out.append(" ")
        else:
            out.append(" " if quoted else c)
    return "".join(out).ljust(len(line))


def words_of(text, names):
    """(line, column, word) of each reserved word, as a word of its own; a field after a dot is none."""
    for row, line in enumerate(text.split("\n")):
        if "expect E0008" in line:  # a reserved word where a name should be
            continue
        for found in re.finditer(r"(?<![\w.|])[A-Za-z_]\w*", strip(line)):
            if found[0] in names:
                yield row, found.start(), found[0]


def check_word_lists(names):
    """Both grammars know each reserved word, by name."""
    patterns = " ".join(re.findall(r'"(?:match|begin)": *"((?:[^"\\]|\\.)*)"', json.dumps(grammar)))
    colored = set(re.findall(r"[A-Za-z_][A-Za-z0-9_]*", patterns.replace("\\\\b", " ")))
    vim = set()
    for line in (editors / "vim/syntax/shard.vim").read_text().splitlines():
        if line.startswith("syntax keyword"):
            vim.update(line.split()[3:])
    for name in names:
        expect(name in colored, f"shard.tmLanguage.json: the parser's word {name} has no color")
        expect(name in vim, f"shard.vim: the parser's word {name} has no color")


def check_textmate(names, files):
    logging.disable(logging.CRITICAL)
    from textmate_grammar.parsers.base import LanguageParser
    parser = LanguageParser(grammar)
    for file in files:
        text = (root / file).read_text()
        colors = {}
        for (row, column), piece, scopes in parser.parse_string(text).flatten():
            for offset in range(len(piece)):
                colors[row, column + offset] = " ".join(scopes)
        for row, column, word in words_of(text, names):
            color = colors.get((row, column), "")
            expect(re.search(r"keyword|storage|constant", color), f"{file}:{row + 1}: {word} is {color or 'plain'}")
        for row, line in enumerate(text.split("\n")):
            comment = len(strip(line).rstrip()) if "#" in line else len(line)
            at = line.find("#", comment)
            if at >= 0 and '"' not in line[:at]:
                expect("comment" in colors.get((row, at), ""), f"{file}:{row + 1}: the comment is not one")
            if line and "#" not in line and not line.lstrip().startswith('"'):
                first = len(line) - len(line.lstrip())
                expect("string" not in colors.get((row, first), ""), f"{file}:{row + 1}: begins inside of a string")


def check_vim(program, names, files):
    """Vim or Neovim says the group of each reserved word; one run for all files."""
    with tempfile.TemporaryDirectory() as folder:
        asked = []
        for file in files:
            for row, column, word in words_of((root / file).read_text(), names):
                asked.append((file, row, column, word))
        script, last = [f"set runtimepath^={editors}/vim", "syntax on", "let g:out = []"], None
        for file, row, column, _ in asked:
            if file != last:
                script.append(f"edit {root / file}\nset filetype=shard")
                last = file
            script.append(f"call add(g:out, synIDattr(synID({row + 1}, {column + 1}, 1), 'name'))")
        script += [f"call writefile(g:out, '{folder}/out')", "qa!"]
        Path(folder, "ask.vim").write_text("\n".join(script) + "\n")
        subprocess.run([program, "-Nu", "NONE", "-i", "NONE", "-n", "-es", "-S", f"{folder}/ask.vim"], check=True,
                       timeout=300, stdin=subprocess.DEVNULL)
        groups = Path(folder, "out").read_text().splitlines()
    expect(len(groups) == len(asked), f"{program} answered {len(groups)} of {len(asked)} words")
    for (file, row, _, word), group in zip(asked, groups):
        expect(group.startswith("shard") and group not in ("shardComment", "shardPattern"),
               f"{file}:{row + 1}: {word} is {group or 'plain'} in {program}")


def check_extension():
    with tempfile.TemporaryDirectory() as folder:
        out = f"{folder}/shardproof.vsix"
        subprocess.run([sys.executable, editors / "pack", out], check=True, stdout=subprocess.DEVNULL)
        with zipfile.ZipFile(out) as file:
            names = set(file.namelist())
            package = json.loads(file.read("extension/package.json"))
            expect("extension.vsixmanifest" in names and "[Content_Types].xml" in names, "the .vsix has no manifest")
            for part in package["contributes"]["languages"]:
                expect("extension/" + part["configuration"][2:] in names, f"the .vsix lacks {part['configuration']}")
            for part in package["contributes"]["grammars"]:
                expect("extension/" + part["path"][2:] in names, f"the .vsix lacks {part['path']}")
                expect(part["scopeName"] == grammar["scopeName"], "the grammar's scope is not the package's")
    for part in package["contributes"]["languages"]:
        json.loads((editors / "vscode" / part["configuration"]).read_text())


def main():
    names, files, read = reserved(), programs("--full" in sys.argv), []
    check_word_lists(set(names))
    check_extension()
    if importlib.util.find_spec("textmate_grammar"):
        check_textmate(set(names), files)
        read.append("TextMate")
    if shutil.which("vim") and "+syntax" in subprocess.run(["vim", "--version"], text=True, stdout=subprocess.PIPE).stdout:
        check_vim("vim", set(names), files)
        read.append("Vim")
    if shutil.which("nvim"):
        check_vim("nvim", set(names), files)
        read.append("Neovim")
    for text in failures[:40]:
        print(text)
    if failures:
        sys.exit(f"{len(failures)} failures")
    print(f"{len(names)} words, {len(files)} programs, read by {' and '.join(read) or 'nothing'}")
    sys.exit(0 if read else 77)


if __name__ == "__main__":
    main()

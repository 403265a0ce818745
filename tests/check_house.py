#!/usr/bin/python3
"""What keeps the tree easy to enter: names that can be told apart, headers and tests beside sources, folders and
functions that can be overlooked.

usage: tests/check_house.py [BUILD] [--shrink | --rewrite]     (house.py)"""

import re
from collections import defaultdict

from house import ROOT, SRC, hold, in_src, own_files
from tap import Tap

FOLDER_FILES, FUNCTION_LINES = 45, 100
FUNCTION = re.compile(r"^(?P<head>[a-z_][\w \t*]*?[ *](?P<name>\w+)\([^;{}]*?\))\s*\n\{\n(?P<body>.*?)^\}", re.M | re.S)
STATIC = re.compile(r"^static [^;={}()]*?[ *](\w+)\(", re.M)
COMMENT = re.compile(r"/\*.*?\*/", re.S)
MAIN = re.compile(r"^int main\(", re.M)


def without_comments(text):
    return COMMENT.sub(lambda m: "\n" * m.group().count("\n"), text)


def functions(text):
    """(name, line of its first line, lines of its body)"""
    for m in FUNCTION.finditer(text):
        yield m["name"], text.count("\n", 0, m.start()) + 1, m["body"].count("\n")


def one_word(sources):
    """`file name` -> sentence, for static functions whose name is one word."""
    found = {}
    for path, text in sources.items():
        if path.suffix == ".c":
            for name in STATIC.findall(text):
                if "_" not in name and name != "main":
                    found[f"{in_src(path)} {name}"] = f"src/{in_src(path)}: {name}() says too little in a stack trace: give it a verb and an object"
    return found


def long_functions(sources):
    return {f"{in_src(path)} {name}": f"src/{in_src(path)}:{line}: {name}() has {lines} lines, more than {FUNCTION_LINES}"
            for path, text in sources.items() for name, line, lines in functions(text) if lines > FUNCTION_LINES}


def same_names(paths):
    by_name = defaultdict(list)
    for path in paths:
        by_name[path.name].append(in_src(path))
    return {name: f"{name} is the name of {len(places)} files: {', '.join(places)}"
            for name, places in by_name.items() if len(places) > 1}


# One header of a folder declares what programs of others call: the interface of a library.
PUBLIC = {"lib": SRC / "lib" / "libpenstock.h"}


def header_of(path, sources):
    """FILE.h; for a source of a library that defines what it exports, the library's."""
    public, own = PUBLIC.get(path.parent.name), path.with_suffix(".h")
    if own in sources or public not in sources:
        return own
    declared = set(re.findall(r"(\w+)\(", sources[public]))
    return public if declared & {name for name, _, _ in functions(sources[path])} else own


def without_header(sources):
    """Sources that neither have a header of their own nor are a program."""
    return {in_src(path): f"src/{in_src(path)} has no header of its own" for path, text in sources.items()
            if path.suffix == ".c" and header_of(path, sources) not in sources and not MAIN.search(text)}


def without_test(sources, tests):
    """Modules, a source each, that no unit test is named after and whose header none includes."""
    text = "\n".join(path.read_text(errors="replace") for path in tests)
    included = set(re.findall(r'#\s*include "([^"]+\.[ch])"', text))
    named = {path.stem for path in tests}
    return {in_src(path): f"src/{in_src(path)} has no unit test" for path, source in sources.items()
            if path.suffix == ".c" and not MAIN.search(source) and f"test_{path.stem}" not in named
            and in_src(path) not in included and in_src(header_of(path, sources)) not in included}


def full_folders(files):
    count = defaultdict(int)
    for path in files:
        parts = path.relative_to(ROOT).parts
        if parts[0] in ("src", "tests") and not {"golden", "corpus"} & set(parts):
            count["/".join(parts[:-1])] += 1
    return {folder: f"{folder} has {n} files, more than {FOLDER_FILES}" for folder, n in count.items() if n > FOLDER_FILES}


def without_readme(paths):
    folders = {path.parent for path in paths}
    return {in_src(folder): f"src/{in_src(folder)} has no README.md" for folder in folders if not (folder / "README.md").exists()}


def off_the_map():
    """Folders of src that docs/architecture.md does not link: a reader begins there."""
    page = (ROOT / "docs" / "architecture.md").read_text()
    return [f"docs/architecture.md does not link ../src/{d.name}/README.md: say in its table what the folder is for"
            for d in sorted(SRC.iterdir()) if d.is_dir() and f"(../src/{d.name}/README.md)" not in page]


def main():
    tap = Tap()
    files = own_files()
    paths = [p for p in files if p.suffix in (".c", ".h") and SRC in p.parents]
    sources = {p: without_comments(p.read_text(errors="replace")) for p in paths}
    tests = [p for p in files if p.suffix in (".c", ".h") and ROOT / "tests" / "unit" in p.parents]
    modules = sum(p.suffix == ".c" for p in paths)
    hold(tap, "names of source files are unique", "same-names", same_names(paths),
         "a stack trace and a grep name the file alone: name it after its folder's subject")
    hold(tap, "static functions have two words", "one-word", one_word(sources), "rename them: put_row(), take_place()")
    hold(tap, f"no function has more than {FUNCTION_LINES} lines", "long-functions", long_functions(sources), "split it")
    hold(tap, f"each of {modules} sources has a header", "no-header", without_header(sources),
         "declare what others call in FILE.h beside FILE.c; what nobody calls is static")
    hold(tap, f"each of {modules} sources has a unit test", "no-test", without_test(sources, tests),
         "write tests/unit/FOLDER/test_FILE.c, or include its header in the test of its subject, and add a row to build.txt")
    hold(tap, f"no folder has more than {FOLDER_FILES} files", "full-folders", full_folders(files),
         "give its subjects folders of their own")
    hold(tap, "every folder of src has a README.md", "no-readme", without_readme(paths),
         "say in at most 60 lines what lives there, where to start reading, what must not happen there")
    long = [f"{p.relative_to(ROOT)}: {n} lines, more than 60" for p in files if p.name == "README.md" and SRC in p.parents
            and (n := len(p.read_text().splitlines())) > 60]
    tap.check("no README.md of src has more than 60 lines", long)
    tap.check("every folder of src is on the map", off_the_map())
    tap.end()


if __name__ == "__main__":
    main()

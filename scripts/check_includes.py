#!/usr/bin/env python3
"""The rooms of src/: no cycle between them, and every folder, those inside a room too, has a README that says what
comes in, what goes out and what it may include ("May include: ..."), and includes no more than that.
Where that does not hold, prints the includes that are to blame.

    scripts/check_includes.py [arrows]      arrows: prints which folder includes which
"""
import collections
import pathlib
import re
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent / "src"
INCLUDE = re.compile(r'^\s*#\s*include\s+"([^"]+)"')
SAYS = ("Comes in: ", "Goes out: ", "May include: ")


def folder(path):
    """Where a file of src/ lies: core, fit/subspace; files of src/ itself, which may include everything, in src."""
    return path.relative_to(ROOT).parent.as_posix().replace(".", "src")


def room(name):
    return name.split("/")[0]


def includes():
    """(folder, what it includes) -> the includes, as 'file:line: header'. Of another room its name, of the same one
    the folder."""
    found = collections.defaultdict(list)
    for path in sorted(ROOT.rglob("*")):
        if path.suffix not in (".c", ".h", ".cu", ".cuh"):
            continue
        start = folder(path)
        for number, line in enumerate(path.read_text().splitlines(), 1):
            match = INCLUDE.match(line)
            header = ROOT / match.group(1) if match else None
            if header is None or not header.is_file() or folder(header) == start:
                continue
            end = folder(header) if room(folder(header)) == room(start) else room(folder(header))
            found[start, end].append("%s:%d: %s" % (path.relative_to(ROOT.parent), number, match.group(1)))
    return found


def between_rooms(found):
    arrows = collections.defaultdict(list)
    for (start, end), places in found.items():
        if room(start) != room(end):
            arrows[room(start), end] += places
    return arrows


def cycle(found):
    """Rooms that include each other in a circle, [a, b, ..., a]; [] where there are none."""
    targets = collections.defaultdict(list)
    for start, end in found:
        targets[start].append(end)
    done = set()

    def walk(at, trail):
        if at in trail:
            return trail[trail.index(at):] + [at]
        if at in done:
            return []
        for end in targets[at]:
            circle = walk(end, trail + [at])
            if circle:
                return circle
        done.add(at)
        return []

    for start in sorted(targets):
        circle = walk(start, [])
        if circle:
            return circle
    return []


def allowed():
    """folder -> what its README lets it include, [] of folders whose README does not say."""
    names = {folder(path) for path in ROOT.rglob("*") if path.is_file()} - {"src"}
    rooms = {}
    for name in sorted(names):
        readme = ROOT / name / "README.md"
        text = readme.read_text() if readme.is_file() else ""
        match = re.search(r"^May include: (.*)\.$", text, re.M)
        rooms[name] = re.findall(r"[\w/]+", match.group(1)) if match and all(say in text for say in SAYS) else []
    return rooms


def main():
    found = includes()
    arrows, may = between_rooms(found), allowed()
    if "arrows" in sys.argv[1:]:
        for start in sorted({start for start, _ in arrows}):
            print("%-8s -> %s" % (start, " ".join(sorted(end for begin, end in arrows if begin == start))))
    silent = [name for name, rooms in may.items() if not rooms]
    for name in silent:
        print('src/%s/README.md does not say "%s..."' % (name, '...", "'.join(SAYS)))
    circle = cycle(arrows)
    for start, end in zip(circle, circle[1:]):
        print("%s includes %s:" % (start, end))
        for place in arrows[start, end]:
            print("    " + place)
    stray = {(start, end): places for (start, end), places in found.items()
             if start in may and end not in may[start] and not end.startswith(start + "/")}
    for (start, end), places in sorted(stray.items()):
        print("src/%s/README.md does not let it include %s:" % (start, end))
        print("".join("    %s\n" % place for place in places), end="")
    return 1 if circle or stray or silent else 0


if __name__ == "__main__":
    sys.exit(main())

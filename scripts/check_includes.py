#!/usr/bin/env python3
"""The rooms of src/: no cycle between them, and each includes only what its README allows ("May include: ...").
Where that does not hold, prints the includes that are to blame.

    scripts/check_includes.py [arrows]      arrows: prints which folder includes which
"""
import collections
import pathlib
import re
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent / "src"
INCLUDE = re.compile(r'^\s*#\s*include\s+"([^"]+)"')


def room(path):
    """The folder of src/ that a file belongs to; files of src/ itself may include every room."""
    parts = path.relative_to(ROOT).parts
    return parts[0] if len(parts) > 1 else "src"


def arrows():
    """(from, to) -> the includes, as 'file:line: header'."""
    found = collections.defaultdict(list)
    for path in sorted(ROOT.rglob("*")):
        if path.suffix not in (".c", ".h"):
            continue
        for number, line in enumerate(path.read_text().splitlines(), 1):
            match = INCLUDE.match(line)
            header = ROOT / match.group(1) if match else None
            if header is not None and header.is_file() and room(header) != room(path):
                found[room(path), room(header)].append("%s:%d: %s" % (path.relative_to(ROOT.parent), number, match.group(1)))
    return found


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


def allowed(name):
    """What the README of a room lets it include; files of src/ itself may include everything."""
    if name == "src":
        return None
    readme = ROOT / name / "README.md"
    match = re.search(r"^May include: (.*)\.$", readme.read_text(), re.M) if readme.is_file() else None
    return set(re.findall(r"\w+", match.group(1))) if match else set()


def main():
    found = arrows()
    if "arrows" in sys.argv[1:]:
        for start in sorted({start for start, _ in found}):
            print("%-8s -> %s" % (start, " ".join(sorted(end for begin, end in found if begin == start))))
    circle = cycle(found)
    for start, end in zip(circle, circle[1:]):
        print("%s includes %s:" % (start, end))
        for place in found[start, end]:
            print("    " + place)
    stray = {arrow: places for arrow, places in found.items()
             if allowed(arrow[0]) is not None and arrow[1] not in allowed(arrow[0])}
    for (start, end), places in sorted(stray.items()):
        print("src/%s/README.md does not let %s include %s:" % (start, start, end))
        print("".join("    %s\n" % place for place in places), end="")
    return 1 if circle or stray else 0


if __name__ == "__main__":
    sys.exit(main())

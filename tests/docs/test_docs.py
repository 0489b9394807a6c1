"""What the documents say against what the program does: options, files, the header's program.

RER_COMMAND names the program, RER_SOURCE the folder of the project."""
import os
import pathlib
import re
import shutil
import subprocess
import unittest

COMMAND = os.environ["RER_COMMAND"]
SOURCE = pathlib.Path(os.environ["RER_SOURCE"])
DOCUMENTS = sorted([*SOURCE.glob("*.md"), *(SOURCE / "docs").glob("*.md")])
OPTION = re.compile(r"(?<![\w-])--[a-z][a-z0-9-]*")
# Commands of other programs, in their own line or in a line of text: their options are not ours.
OTHERS = r"\b(?:cmake|ctest|pkg-config|python|pip)\b"
OTHER_COMMANDS = re.compile(rf"^ {{4}}.*{OTHERS}.*$|`[^`]*{OTHERS}[^`]*`", re.M)


RECONSTRUCTORS = ("centroid", "subspace", "autoencoder", "published")
DETECTORS = ("confident", "simifeat", "knn", "zeroshot")


def help_of(*words):
    return subprocess.run([COMMAND, *words, "--help"], stdout=subprocess.PIPE, text=True, check=True).stdout


def listed(command):
    """Options that the help of a command lists, with their defaults; those of one reconstructor or
    detector are listed where it is named."""
    pages = [help_of(command)]
    if command in ("analyze", "sweep"):
        pages += [help_of(command, "--reconstructor", name) for name in RECONSTRUCTORS]
    if command == "analyze":
        pages += [help_of(command, "--detector", name) for name in DETECTORS] + [help_of(command, "--device", "cuda")]
    return dict(re.findall(r"^  (--[a-z-]+).* \[(.*)\]$", "\n".join(pages), re.M))


def listed_anywhere():
    commands = re.findall(r"^  rer ([a-z]+) ", help_of(), re.M)
    return {name for command in commands for name in listed(command)}


def page():
    return (SOURCE / "docs" / "rer.1").read_text().replace("\\-", "-")


def entries():
    """Option -> its text, for each option that has an entry of its own in the man page."""
    return dict(re.findall(r"^\.TP\n\.BI? (--[a-z-]+)(?: .*)?\n((?:(?!\.TP|\.S[SH]).*\n)+)", page(), re.M))


DEMO = pathlib.Path("/usr/share/datasets/fashion-mnist")
NUMBER = re.compile(r"\d[\d,]*(?:\.\d+)?")


class Demo(unittest.TestCase):
    """README's demo against what the program prints now: the same words, numbers within rounding of other processors."""

    def setUp(self):
        done = subprocess.run([COMMAND, "analyze", DEMO / "train-images-idx3-ubyte.gz",
                               DEMO / "train-labels-idx1-ubyte.gz", "--class-names",
                               SOURCE / "examples" / "fashion-mnist-classes.txt"],
                              stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True, check=True)
        self.printed = [" ".join(line.split()) for line in done.stdout.splitlines()]
        shown = re.search(r"(?:^ {4}60,000 samples.*\n)(?:(?: {4}.*)?\n)+", (SOURCE / "README.md").read_text(), re.M)
        self.shown = [" ".join(line.split()) for line in shown.group(0).splitlines() if line.strip()]

    def words(self, line):
        return NUMBER.sub("#", line)

    def numbers(self, line):
        """(number, one of its last digit)"""
        return [(float(text.replace(",", "")), 10 ** -len(text.partition(".")[2])) for text in NUMBER.findall(line)]

    def near(self, shown, printed):
        (a, last), (b, _) = shown, printed
        return abs(a - b) <= max(.025 * max(a, b), 1.001 * last * (a > 20 or last < 1))

    def test_every_line_is_printed(self):
        self.assertGreater(len(self.shown), 8)
        for line in self.shown:
            alike = [other for other in self.printed if self.words(other) == self.words(line)]
            self.assertTrue(alike, line)
            near = [other for other in alike if all(map(self.near, self.numbers(line), self.numbers(other)))]
            self.assertTrue(near, f"README: {line}\nprinted: {alike}")


class Documents(unittest.TestCase):
    def test_man_page_has_an_entry_for_every_option_and_no_other(self):
        self.assertGreater(len(listed("analyze")), 10)
        self.assertEqual(set(entries()), listed_anywhere())

    def test_man_page_says_which_options_are_not_for_score(self):
        only = {name for name, text in entries().items() if re.search(r"only\n\.B analyze", text)}
        self.assertEqual(only, set(listed("analyze")) - set(listed("score")))

    def test_man_page_gives_the_defaults(self):
        for name, default in listed("analyze").items():
            self.assertRegex(entries()[name], r"\[" + re.escape(default) + r"[\]:]", name)

    def test_every_document_has_the_program_s_version(self):
        said = subprocess.run([COMMAND, "--version"], stdout=subprocess.PIPE, text=True, check=True).stdout
        version = re.search(r"\d+\.\d+\.\d+", said).group()
        self.assertIn(version, page().splitlines()[0])
        for name, pattern in (("CITATION.cff", r"^version: (.*)$"), ("CHANGELOG.md", r"^## \[(\d.*?)\]"),
                              ("debian/changelog", r"^rer \((.*?)-\d+\)")):
            self.assertEqual(re.search(pattern, (SOURCE / name).read_text(), re.M).group(1), version, name)

    def test_man_page_is_well_formed(self):
        self.assertIsNotNone(shutil.which("groff"), "groff is missing (package groff-base)")
        words = ["groff", "-man", "-Tutf8", "-ww", "-z", SOURCE / "docs" / "rer.1"]
        done = subprocess.run(words, capture_output=True, text=True, check=True)
        self.assertEqual(done.stderr, "")

    def test_documents_name_no_option_that_does_not_exist(self):
        exist = listed_anywhere() | {"--help", "--version"}
        for path in [*DOCUMENTS, SOURCE / "docs" / "rer.1"]:
            text = OTHER_COMMANDS.sub("", path.read_text().replace("\\-", "-"))
            self.assertEqual(set(OPTION.findall(text)) - exist, set(), path.name)

    def test_documents_name_no_command_that_does_not_exist(self):
        exist = set(re.findall(r"^  rer ([a-z]+) ", help_of(), re.M))
        for path in DOCUMENTS:
            for line in path.read_text().splitlines():
                for command in re.findall(r"(?:^ {4}|`)rer ([a-z]+)", line):
                    self.assertIn(command, exist, f"{path.name}: {line}")

    def test_links_and_folders_lead_somewhere(self):
        for path in DOCUMENTS:
            text = path.read_text()
            targets = re.findall(r"\]\(([^)#:]+)(?:#[^)]*)?\)", text)
            targets += [SOURCE / name for name in re.findall(r"`((?:src|cli|tests|docs|include|cmake|scripts|examples|bench)"
                                                             r"/[\w./-]*)`", text)]
            for target in targets:
                self.assertTrue((path.parent / target).exists(), f"{path.name}: {target}")

    def test_readme_shows_the_program_of_the_header(self):
        header = (SOURCE / "include" / "rer.h").read_text()
        program = re.search(r"( \*     #include <rer\.h>\n.*?)\n \*\n \* Letters", header, re.S).group(1)
        program = [line[3:].strip() for line in program.splitlines()]
        readme = [line.strip() for line in (SOURCE / "README.md").read_text().splitlines()]
        start = readme.index("#include <rer.h>")
        self.assertEqual(readme[start:start + len(program)], program)


if __name__ == "__main__":
    unittest.main()

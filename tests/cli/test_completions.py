"""What bash, zsh and fish offer for rer, against what --help lists."""
import os
import pty
import re
import select
import shutil
import subprocess
import unittest

from cli_case import COMMAND, CliCase

CHOSEN = [("--reconstructor", name) for name in ("centroid", "subspace", "autoencoder", "published")] + \
         [("--detector", name) for name in ("confident", "simifeat", "knn", "zeroshot")] + [("--device", "cuda")]
# One question in bash: the words up to the cursor, what its function leaves, and how it changes compopt.
ASK_BASH = r"""
source "$1"; shift
compopt() { echo "compopt $*"; }
COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1))
_rer
for reply in "${COMPREPLY[@]}"; do echo "$reply"; done
"""
START_ZSH = r"""
PS1='ready> '; PROMPT_EOL_MARK=
fpath=(%s $fpath); autoload -Uz compinit; compinit -u -d %s/.dump
show() { print -r -- "BUFFER=<$BUFFER>"; BUFFER=; zle redisplay }
zle -N show; bindkey '^X' show; bindkey '^I' complete-word
"""


class Completions(CliCase):
    def setUp(self):
        super().setUp()
        self.save("data.csv", "a,y\n")
        os.mkdir(self.path("data.d"))

    def script(self, shell, name):
        return self.save(name, self.rer("completions", shell).out)

    def help_options(self, command):
        """Option -> metavar, as --help lists them for every reconstructor and detector."""
        pages = [self.rer(command, "--help").out]
        for words in CHOSEN:
            done = subprocess.run([COMMAND, command, *words, "--help"], capture_output=True, text=True, check=False)
            pages.append(done.stdout)
        return dict(re.findall(r"^  (--[a-z-]+) ?(\S*)", "\n".join(pages), re.M))

    def commands(self):
        return re.findall(r"^  rer ([a-z]+) ", self.rer("--help").out, re.M)

    def check_table(self, ask):
        """ask(words) gives what is offered for the last of the words; all commands, options and words of options."""
        self.assertEqual(set(ask("")) - {"--help", "--version"}, set(self.commands()))
        for command in self.commands():
            options = self.help_options(command)
            self.assertEqual(set(ask(command, "--")), set(options), command)
            for name, metavar in options.items():
                words = [word for word in re.split(r"[|,]", metavar) if re.fullmatch("[a-z-]+", word)]
                if words:
                    self.assertLessEqual(set(words), set(ask(command, name, "")), f"{command} {name}")

    def bash(self, *words):
        done = subprocess.run(["bash", "-c", ASK_BASH, "bash", self.path("rer.bash"), "rer", *words],
                              capture_output=True, text=True, check=True, cwd=self.folder)
        self.assertEqual(done.stderr, "")
        return done.stdout.splitlines()

    def bash_words(self, *words):
        return [line for line in self.bash(*words) if not line.startswith("compopt")]

    def test_bash_knows_the_table(self):
        self.script("bash", "rer.bash")
        self.check_table(self.bash_words)

    def test_bash_installs_its_function(self):
        script = self.script("bash", "rer.bash")
        done = subprocess.run(["bash", "-c", 'source "$1"; complete -p rer', "bash", script], capture_output=True,
                              text=True, check=True)
        self.assertEqual(done.stdout, "complete -o default -F _rer rer\n")

    def test_bash_offers_what_fits_the_option(self):
        self.script("bash", "rer.bash")
        self.assertEqual(self.bash_words("analyze", "--detector", "s"), ["simifeat"])
        self.assertEqual(self.bash_words("analyze", "--detector", "=", "s"), ["simifeat"])
        self.assertEqual(self.bash_words("analyze", "--detector", "="), ["rer", "confident", "simifeat", "knn", "zeroshot"])
        self.assertEqual(self.bash("analyze", "--threads", ""), ["compopt +o default"])
        self.assertEqual(self.bash("analyze", "--out", ""), ["compopt +o default -o dirnames"])
        self.assertEqual(self.bash("analyze", "--ids", ""), ["compopt -o filenames"])  # and bash's own names of files
        self.assertEqual(set(self.bash_words("analyze", "--groups", "d")), {"duplicates", "data.csv", "data.d"})
        self.assertEqual(self.bash_words("completions", ""), ["bash", "zsh", "fish"])

    @unittest.skipUnless(shutil.which("fish"), "fish is not installed")
    def test_fish_knows_the_table(self):
        script = self.script("fish", "rer.fish")
        environment = {**os.environ, "HOME": self.folder, "XDG_CONFIG_HOME": self.folder, "XDG_DATA_HOME": self.folder}

        def ask(*words):
            line = " ".join(["rer", *words])
            done = subprocess.run(["fish", "--no-config", "-c", f"source {script}; complete -C '{line}'"],
                                  capture_output=True, text=True, check=True, cwd=self.folder, env=environment)
            return [line.split("\t")[0] for line in done.stdout.splitlines()]

        self.check_table(ask)
        self.assertEqual(ask("analyze", "--detector", "s"), ["simifeat"])
        self.assertEqual(ask("analyze", "--threads", ""), [])
        self.assertEqual(ask("analyze", "--out", "da"), ["data.d/"])
        self.assertEqual(ask("analyze", "--ids", "da"), ["data.csv", "data.d/"])

    @unittest.skipUnless(shutil.which("zsh"), "zsh is not installed")
    def test_zsh_completes(self):
        self.script("zsh", "_rer")
        process, terminal = pty.fork()
        if process == 0:
            os.chdir(self.folder)
            os.execlp("zsh", "zsh", "-f", "-i")
        self.addCleanup(os.close, terminal)

        def read_until(pattern):
            text = ""
            while not re.search(pattern, text):
                self.assertTrue(select.select([terminal], [], [], 600)[0], f"nothing comes after {text!r}")
                text += os.read(terminal, 4096).decode()
            return re.search(pattern, text)

        def complete(typed):
            os.write(terminal, f"{typed}\t\x18".encode())
            return read_until(r"BUFFER=<(.*?)>").group(1)

        os.write(terminal, (START_ZSH % (self.folder, self.folder) + "echo begun-$((1 + 1))\n").encode())
        read_until("begun-2")
        for typed, completed in (("rer analyz", "rer analyze "), ("rer analyze --dete", "rer analyze --detector="),
                                 ("rer analyze --detector simi", "rer analyze --detector simifeat "),
                                 ("rer analyze --detector=simi", "rer analyze --detector=simifeat "),
                                 ("rer analyze --out da", "rer analyze --out data.d/"),
                                 ("rer analyze --groups du", "rer analyze --groups duplicates "),
                                 ("rer analyze data.c", "rer analyze data.csv "),
                                 ("rer noise --ra", "rer noise --rate="),
                                 ("rer completions z", "rer completions zsh ")):
            self.assertEqual(complete(typed), completed)
        os.write(terminal, b"exit\n")
        self.assertEqual(os.waitpid(process, 0)[1], 0)

    def test_another_shell_is_named(self):
        self.assertIn("'tcsh'", self.rer("completions", "tcsh", code=2).err)


if __name__ == "__main__":
    unittest.main(verbosity=2)  # says what was left out

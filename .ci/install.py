"""Install kgsparql with extras into a virtual environment, saying what is being done: install.py VENV EXTRA[,EXTRA …].

pip's own output goes into a log, which is shown where pip fails. On a terminal one line tells how far it is; elsewhere
a line is written when there is something new.
"""

from __future__ import annotations

import re
import subprocess
import sys
import time
import venv
from pathlib import Path

ROOT = Path(__file__).parents[1]
BIG_MB = 40


def main() -> int:
    """Make the environment where there is none, and install into it; return pip's exit status."""
    environment, extras = Path(sys.argv[1]), sys.argv[2]
    python = environment / "bin" / "python"
    began = time.monotonic()
    if not python.exists():
        say(f"Creating the environment {environment} …")
        venv.create(environment, with_pip=True)
    say(f"Installing kgsparql[{extras}] there: once, about two minutes, 2 GB on disk …")
    log = environment / "install.log"
    status = install(python, extras, log)
    if status:
        say(log.read_text(encoding="utf-8", errors="replace"))
        say(f"error: pip ended with {status}; all that it said stands above and in {log}")
        return status
    say(f"Installed in {time.monotonic() - began:.0f} s.")
    return 0


def install(python: Path, extras: str, log: Path) -> int:
    """The exit status of ``pip install``, whose output goes into ``log``."""
    command = [
        str(python), "-m", "pip", "--disable-pip-version-check", "install", "--progress-bar", "off",
        "--no-warn-script-location", "-c", "constraints.txt", "-e", f".[{extras}]",
    ]  # fmt: skip
    with log.open("w", encoding="utf-8") as output:
        process = subprocess.Popen(command, cwd=ROOT, stdout=output, stderr=subprocess.STDOUT)
        progress = Progress(python, log)
        while process.poll() is None:
            time.sleep(0.5)
            progress.show()
    progress.end()
    return process.returncode


class Progress:
    """How far pip is, as its log and the environment show."""

    def __init__(self, python: Path, log: Path) -> None:
        self.packages = python.parents[1] / "lib"
        self.log = log
        self.before = self.in_place()
        self.line = ""
        self.told: set[str] = set()

    def in_place(self) -> int:
        """How many packages are installed."""
        return sum(1 for _ in self.packages.glob("python*/site-packages/*.dist-info"))

    def show(self) -> None:
        """Write how far it is now."""
        text = self.log.read_text(encoding="utf-8", errors="replace")
        for name, size, unit in re.findall(r"Downloading \S*?([\w.]+?)-\d\S* \(([\d.]+) ([MG])B\)", text):
            megabytes = float(size) * (1000 if unit == "G" else 1)
            if megabytes >= BIG_MB and name not in self.told:
                self.told.add(name)
                self.write(f"  downloading {name}, {megabytes:,.0f} MB", lasting=True)
        if started := re.search(r"Installing collected packages: (.*)", text):
            total = started[1].count(",") + 1
            done = min(self.in_place() - self.before, total)
            self.write(f"  {done} of {total} packages in place", lasting=done // 40 > self.shown() // 40)
        elif found := len(set(re.findall(r"^Collecting (\S+?)[\s\[<>=!~;(]", text, re.MULTILINE))):
            self.write(f"  {found} packages found", lasting=found // 40 > self.shown() // 40)

    def shown(self) -> int:
        """The number in the line that was written last."""
        number = re.match(r"\s*(\d+)", self.line)
        return int(number[1]) if number else 0

    def write(self, line: str, *, lasting: bool) -> None:
        """On a terminal in place of the line before, unless that is to last; elsewhere only what is to last."""
        if sys.stdout.isatty():
            sys.stdout.write(f"\r\x1b[K{line}" + "\n" * (line.startswith("  downloading")))
        elif lasting:
            sys.stdout.write(f"{line}\n")
        sys.stdout.flush()
        self.line = line

    def end(self) -> None:
        """Remove the line that was not to last."""
        if sys.stdout.isatty():
            sys.stdout.write("\r\x1b[K")


def say(line: str) -> None:
    """Write a line at once."""
    sys.stdout.write(f"{line}\n")
    sys.stdout.flush()


if __name__ == "__main__":
    raise SystemExit(main())

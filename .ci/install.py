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
from collections.abc import Iterator
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
    """Return the exit status of ``pip install``, whose output goes into ``log``."""
    # Python compiles what it imports when it does: pip would take as long again to compile the rest
    command = [
        str(python), "-m", "pip", "--disable-pip-version-check", "install", "--progress-bar", "off", "--no-compile",
        "--no-warn-script-location", "-c", "constraints.txt", "-e", f".[{extras}]",
    ]  # fmt: skip
    with log.open("w", encoding="utf-8") as output:
        process = subprocess.Popen(command, cwd=ROOT, stdout=output, stderr=subprocess.STDOUT)
        progress = Progress(python, log)
        while process.poll() is None:
            time.sleep(0.5)
            progress.show()
    progress.clear()
    return process.returncode


class Progress:
    """How far pip is, as its log and the environment show."""

    def __init__(self, python: Path, log: Path) -> None:
        self.packages = python.parents[1] / "lib"
        self.log = log
        self.before = self.in_place()
        self.big: set[str] = set()
        self.shown = ("", 0)

    def in_place(self) -> int:
        """How many packages are installed."""
        return sum(1 for _ in self.packages.glob("python*/site-packages/*.dist-info"))

    def show(self) -> None:
        """Write how far it is now, where that is something new."""
        text = self.log.read_text(encoding="utf-8", errors="replace")
        for name, megabytes in big_files(text):
            if name not in self.big:
                self.big.add(name)
                self.clear()
                say(f"  getting {name}, {megabytes:,.0f} MB")
        if started := re.search(r"Installing collected packages: (.*)", text):
            total = started[1].count(",") + 1
            self.count(f"  packages in place, of {total}: ", min(self.in_place() - self.before, total))
        else:
            self.count("  packages found: ", len(set(re.findall(r"^Collecting ([\w.-]+)", text, re.MULTILINE))))

    def count(self, what: str, number: int) -> None:
        """On a terminal a line in place of the one before; elsewhere a line for every 25."""
        before = self.shown[1] if self.shown[0] == what else 0
        if sys.stdout.isatty() and (what, number) != self.shown:
            self.clear()
            sys.stdout.write(f"{what}{number}")
            sys.stdout.flush()
        elif number // 25 > before // 25:
            say(f"{what}{number}")
        self.shown = (what, number)

    def clear(self) -> None:
        """Remove the line that counts."""
        if sys.stdout.isatty():
            sys.stdout.write("\r\x1b[K")


def big_files(log: str) -> Iterator[tuple[str, float]]:
    """Return the packages of at least :data:`BIG_MB`, with the size of each, from the network or from a folder."""
    for name, size, unit in re.findall(r"Downloading \S*?([\w.]+)-\d\S* \(([\d.]+) ([MG])B\)", log):
        megabytes = float(size) * (1000 if unit == "G" else 1)
        if megabytes >= BIG_MB:
            yield name, megabytes
    for path in map(Path, re.findall(r"^ *Processing (\S+\.whl)", log, re.MULTILINE)):
        if path.is_file() and (megabytes := path.stat().st_size / 1e6) >= BIG_MB:
            yield path.name.partition("-")[0], megabytes


def say(line: str) -> None:
    """Write a line at once."""
    sys.stdout.write(f"{line}\n")
    sys.stdout.flush()


if __name__ == "__main__":
    raise SystemExit(main())

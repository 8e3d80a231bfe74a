"""Another process that is writing to a store, as far as its lock tells."""

import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

_HOLD = """
import sys
from pathlib import Path
from kgsparql.storage.files import writer_lock

with writer_lock(Path(sys.argv[1])):
    print("held", flush=True)
    sys.stdin.read()
"""


@contextmanager
def lock_held(store: Path) -> Iterator[subprocess.Popen[bytes]]:
    """The process, which has the writer's lock of a store as long as the ``with`` lasts."""
    command = [sys.executable, "-c", _HOLD, str(store)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as holder:
        assert holder.stdout is not None
        assert holder.stdout.readline() == b"held\n"
        yield holder
        holder.communicate()

"""A lock for the one writer of a directory: a file beside it that names its owner and ends with the owner."""

from __future__ import annotations

import errno
import os
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from kgsparql.errors import StoreError, StoreLockedError


def lock_path(directory: Path) -> Path:
    """The lock file of a directory; beside it, because loading replaces the directory."""
    resolved = directory.resolve()  # the same lock for every path to the directory
    return resolved.with_name(resolved.name + ".lock")


@contextmanager
def writer_lock(directory: Path, *, wait_s: float = 0.0) -> Iterator[int]:
    """Hold the lock of a directory; yields its file descriptor, which a child process may inherit to share the lock.

    The operating system drops the lock when the last process that holds it ends, so that a leftover lock file never
    has to be deleted by hand.

    :param wait_s: how long to wait for another process that holds it.
    :raises StoreLockedError: if another process holds it longer; ``detail["pid"]`` is that process.
    :raises StoreError: if no lock can be made there.
    """
    path = lock_path(directory)
    deadline = time.monotonic() + wait_s
    while True:
        try:
            descriptor = _locked_descriptor(path, directory)
            break
        except StoreLockedError:
            if time.monotonic() >= deadline:
                raise
        time.sleep(0.1)
    try:
        yield descriptor
    finally:
        is_removed = _removed(path)  # while it is held: a process that waits for the old file will notice
        os.close(descriptor)
        if not is_removed:  # Windows removes no open file: here it is nobody's
            _removed(path)


def is_abandoned(directory: Path) -> bool:
    """Whether the writer of a directory was killed: it left its lock file, which nobody holds."""
    try:
        descriptor = os.open(lock_path(directory), os.O_RDWR)
    except (OSError, RuntimeError, ValueError):  # none; or a circle of links, or no path at all
        return False
    try:
        is_ours = os.read(descriptor, 33).strip().isdigit()  # no file of another program that is called so
        _lock(descriptor)
    except OSError:
        return False
    finally:
        os.close(descriptor)
    return is_ours


def _locked_descriptor(path: Path, directory: Path) -> int:
    while True:
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            descriptor = os.open(path, os.O_RDWR | os.O_CREAT, 0o644)
        except OSError as error:
            raise StoreError(
                f"{path}: cannot make the lock file: {error.strerror}", hint="choose a directory you may write to"
            ) from error
        try:
            _lock(descriptor)
        except OSError as error:
            os.lseek(descriptor, 0, os.SEEK_SET)
            pid = os.read(descriptor, 32).decode("ascii", "replace").strip()
            os.close(descriptor)
            if error.errno not in {errno.EACCES, errno.EAGAIN, errno.EDEADLK}:
                with suppress(OSError):  # nobody can hold it here
                    path.unlink()
                raise StoreError(f"{path}: cannot lock: {error}", hint="is this a file system with locks?") from error
            raise StoreLockedError(
                f"{directory}: process {pid or 'unknown'} is writing here",
                hint="wait for it to end, or stop it", path=str(directory), pid=int(pid) if pid.isdigit() else None,
            ) from error  # fmt: skip
        if _is_same_file(path, descriptor):
            os.ftruncate(descriptor, 0)
            with suppress(OSError):  # a full disk: the lock is held all the same
                os.write(descriptor, f"{os.getpid()}\n".encode())
            return descriptor
        os.close(descriptor)


def _removed(path: Path) -> bool:
    """Remove a lock file; ``False`` where the system refuses."""
    try:
        path.unlink()
    except PermissionError:
        return False
    except OSError:  # it is gone
        return True
    return True


def _is_same_file(path: Path, descriptor: int) -> bool:
    """Whether the path still names the locked file, which its last owner may have removed."""
    try:
        return os.path.samestat(path.stat(), os.fstat(descriptor))
    except FileNotFoundError:
        return False


if sys.platform == "win32":

    def _lock(descriptor: int) -> None:
        import msvcrt

        os.lseek(descriptor, 1 << 20, os.SEEK_SET)  # beyond the pid, which other processes read
        msvcrt.locking(descriptor, msvcrt.LK_NBLCK, 1)
        os.lseek(descriptor, 0, os.SEEK_SET)

else:

    def _lock(descriptor: int) -> None:
        import fcntl

        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)

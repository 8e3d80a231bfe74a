"""``python -m kgsparql`` and the ``kgsparql`` command."""


def main() -> None:
    """Run the command line."""
    import gc
    import os
    import signal
    import sys

    signal.signal(signal.SIGTERM, signal.default_int_handler)  # it ends a command as cleanly as Ctrl-C
    # A file that is opened would get the number of a closed stream, and then what is printed. To write to stdout fails.
    for number, way in enumerate((os.O_RDONLY, os.O_RDONLY, os.O_WRONLY)):
        try:
            os.fstat(number)
        except OSError:
            os.open(os.devnull, way)
    sys.stdout = sys.stdout or os.fdopen(1, "w", encoding="utf-8", newline="\n")
    sys.stderr = sys.stderr or os.fdopen(2, "w", encoding="utf-8", newline="\n")
    # To start the threads of NumPy's algebra costs more than they save: 40 ms, and 15 ms at a product of 1,500 vectors.
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    # Modules and solutions are many, and few are part of a circle: to look for circles takes 7 to 30 % of a question.
    gc.set_threshold(500_000, 20, 50)
    from kgsparql.cli import app

    try:
        app(prog_name="kgsparql")
    except OSError as error:  # of --help and --version: each command says its own
        if error.filename is not None:  # of a file, not of stdout
            raise
        os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
        sys.stderr.write(f"error: cannot write to stdout: {error.strerror} [E_INPUT]\n")
        sys.exit(2)
    finally:
        gc.freeze()  # at its end Python looks for circles among all objects: a tenth of a question


if __name__ == "__main__":
    main()

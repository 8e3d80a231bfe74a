"""``python -m kgsparql`` and the ``kgsparql`` command."""


def main() -> None:
    """Run the command line."""
    import gc
    import os
    import signal

    signal.signal(signal.SIGTERM, signal.default_int_handler)  # it ends a command as cleanly as Ctrl-C
    # To start the threads of NumPy's algebra costs more than they save: 40 ms, and 15 ms at a product of 1,500 vectors.
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    # Solutions are many, and none is part of a circle: looking for circles among them takes a third of a question.
    gc.set_threshold(50_000, 20, 50)
    from kgsparql.cli import app

    app()


if __name__ == "__main__":
    main()

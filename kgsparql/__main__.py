"""``python -m kgsparql`` and the ``kgsparql`` command."""


def main() -> None:
    """Run the command line."""
    from kgsparql.cli import app

    app()


if __name__ == "__main__":
    main()

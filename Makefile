# `make start` and `make test` are all the set-up there is: the first run makes a virtual environment and installs.
# Written for GNU make 3.81 and newer.

# Where the virtual environment is, and what may make it: the first of these that runs and is new enough.
VENV ?= .venv
PYTHON ?= python3.13 python3.12 python3.14 python3.11 python3

# Set on the command line only: programs other than this one set variables of these names in the environment.
# BROWSER is not set here: `none` prints the address, anything else is what Python's webbrowser takes it for.
WORKSPACE := workspace
PORT :=
IP := localhost
ARGS :=

IN_VENV := $(VENV)/bin/python -m
PIP_INSTALL := $(IN_VENV) pip install --quiet --disable-pip-version-check --compile --editable

.PHONY: help start test test-long lint print clean
.NOTPARALLEL:

help:
	@echo 'make start          lay your workspace and open JupyterLab on it'
	@echo '                    BROWSER=none prints the address; WORKSPACE=folder PORT=8888 IP=0.0.0.0'
	@echo 'make test           run the tests (ARGS="-k card" selects)'
	@echo 'make test-long      run the tests that take minutes too'
	@echo 'make lint           check style and types'
	@echo 'make print          print the students'"'"' notebooks from the books'
	@echo 'make clean          remove what was built, the .venv folder included; never a workspace'

start: $(VENV)/.notebook
	@$(IN_VENV) jaxguide start --workspace '$(WORKSPACE)' --ip '$(IP)' \
	    $(if $(PORT),--port '$(PORT)') $(if $(filter none,$(BROWSER)),--no-browser)

test: $(VENV)/.dev
	$(IN_VENV) pytest -q -m 'not long' -n auto --maxprocesses 4 --dist worksteal $(ARGS)

test-long: $(VENV)/.dev
	$(IN_VENV) pytest -q -n auto --maxprocesses 4 --dist worksteal $(ARGS)

lint: $(VENV)/.dev
	$(IN_VENV) ruff check
	$(IN_VENV) ruff format --check
	$(IN_VENV) mypy

print: $(VENV)/.notebook
	$(IN_VENV) jaxguide print

clean:
	rm -rf .venv build dist .mypy_cache .ruff_cache .pytest_cache .hypothesis
	find jaxguide tests benchmarks -name __pycache__ -type d -prune -exec rm -rf {} +

# A stamp is written last, so that what failed is tried again.
$(VENV)/.made:
	@for python in $(PYTHON); do \
	    "$$python" -c 'import sys, venv, ensurepip; sys.exit(sys.version_info < (3, 11))' 2>/dev/null || continue; \
	    echo "Making a virtual environment in $(VENV) with $$python"; \
	    "$$python" -m venv '$(VENV)' && touch '$@' && exit 0; \
	    exit 1; \
	done; \
	echo 'jaxguide needs Python 3.11 or newer with its venv module, and found none as: $(PYTHON).' \
	    'If you have one elsewhere, name it: make start PYTHON=/path/to/python3.12' >&2; \
	exit 1

$(VENV)/.notebook: pyproject.toml | $(VENV)/.made
	@echo 'Installing what the lessons need (once, some minutes)'
	@$(PIP_INSTALL) '.[notebook]'
	@$(IN_VENV) compileall -q jaxguide
	@touch '$@'

$(VENV)/.dev: pyproject.toml | $(VENV)/.made
	@echo 'Installing what the tests need (once, some minutes)'
	@$(PIP_INSTALL) '.[dev]'
	@$(IN_VENV) compileall -q jaxguide
	@touch '$@' '$(VENV)/.notebook'

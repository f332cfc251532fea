# `make start` and `make test` need no setup: the first run makes a virtual environment and installs everything.
# Written for GNU make 3.81 and newer.

# The folder of the virtual environment, and the Pythons to try: the first that runs and is new enough makes it.
VENV ?= .venv
PYTHON ?= python3.13 python3.12 python3.11 python3 python3.14
TESTED := 3.13 3.12 3.11

# Only the command line sets these, because other programs use environment variables of the same names.
# BROWSER may come from the environment: `none` prints the address, and Python's webbrowser reads any other value.
WORKSPACE := workspace
PORT :=
IP := localhost
ARGS :=

IN_VENV := $(VENV)/bin/python -m
# Show pip's progress in a terminal, but keep its hundreds of lines out of logs. Before 25.1, pip shows none while it
# installs, for a minute or two; so get a new one if there is one.
PIP_INSTALL = $(IN_VENV) pip install $$([ -t 1 ] || echo --quiet) --disable-pip-version-check --compile --editable
# Two processes fit into the memory of a student's machine; each collects all tests.
PYTEST := $(IN_VENV) pytest -q -n auto --maxprocesses 2 --dist worksteal
# If it is set for all programs, each test process would compile all modules again.
unexport PYTHONDONTWRITEBYTECODE

.PHONY: help start test test-all examples lint print clean
.NOTPARALLEL:

help:
	@echo 'make start          create your workspace and open JupyterLab in it'
	@echo '                    BROWSER=none prints the address; WORKSPACE=folder PORT=8888 IP=0.0.0.0'
	@echo 'make test           run the tests (ARGS="-k card" selects)'
	@echo 'make test-all       run all tests but those that take hours (ARGS="-m hours" runs these)'
	@echo 'make examples       compare the documented examples with the installed JAX'
	@echo 'make lint           check style and types'
	@echo 'make print          print the students'"'"' notebooks from the books'
	@echo 'make clean          delete what was built, including .venv, but never a workspace'

start: $(VENV)/.notebook
	@$(IN_VENV) jaxguide start --workspace '$(WORKSPACE)' --ip '$(IP)' \
	    $(if $(PORT),--port '$(PORT)') $(if $(filter none,$(BROWSER)),--no-browser)

test: $(VENV)/.dev
	$(PYTEST) -m 'not long and not hours' $(ARGS)

test-all: $(VENV)/.dev
	$(PYTEST) -m 'not hours' $(ARGS)

examples: $(VENV)/.dev
	$(VENV)/bin/python tools/documented_examples.py coverage
	$(VENV)/bin/python tools/documented_examples.py drift

lint: $(VENV)/.dev
	$(IN_VENV) ruff check
	$(IN_VENV) ruff format --check
	$(IN_VENV) mypy

print: $(VENV)/.notebook
	$(IN_VENV) jaxguide print

clean:
	rm -rf .venv build dist .mypy_cache .ruff_cache .pytest_cache .hypothesis
	find jaxguide tools tests benchmarks -name __pycache__ -type d -prune -exec rm -rf {} +

# Each step writes its stamp file last, so a step that failed runs again.
$(VENV)/.made:
	@for python in $(PYTHON); do \
	    "$$python" -c 'import sys, venv, ensurepip; sys.exit(sys.version_info < (3, 11))' 2>/dev/null || continue; \
	    version=$$("$$python" -c 'import sys; print("%d.%d" % sys.version_info[:2])'); \
	    echo "Creating a virtual environment in $(VENV) with $$python (Python $$version)"; \
	    case ' $(TESTED) ' in *" $$version "*) ;; \
	        *) echo "jaxguide is not tested with Python $$version, only with: $(TESTED)" ;; esac; \
	    "$$python" -m venv '$(VENV)' && touch '$@' && \
	        { $(IN_VENV) pip install --quiet --disable-pip-version-check --upgrade pip || true; } && exit 0; \
	    exit 1; \
	done; \
	echo 'jaxguide needs Python 3.11 or newer with the venv module, but found none. Tried: $(PYTHON).' \
	    'If you have one elsewhere, give its path: make start PYTHON=/path/to/python3.12' >&2; \
	exit 1

$(VENV)/.notebook: pyproject.toml | $(VENV)/.made
	@echo 'Installing what the lessons need: JAX, JupyterLab, 110 packages in all; 220 MB to download, 950 MB in $(VENV) (once; takes a few minutes)'
	@$(PIP_INSTALL) '.[notebook]'
	@$(IN_VENV) compileall -q jaxguide
	@touch '$@'

$(VENV)/.dev: pyproject.toml | $(VENV)/.made
	@echo 'Installing what the tests need: 160 packages in all, 1,400 MB in $(VENV) (once; takes a few minutes)'
	@$(PIP_INSTALL) '.[dev]'
	@$(IN_VENV) compileall -q jaxguide
	@touch '$@' '$(VENV)/.notebook'

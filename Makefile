# `make start` and `make test` are all the set-up there is: the first run makes a virtual environment and installs.
# Written for GNU make 3.81 and newer.

# Where the virtual environment is, and what may make it: the first of these that runs and is new enough.
VENV ?= .venv
PYTHON ?= python3.13 python3.12 python3.11 python3 python3.14
TESTED := 3.13 3.12 3.11

# Set on the command line only: programs other than this one set variables of these names in the environment.
# BROWSER is not set here: `none` prints the address, anything else is what Python's webbrowser takes it for.
WORKSPACE := workspace
PORT :=
IP := localhost
ARGS :=

IN_VENV := $(VENV)/bin/python -m
# A terminal sees pip's bar; a log gets no hundreds of lines.
PIP_INSTALL = $(IN_VENV) pip install $$([ -t 1 ] || echo --quiet) --disable-pip-version-check --compile --editable
# Two processes keep within a student's memory, and each collects all tests.
PYTEST := $(IN_VENV) pytest -q -n auto --maxprocesses 2 --dist worksteal
# Where somebody has set it for all programs, each process of the tests would compile all of them again.
unexport PYTHONDONTWRITEBYTECODE

.PHONY: help start test test-all lint print clean
.NOTPARALLEL:

help:
	@echo 'make start          lay your workspace and open JupyterLab on it'
	@echo '                    BROWSER=none prints the address; WORKSPACE=folder PORT=8888 IP=0.0.0.0'
	@echo 'make test           run the tests (ARGS="-k card" selects)'
	@echo 'make test-all       run all tests but those that take hours (ARGS="-m hours" runs these)'
	@echo 'make lint           check style and types'
	@echo 'make print          print the students'"'"' notebooks from the books'
	@echo 'make clean          remove what was built, the .venv folder included; never a workspace'

start: $(VENV)/.notebook
	@$(IN_VENV) jaxguide start --workspace '$(WORKSPACE)' --ip '$(IP)' \
	    $(if $(PORT),--port '$(PORT)') $(if $(filter none,$(BROWSER)),--no-browser)

test: $(VENV)/.dev
	$(PYTEST) -m 'not long and not hours' $(ARGS)

test-all: $(VENV)/.dev
	$(PYTEST) -m 'not hours' --prove=all $(ARGS)

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
	    version=$$("$$python" -c 'import sys; print("%d.%d" % sys.version_info[:2])'); \
	    echo "Making a virtual environment in $(VENV) with $$python, which is Python $$version"; \
	    case ' $(TESTED) ' in *" $$version "*) ;; \
	        *) echo "jaxguide is not tested with Python $$version, only with: $(TESTED)" ;; esac; \
	    "$$python" -m venv '$(VENV)' && touch '$@' && exit 0; \
	    exit 1; \
	done; \
	echo 'jaxguide needs Python 3.11 or newer with its venv module, and found none as: $(PYTHON).' \
	    'If you have one elsewhere, name it: make start PYTHON=/path/to/python3.12' >&2; \
	exit 1

$(VENV)/.notebook: pyproject.toml | $(VENV)/.made
	@echo 'Installing what the lessons need: JAX, JupyterLab, 110 packages in all, 950 MB in $(VENV) (once, some minutes)'
	@$(PIP_INSTALL) '.[notebook]'
	@$(IN_VENV) compileall -q jaxguide
	@touch '$@'

$(VENV)/.dev: pyproject.toml | $(VENV)/.made
	@echo 'Installing what the tests need: 160 packages in all, 1,350 MB in $(VENV) (once, some minutes)'
	@$(PIP_INSTALL) '.[dev]'
	@$(IN_VENV) compileall -q jaxguide
	@touch '$@' '$(VENV)/.notebook'

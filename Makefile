# The door to the repository: `make demo` and `make test` need Python 3.11 or newer and nothing else that is not fetched.
SHELL := /bin/bash
.SHELLFLAGS := -eu -o pipefail -c
.DEFAULT_GOAL := help
MAKEFLAGS += --no-print-directory

# The first Python that runs and is new enough; say `make PYTHON=...` for another one.
PYTHON ?= $(shell for p in python3 python3.13 python3.12 python3.11; do \
	$$p -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null && echo $$p && break; done)
VENV := .venv
BIN := $(VENV)/bin
PY := $(BIN)/python
STAMP := $(VENV)/.ready
export PATH := $(CURDIR)/$(BIN):$(PATH)
export PIP_DISABLE_PIP_VERSION_CHECK := 1

# Tests at once: one per core. More would make the timeouts of real clients fire on a busy machine.
JOBS ?= $(shell n=$$(getconf _NPROCESSORS_ONLN 2>/dev/null || echo 2); echo $$((n > 8 ? 8 : n)))
LISTEN ?= 127.0.0.1:9092
DATA_DIR ?= .cache/data
TESTS ?= tests
ARGS ?=
# How much of the simulator `make test` runs, most of it beside the tests that wait: tests/simulation/budget.py.
# SIM_POINTS=some: every fifteenth crash point. All of this is 14 minutes of one core.
SIM_SEEDS ?= 5000
SIM_WIRE_SEEDS ?= 500
SIM_POINTS ?= all
HOURS ?= 1
FROM ?= 1000000
SECONDS ?= 120
DOCS := benchmarks_doc coverage_doc decisions_doc files_doc formats_doc settings_doc spark_doc transactions_doc

.PHONY: help setup demo serve test check docs messages oracle oracle-spark rewrite conformance-franz-go conformance-kafka-python bench bench-scale bench-spark bench-trials sim-soak chaos mutants rollover late-endtxn spark-versions spark-wheel spark-matrix spark-soak lock clean

help: ## this list
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "make %-26s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

setup: $(STAMP) ## .venv from hash-pinned lock files; instant when nothing changed

$(STAMP): requirements/dev.lock pyproject.toml
	@test -n "$(PYTHON)" || { echo "make setup: wanted Python 3.11 or newer on the PATH, found none" >&2; exit 2; }
	@test -x $(PY) || "$(PYTHON)" -m venv $(VENV)
	@echo "make setup: installing what requirements/dev.lock pins" >&2
	@$(PY) -m pip install --quiet --require-hashes --requirement requirements/dev.lock
	@$(PY) -m pip install --quiet --no-deps --no-build-isolation --no-index --editable .
	@touch $@

demo: setup ## refunds on Spark, its driver killed with kill -9 three times, and the proof; KEEP=1 leaves it running
	@$(PY) -m examples.refunds_demo $(ARGS)

serve: setup ## a broker on LISTEN (127.0.0.1:9092) that keeps its data in DATA_DIR (.cache/data)
	@$(BIN)/oncelog serve --listen $(LISTEN) --data-dir $(DATA_DIR) $(ARGS)

test: check setup ## all checks and all tests; TESTS=path and ARGS="-k name" narrow it
	@$(PY) -m tests.prepare
	@ONCELOG_SIM_SEEDS=$(SIM_SEEDS) ONCELOG_SIM_WIRE_SEEDS=$(SIM_WIRE_SEEDS) ONCELOG_SIM_POINTS=$(SIM_POINTS) \
		$(PY) -m pytest --numprocesses $(JOBS) --dist loadgroup $(ARGS) $(TESTS)

check: setup ## format, lint, types, import contracts, generated files
	@$(BIN)/ruff format --check --quiet . || { echo "make check: run '.venv/bin/ruff format .'" >&2; exit 1; }
	@$(BIN)/ruff check --quiet .
	@said=$$($(BIN)/lint-imports --no-cache 2>&1) || { echo "$$said"; exit 1; }
	@$(PY) -m oncelog.protocol.generate --check
	@for each in $(DOCS); do $(PY) -m tools.$$each --check; done
	@$(BIN)/pyright

docs: setup ## regenerate what docs/ takes from the code: APIs, settings, formats, file map, decisions
	@for each in $(DOCS); do $(PY) -m tools.$$each; done

messages: setup ## regenerate src/oncelog/protocol/messages from its definitions
	@$(PY) -m oncelog.protocol.generate

oracle: setup ## fetch and start a real Apache Kafka and run the tests that compare oncelog with it
	@$(PY) -m tests.prepare
	@ORACLE=1 $(PY) -m pytest $(ARGS) tests/vectors tests/catalogue/test_peers.py tests/scenarios/test_stories.py tests/inspect tests/conformance

oracle-spark: setup ## the same for Spark, its pipelines and PostgreSQL (half an hour)
	@$(PY) -m tests.prepare
	@ORACLE=only $(PY) -m pytest $(ARGS) tests/spark tests/pipelines tests/postgres

rewrite: setup ## play the stories of tests/scenarios on Apache Kafka and write down what it says; then read the diff
	@$(PY) -m tests.scenarios.rewrite $(ARGS)

conformance-franz-go: setup ## franz-go's own tests against oncelog; the passes kept here may only grow
	@$(PY) -m tests.conformance.suites.franz_go $(ARGS)

conformance-kafka-python: setup ## kafka-python's own tests against oncelog
	@$(PY) -m tests.conformance.suites.kafka_python $(ARGS)

bench: setup ## measure beside a real Apache Kafka on this machine (about 50 minutes, nothing else running); results in bench/results and docs/benchmarks.md
	@$(PY) -m oncelog.cli.main bench eos --against kafka --seconds 1 --out bench/results $(ARGS)
	@$(PY) -m oncelog.cli.main bench eos --against kafka --seconds 0.8 --durability power --out bench/results $(ARGS)
	@$(PY) -m oncelog.cli.main bench eos --seconds 1 --only scaling --out bench/results $(ARGS)
	@$(PY) -m tools.benchmarks_doc

bench-scale: setup ## 1,000 connections, 10,000 partitions, a log of 1 GiB; results in bench/results
	@$(PY) -m bench.scale $(ARGS)

sim-soak: setup ## the simulator for HOURS=n (1), from seed FROM=n (1,000,000) on; stops at the first broken promise
	@$(PY) -m tests.simulation.soak --hours $(HOURS) --from $(FROM) --jobs $(JOBS)

chaos: setup ## real clients on a broker that is killed, stopped, and cut off, for SECONDS=n (120); then the history checker
	@$(PY) -m tests.simulation.chaos --seconds $(SECONDS) $(ARGS)

bench-spark: setup ## Spark source and sink beside Spark's own Kafka connector; results in bench/results, docs/spark.md and docs/benchmarks.md
	@$(PY) -m bench.spark $(ARGS)
	@$(PY) -m tools.spark_doc
	@$(PY) -m tools.benchmarks_doc

bench-trials: setup ## what decision 0028 tried and did not build, step by step (two minutes, nothing else running); results in bench/results
	@$(PY) -m bench.trials --out bench/results $(ARGS)

mutants: setup ## break the code in every kept way; each time a test must notice
	@$(PY) -m tests.mutants.mutant $(ARGS)

rollover: setup ## 200,000 transactions of one producer through several producer ids
	@$(PY) -m tests.conformance.rollover $(ARGS)

late-endtxn: setup ## KAFKA-17754 with real clients, 1,000 tries each on oncelog and on Apache Kafka
	@$(PY) -m tests.conformance.late_endtxn $(ARGS)

spark-versions: setup ## the tests with a real Spark once more on the older one that we support, 4.2
	@$(PY) -m tests.spark.versions $(ARGS)

spark-wheel: setup ## pip installs oncelog[spark] from a built wheel into an empty environment, which then reads and writes
	@$(PY) -m tests.spark.wheel

spark-matrix: setup ## kill driver, executor, task and broker at every point of the sink, on oncelog and on Apache Kafka (hours when busy)
	@$(PY) -m tests.spark.kill_matrix --out bench/results/spark_kills.json $(ARGS)

spark-soak: setup ## 500 random faults for the Spark sink, half on oncelog, half on Apache Kafka; ARGS="--target oncelog --seed 7" narrows it
	@$(PY) -m tests.spark.kill_matrix --soak 500 --out bench/results/spark_kills.json $(ARGS)

lock: ## pin requirements/*.in anew (needs uv)
	@command -v uv >/dev/null || { echo "make lock: wanted uv on the PATH, found none" >&2; exit 2; }
	@cd requirements && for each in core spark inspect dev; do \
		uv pip compile --quiet --upgrade --universal --python-version 3.11 --generate-hashes \
			--no-annotate --no-header --no-emit-index-url --no-emit-find-links $$each.in --output-file $$each.lock; \
	done

clean: ## remove what make made: .venv, caches, data
	@rm -rf $(VENV) .cache .hypothesis .import_linter_cache .pytest_cache .ruff_cache build dist
	@find . -name __pycache__ -type d -prune -exec rm -rf {} +

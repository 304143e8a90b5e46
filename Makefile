# Everything a newcomer types. `make demo` and `make test` need nothing done before.

SHELL := /bin/bash
.DEFAULT_GOAL := help

VENV := .venv
PYTHON := $(VENV)/bin/python
LAKEWARD := $(VENV)/bin/lakeward
PYTEST := $(PYTHON) -m pytest
STAMP := $(VENV)/.installed
UV_VERSION := 0.13.7
CANDIDATES := python3 python3.13 python3.12 python3.11
NEW_ENOUGH := import sys; sys.exit(sys.version_info < (3, 11))
ARGS :=
ROUNDS := 3

.PHONY: help setup jars demo test test-unit test-integration test-full faults coverage check bench clean

help:  ## Show what can be made
	@awk -F ':.*## ' '/^[a-z-]+:.*## / {printf "  make %-18s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

setup: $(STAMP)  ## Create .venv and install everything from the lock file

jars: $(STAMP)  ## Fetch the jars of Kafka and Spark, once per machine
	@$(LAKEWARD) doctor --fetch

demo: jars  ## Run the whole pipeline on this machine; options: make demo ARGS=--keep
	@$(LAKEWARD) demo $(ARGS)

test: $(STAMP) check  ## Run checks, unit, integration and the quick fault tests: what CI runs
	@set -euo pipefail; log=$$(mktemp); $(LAKEWARD) doctor --fetch >"$$log" 2>&1 & fetching=$$!; \
	trap 'kill $$fetching 2>/dev/null || true; rm -f "$$log"' EXIT; \
	$(PYTEST) -n 2 --dist worksteal tests/unit tests/model; \
	wait $$fetching || { cat "$$log"; exit 1; }
	@$(PYTEST) tests/integration
	@$(PYTEST) -n 2 --dist worksteal -m "not slow" tests/faults

test-unit: $(STAMP)  ## Run unit tests: no Java, no broker, seconds
	@$(PYTEST) -n 2 --dist worksteal tests/unit $(ARGS)

test-integration: jars  ## Run tests against a real broker and Spark
	@$(PYTEST) tests/integration $(ARGS)

test-full: test  ## Run everything in test, then the whole demo in a folder of its own
	@set -euo pipefail; home=$$(mktemp -d); trap 'rm -rf "$$home"' EXIT; LAKEWARD_HOME="$$home" $(LAKEWARD) demo

faults: jars  ## Run the whole fault suite three times in a row and write docs/faults.md
	@$(PYTEST) tests/faults --rounds $(ROUNDS) --write-faults docs/faults.md $(ARGS)

coverage: jars  ## Run all tests under coverage and print what they miss
	@rm -f .coverage .coverage.*
	@$(PYTHON) -m coverage run -m pytest -m "not slow" tests
	@$(PYTHON) -m coverage combine --quiet
	@$(PYTHON) -m coverage report --show-missing --skip-covered

check: $(STAMP)  ## Check format, lint and types
	@$(PYTHON) -m ruff format --check .
	@$(PYTHON) -m ruff check .
	@$(PYTHON) -m mypy

bench: jars  ## Run all benchmarks, write docs/benchmarks.md; a short look: make bench ARGS=--quick
	@$(PYTHON) benchmarks/report.py $(ARGS)

clean:  ## Remove .venv and what tools left; data in .lakeward stays
	rm -rf $(VENV) .mypy_cache .pytest_cache .ruff_cache .hypothesis .coverage .coverage.* dist
	find src tests -type d -name __pycache__ -prune -exec rm -rf {} +

# Packages come by name and hash from the index the user has set for uv or pip; a mirror works.
$(STAMP): pyproject.toml uv.lock
	@set -euo pipefail; \
	if ! $(PYTHON) -c '$(NEW_ENOUGH)' 2>/dev/null; then \
	  for candidate in $(CANDIDATES); do \
	    if "$$candidate" -c '$(NEW_ENOUGH)' 2>/dev/null; then found="$$candidate"; break; fi; \
	  done; \
	  test -n "$${found:-}" || { \
	    echo "Python 3.11 or later is needed; python3 is $$(python3 --version 2>&1)." >&2; exit 1; }; \
	  echo "Creating $(VENV) with $$("$$found" --version)"; \
	  "$$found" -m venv --clear $(VENV); \
	fi
	@set -euo pipefail; uv="$$(command -v uv || true)"; \
	if test -z "$$uv"; then \
	  $(PYTHON) -m pip install --quiet --disable-pip-version-check uv==$(UV_VERSION); \
	  uv=$(VENV)/bin/uv; \
	fi; \
	index="$${UV_DEFAULT_INDEX:-$${PIP_INDEX_URL:-$$($(PYTHON) -m pip config get global.index-url 2>/dev/null || true)}}"; \
	test -z "$$index" || export UV_DEFAULT_INDEX="$$index"; \
	test -z "$${PIP_CERT:-}" || export SSL_CERT_FILE="$${SSL_CERT_FILE:-$$PIP_CERT}"; \
	install() { \
	  "$$uv" export --quiet --frozen --no-emit-project --all-groups "$$@" --output-file $(VENV)/locked.txt; \
	  "$$uv" pip install --python $(PYTHON) --require-hashes -r $(VENV)/locked.txt; \
	}; \
	install; \
	"$$uv" pip install --quiet --python $(PYTHON) --no-build-isolation --no-deps -e .; \
	if ! $(PYTHON) -c 'from lakeward.stack.java import find_java; find_java()' 2>/dev/null; then \
	  echo "No JDK 17 or 21 found: installing a Java runtime as a wheel"; \
	  install --extra jre; \
	fi
	@touch $@

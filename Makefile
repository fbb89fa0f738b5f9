# Every target says what it does; `make` lists them.
PYTHON ?= python3

.DEFAULT_GOAL := help

help: ## list the targets
	@grep -hE '^[a-z-]+:.*## ' $(MAKEFILE_LIST) | sed -E 's/:.*## /\t/' | expand -t 16

install: ## install Shoal with everything needed to work on it
	$(PYTHON) -m pip install -e '.[test,quality,docs,stats-files]'

test: ## run the tests (the slow ones excepted)
	$(PYTHON) -m pytest -n auto -m 'not slow'

test-slow: ## run the slow tests: the large published tables
	$(PYTHON) -m pytest -m slow

lint: ## ruff: rules and format
	$(PYTHON) -m ruff check .
	$(PYTHON) -m ruff format --check .

types: ## mypy on the package
	$(PYTHON) -m mypy

docs: ## renew the generated pages and build the site into site/
	$(PYTHON) docs/method_pages.py
	$(PYTHON) docs/api.py
	$(PYTHON) -m mkdocs build --strict

bench: ## run all benchmarks
	for script in benchmarks/*.py; do $(PYTHON) $$script || exit 1; done

demo: ## protect a generated table and write a report
	$(PYTHON) -m shoal demo

ci: ## what continuous integration runs, in a fresh environment
	bash .ci/run

.PHONY: help install test test-slow lint types docs bench demo ci

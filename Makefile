# `make` lists the targets. Each installs what it needs into .venv; a second run starts at once.

PY ?= $(shell command -v python3.11 || command -v python3)
BIN := .venv/bin
export PIP_DISABLE_PIP_VERSION_CHECK := 1
export PYTHONUNBUFFERED := 1

.DEFAULT_GOAL := help
.PHONY: help install demo test soak bench clean

help: ## list the targets
	@awk -F ':.*## ' '/^[a-z0-9-]+:.*## / { printf "  make %-10s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

install: .venv/installed ## install nmt and its development tools into .venv

.venv/installed: pyproject.toml constraints.txt
	@$(PY) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || \
	  { echo "error: nmt needs Python 3.11 or later; name one with make PY=/path/to/python3.11" >&2; exit 2; }
	$(PY) -m venv .venv
	$(BIN)/python -m pip install --quiet --constraint constraints.txt --editable '.[dev]'
	@touch $@

demo: install ## preprocess the embedded English–German corpus
	rm -rf demo
	$(BIN)/nmt demo-data --out demo/text --size 30000
	$(BIN)/nmt preprocess --source-lang en --target-lang de \
	  --train demo/text/train --valid demo/text/valid --test demo/text/test --out demo/data

test: install ## lint, check types and run all tests
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/python -m pytest

soak: install ## kill training twenty times at random moments and compare what resume gives
	NMT_SOAK_ROUNDS=20 $(BIN)/python -m pytest tests/trainer/test_crash.py

bench: install ## run the benchmarks
	$(BIN)/python benchmarks/preprocess.py
	$(BIN)/python benchmarks/batches.py
	$(BIN)/python benchmarks/training_step.py
	$(BIN)/python benchmarks/trainer_overhead.py

clean: ## remove everything that was made here
	rm -rf .venv demo build dist *.egg-info .mypy_cache .ruff_cache .pytest_cache .hypothesis
	find . -name __pycache__ -type d -prune -exec rm -rf {} +

# `make` lists the targets. Each target installs what it needs into .venv on its first run.

PY ?= $(shell command -v python3.11 || command -v python3)
BIN := .venv/bin
NMT := $(BIN)/nmt
RECIPES := $(patsubst recipes/%/,%,$(dir $(wildcard recipes/*/recipe.toml recipes/*/ladder.toml)))
export PIP_DISABLE_PIP_VERSION_CHECK := 1
export PYTHONUNBUFFERED := 1

.DEFAULT_GOAL := help
.PHONY: help install demo captions serve recipes $(RECIPES) test fuzz soak quality bench clean

help: ## list the targets
	@awk -F ':.*## ' '/^[a-z0-9-]+:.*## / { printf "  make %-10s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)
	@echo '  make NAME       run the recipe NAME; DATA=DIR uses local files, SMOKE=1 runs a one-minute test'

install: .venv/installed ## install nmt and its development tools into .venv

.venv/installed: pyproject.toml constraints.txt
	@$(PY) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || \
	  { echo "error: nmt needs Python 3.11 or later; choose one with make PY=/path/to/python3.11" >&2; exit 2; }
	$(PY) -m venv .venv
	$(BIN)/python -m pip install --quiet --constraint constraints.txt --editable '.[dev,export,serve,tensorboard,vision]'
	@touch $@

# make prints each command before running it, so the demo doubles as a tutorial.
demo: install ## train a small English–German translator, evaluate it and explain a sentence
	@rm -rf demo
	$(NMT) demo-data --out demo/text --size 17000
	$(NMT) preprocess --source-lang en --target-lang de --train demo/text/train --valid demo/text/valid \
	  --test demo/text/test --set vocabulary.size=4000 --out demo/data
	$(NMT) train demo/data --out demo/run --set model.embedding_size=128 --set model.hidden_size=256 \
	  --set model.dropout=0 --set train.batch_tokens=256 \
	  --set train.learning_rate=3e-3 --set train.max_epochs=3 --set train.ema_decay=0.99 \
	  --set train.average_best=1 --threads 1
	$(NMT) evaluate demo/run --report demo/report.html
	printf '%s\n' "Please turn off your lamp!" "I turned off the lamp ten hours ago." \
	  "Who put the white key on the carpet?" "If he is happy, Michael will tidy up my warm kitchen alone." \
	  | $(NMT) translate demo/run --tsv
	$(NMT) export demo/run --out demo/exported --int8
	head -n 200 demo/text/test.en > demo/lines.en
	$(NMT) translate demo/run --threads 1 --progress -i demo/lines.en -o demo/lines.run.de
	$(NMT) translate demo/exported --threads 1 --progress -i demo/lines.en -o demo/lines.exported.de
	$(NMT) explain demo/run "I turned off the lamp ten hours ago." --html demo/explain.html
	@echo
	@echo 'report with examples and attention:    demo/report.html'
	@echo 'one sentence explained, interactive:   demo/explain.html'
	@echo 'the model without torch:               demo/exported, python demo/exported/translate.py'
	@echo 'the run (model, settings, curves.svg): demo/run'
	@echo
	@echo 'Try next:'
	@echo '  $(NMT) translate demo/run              # type English sentences; Ctrl-D ends'
	@echo '  make serve                             # a web page and an API with this model'
	@echo '  $(NMT) presets                         # the published systems; docs/tutorial.md trains them'
	@echo '  $(NMT) recipe                          # reproduce a baseline with one command'

# A small model for small images. Dropping words makes it look at the image instead of guessing from the last word, and
# without a gate it cannot ignore what it looks at.
CAPTIONING := --set model.hidden_size=64 --set model.dropout=0 --set model.word_dropout=0.5 \
  --set model.context_gate=false --set model.doubly_stochastic=0 --set train.batch_sentences=32 \
  --set train.warmup_updates=100 --set train.label_smoothing=0 --set train.ema_decay=0.98 \
  --set train.max_epochs=6 --threads 1

captions: install ## train captioning models on rendered shapes, with soft and hard attention, and show where they look
	@rm -rf captions
	$(NMT) demo-data --kind shapes --out captions/shapes --size 4000
	$(NMT) preprocess --images captions/shapes --target-lang en --train captions/shapes/train.jsonl \
	  --valid captions/shapes/valid.jsonl --test captions/shapes/test.jsonl --set data.image_size=48 \
	  --set vocabulary.kind=word --out captions/data
	$(NMT) train captions/data --out captions/soft $(CAPTIONING)
	$(NMT) train captions/data --out captions/hard --init captions/soft $(CAPTIONING) \
	  --set model.hard_attention=true --set train.learning_rate=1e-3 --set train.max_epochs=2
	cd captions && ../$(NMT) evaluate soft hard --json > seen.json
	cd captions && ../$(NMT) evaluate soft hard --source shapes/unseen.jsonl --no-record --json > unseen.json
	$(BIN)/python benchmarks/captions.py captions/seen.json captions/unseen.json
	$(NMT) caption captions/soft captions/shapes/images/test-00001.png captions/shapes/images/unseen-00001.png
	$(NMT) explain captions/soft captions/hard captions/shapes/images/test-00001.png \
	  captions/shapes/images/unseen-00001.png --html captions/explain.html --svg captions/strip.svg
	@echo
	@echo 'where both models look at each word: captions/explain.html, as one picture: captions/strip.svg'

serve: install ## serve the demo model (after make demo) at http://127.0.0.1:5000
	@test -d demo/run || { echo "error: there is no demo model yet; run make demo first" >&2; exit 2; }
	$(NMT) serve demo/run $(OPTIONS)

recipes: install ## list the recipes with their sizes and times
	@$(NMT) recipe

$(RECIPES): install
	$(NMT) recipe $@ $(if $(DATA),--data '$(DATA)') $(if $(SMOKE),--smoke) $(OPTIONS)

test: install ## lint, check types and run all tests
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/python -m pytest --numprocesses 2 --dist loadfile

fuzz: install ## mutate run, data and exported directories for MINUTES=3; SEED=N or TRIAL=NAME repeats a run or a finding
	$(BIN)/python -m tests.fuzz $(if $(MINUTES),--minutes $(MINUTES)) $(if $(SEED),--seed $(SEED)) \
	  $(if $(TRIAL),--trial '$(TRIAL)') $(if $(ONLY),--only '$(ONLY)')

soak: install ## kill training twenty times at random, and processes and machines of elastic runs; compare the weights
	NMT_SOAK_ROUNDS=20 $(BIN)/python -m pytest tests/training/test_crash.py tests/training/test_elastic.py

quality: install ## train fixed small models (ten minutes) and compare BLEU with what they reached before
	$(BIN)/python benchmarks/quality.py $(if $(SEED),--seed $(SEED))

bench: install ## run the benchmarks
	$(BIN)/python benchmarks/preprocess.py
	$(BIN)/python benchmarks/batches.py
	$(BIN)/python benchmarks/training_step.py
	$(BIN)/python benchmarks/trainer_overhead.py
	$(BIN)/python benchmarks/translation.py
	$(BIN)/python benchmarks/runtime.py demo/run
	$(BIN)/python benchmarks/evaluation.py
	$(BIN)/python benchmarks/integrity.py
	$(BIN)/python benchmarks/presets.py

clean: ## remove everything that make created, except data/ and runs/
	rm -rf .venv demo captions quality build dist *.egg-info .mypy_cache .ruff_cache .pytest_cache .hypothesis
	find . -name __pycache__ -type d -prune -exec rm -rf {} +

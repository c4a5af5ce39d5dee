# make demo      report on candle 0.11.1 in half a minute, from an empty machine with Rust, Python and a
#                C++ compiler; then port it, and run the tests of candle-core on a HIP device that runs
#                on the CPU, which takes about a quarter of an hour on two cores
# make help      this list
# make test      what CI runs: lint, types, fast tests, tests on the real candle and its kernels; the
#                latter need hipcc, which is installed (1 GB); where it cannot be had they are left
#                out, unless PORTKIT_HIPCC=require, and with PORTKIT_HIPCC=no
# make test-fast the same without the real candle, in about a minute
# make test-all  every test, those included that are too long for CI
# make reports   write reports/candle-VERSION.md anew, for each version that is reported on, and the
#                same as HTML, JSON and plan into build/reports
# make kernels   compile candle's kernels for every architecture, and write reports/kernels anew: an
#                hour, and seconds where nothing has changed; a run that was stopped is taken up
# make device    run candle's tests on the CPU device, and write reports/device anew: an hour
# make versions  port every published version of candle, type-check each port, and write
#                reports/versions anew: an hour; with CLONE=DIR commits of that clone instead
# make edits     kill writing runs, edit the tree meanwhile, fail each call, and write
#                reports/proof/edits.md anew: a quarter of an hour
# make mutants   port 80,000 mutants of sources, others each day: ten minutes; one that fails is kept
# make guided    port inputs that coverage leads to (Atheris, which has wheels for Linux alone), ten
#                minutes; one that fails is kept
# make docs      build the documentation site, build/site/index.html
# make dist      wheel and sdist, as a release uploads them, into dist
# make lock      write requirements-dev.txt anew
# make clean     remove what the other targets have made here

# The first Python that is new enough; name another with `make PYTHON=...`.
PYTHON ?= $(shell for python in python3.11 python3.12 python3.13 python3.14 python3; do \
	$$python -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null \
	&& echo $$python && break; done)

BIN := .venv/bin
INSTALLED := .venv/installed
STEP := ci/step
WITH_HIPCC := ci/with-hipcc
PORTKIT := $(CURDIR)/$(BIN)/portkit

VERSION := 0.11.1
REPORTED := 0.9.2 0.10.2 0.11.1
TREE := build/candle-$(VERSION)

PAGE := $(TREE).html

# Tests start portkit a thousand times: an image of Python that keeps nothing compiled doubles each start.
unexport PYTHONDONTWRITEBYTECODE

.PHONY: help demo test test-fast test-all lint reports kernels device versions edits mutants guided docs dist lock clean

help:
	@sed -n 's/^# \(make\|  \)/\1/p' Makefile

demo: $(INSTALLED)
	@printf '\nThe report is there in half a minute, the port some seconds later; its proof compiles\n'
	@printf 'and takes a quarter of an hour on two cores. Ctrl-C ends it: what is written stays.\n'
	@rm -rf $(TREE)
	@$(STEP) fetch $(PORTKIT) fetch candle@$(VERSION) $(TREE)
	@$(STEP) scan $(PORTKIT) scan $(TREE)
	@$(STEP) report $(PORTKIT) scan $(TREE) --format html --output $(PAGE)
	@printf '\nOpen %s in a browser: it says what a port of candle is made of.\n' $(CURDIR)/$(PAGE)
	@$(STEP) apply $(PORTKIT) apply --no-verify $(TREE)
	@printf '\nThe ported tree is %s. Its proof: a few minutes to type-check candle-core with\n' $(TREE)
	@printf 'and without the port, about ten to run its tests on a HIP device that runs on the CPU.\n'
	@$(STEP) verify $(PORTKIT) verify $(TREE) --device cpu --package candle-core \
		--only format,coverage,parity,names,check,device --report $(PAGE)
	@printf '\n%s now shows the port and its proof.\n' $(CURDIR)/$(PAGE)

test: lint browser sandbox newest-git
	@$(STEP) "fast tests" $(BIN)/pytest -m "not real and not slow" -n auto
	@$(WITH_HIPCC) $(STEP) "tests on the real candle" $(BIN)/pytest -m "real and not slow" \
		-n 2 --dist loadgroup --no-loadscope-reorder --durations=10

test-fast: lint
	@$(STEP) "fast tests" $(BIN)/pytest -m "not real and not slow" -n auto

test-all: lint browser sandbox
	@PORTKIT_PROVEN=no $(WITH_HIPCC) $(STEP) "every test" $(BIN)/pytest --durations=20

.PHONY: browser
browser:
	@$(STEP) "browser tools" ci/browser-tools

.PHONY: sandbox
sandbox:
	@command -v bwrap > /dev/null || ci/install bubblewrap \
		|| echo "== sandbox tests: bubblewrap is missing: install it; they are left out"

# git runs what a repository names in more ways with each release: the traps are tried with the newest.
.PHONY: newest-git
newest-git: $(INSTALLED)
	@if variables=$$(ci/newest-git); then \
		eval "$$variables"; \
		$(STEP) "the newest git" $(BIN)/pytest -n auto tests/hostile/test_hostile_git.py \
			tests/hostile/test_hostile_programs.py tests/test_vcs.py tests/test_update.py; \
	elif [ "$$PORTKIT_HIPCC" = require ]; then \
		exit 1; \
	else \
		echo "== newest git: it is not to be had, see above; its tests are LEFT OUT"; \
	fi

kernels: $(INSTALLED)
	@PORTKIT_HIPCC=require $(WITH_HIPCC) $(STEP) kernels $(BIN)/python ci/kernels --budgets

device: $(INSTALLED)
	@$(STEP) device $(BIN)/python ci/device-tests

versions: $(INSTALLED)
	@$(STEP) versions $(BIN)/python ci/versions $(if $(CLONE),--clone $(CLONE))

edits: $(INSTALLED)
	@$(STEP) edits $(BIN)/python ci/edits

mutants: $(INSTALLED)
	@$(STEP) mutants $(BIN)/python ci/fuzz --seed $$(date +%Y%m%d00000)

lint: $(INSTALLED)
	@$(STEP) ruff $(BIN)/ruff check .
	@$(STEP) format $(BIN)/ruff format --check .
	@$(STEP) mypy $(BIN)/mypy

reports: $(INSTALLED)
	@for version in $(REPORTED); do \
		tree=build/pristine/candle-$$version; \
		test -d $$tree || $(PORTKIT) fetch candle@$$version $$tree || exit; \
		$(MAKE) --no-print-directory report TREE=$$tree VERSION=$$version || exit; \
	done

# From inside the tree, so that the reports do not say where it stands.
.PHONY: report
report:
	@mkdir -p build/reports
	@cd $(TREE) && for form in markdown:reports/%.md json:build/reports/%.json \
		plan:build/reports/%.plan.md html:build/reports/%.html; do \
		file=$${form#*:}; $(PORTKIT) scan --no-source --format $${form%%:*} \
			--output $(CURDIR)/$${file%\%*}candle-$(VERSION)$${file#*\%} || exit; \
	done

$(INSTALLED): requirements-dev.txt pyproject.toml
	@test -n "$(PYTHON)" || { echo "portkit needs Python 3.11 or newer: install it, or run" \
		"\`make PYTHON=/path/to/python\`"; exit 1; }
	@$(STEP) "virtual environment" $(PYTHON) ci/venv .venv
	@$(STEP) "pinned packages" $(BIN)/pip install --quiet --disable-pip-version-check \
		--require-hashes -r requirements-dev.txt
	@$(STEP) portkit $(BIN)/pip install --quiet --disable-pip-version-check --no-deps \
		--no-build-isolation --editable .
	@touch $@

docs: build/docs/installed
	@$(STEP) docs build/docs/bin/mkdocs build --strict --quiet
	@printf '\nThe site is build/site/index.html.\n'

guided: build/fuzzer/installed
	@$(STEP) "guided mutants" build/fuzzer/bin/python ci/guided

build/fuzzer/installed: requirements-fuzz.txt
	@$(STEP) "virtual environment" $(PYTHON) ci/venv build/fuzzer
	@$(STEP) "pinned packages" build/fuzzer/bin/pip install --quiet --disable-pip-version-check \
		--require-hashes -r requirements-fuzz.txt
	@$(STEP) portkit build/fuzzer/bin/pip install --quiet --disable-pip-version-check --no-deps \
		--no-build-isolation --editable .
	@touch $@

build/docs/installed: requirements-docs.txt
	@$(STEP) "virtual environment" $(PYTHON) ci/venv build/docs
	@$(STEP) "pinned packages" build/docs/bin/pip install --quiet --disable-pip-version-check \
		--require-hashes -r requirements-docs.txt
	@touch $@

dist: $(INSTALLED)
	@rm -rf dist
	@$(STEP) dist $(BIN)/python -m hatchling build -d dist

lock:
	@$(PYTHON) ci/venv build/lock
	@build/lock/bin/pip install --quiet --disable-pip-version-check pip-tools
	@for extra in dev docs fuzz; do \
		{ sed -n '/^[^#]/q;p' requirements-$$extra.txt; build/lock/bin/pip-compile --quiet \
			--extra $$extra --all-build-deps --generate-hashes --strip-extras --allow-unsafe \
			--no-annotate --no-header --no-emit-index-url --no-emit-find-links \
			--no-emit-trusted-host --output-file - pyproject.toml; } > build/requirements.txt \
		&& mv build/requirements.txt requirements-$$extra.txt || exit; \
	done

clean:
	rm -rf .venv build dist .mypy_cache .pytest_cache .ruff_cache

# Two commands for newcomers: `make demo` and `make test`. Both make their own environment in .venv.

PYTHON ?= python3
VENV ?= .venv
BIN := $(VENV)/bin

# Processes that run tests: more than there are cores, since most tests wait for a scheduler or a deadline.
JOBS ?= 6
# Of ``make check``, whose tests hardly wait; each process takes eight seconds of a processor to begin.
QUICK_JOBS ?= 4
SEEDS ?= 100000
FIRST ?= 0
SECONDS ?= 60
MINUTES ?= 5
SEED ?=
# make test ORDER=random: modules in another order, and the tests of each; SEED=7 gives the same order again.
ORDER ?=

# Thousands of short processes: without it each compiles all that it imports, which takes as long as all else.
unexport PYTHONDONTWRITEBYTECODE

.DEFAULT_GOAL := help
.PHONY: site api help demo demo-ckpt check test test-flux test-pbs test-slurm test-managers lint style types parser knowledge man clean soak fuzz chaos neutrality
PIP := $(BIN)/python -m pip install --quiet --disable-pip-version-check --no-compile
# Which process runs what: tests/conftest.py. All durations are in build/tests.xml.
PYTEST = $(BIN)/python -m pytest -n $(JOBS) --dist loadgroup --no-loadscope-reorder --durations 30 --junitxml build/tests.xml \
  $(if $(filter random,$(ORDER)),--random-order $(if $(SEED),--random-order-seed $(SEED)))

help: ## show this list
	@grep -E '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sed -E 's/:.*## /\t/' | expand -t 12

$(BIN)/python:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 10))' || \
	  { echo "WHESL needs Python 3.10 or newer: make PYTHON=/path/to/python3 ..."; exit 1; }
	@$(PYTHON) -m venv $(VENV) || \
	  { rm -rf $(VENV); echo "$(PYTHON) cannot make an environment; on Debian and Ubuntu: apt install python3-venv"; exit 1; }

$(VENV)/.demo: $(BIN)/python pyproject.toml
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable '.[maestro]'
	@touch $@

$(VENV)/.dev: $(BIN)/python pyproject.toml
	@# By uv in a quarter of pip's time; by pip where uv cannot be had, or reaches no index (it reads no pip.conf).
	@# What is never imported is never compiled: half a minute less.
	$(PIP) uv && $(BIN)/uv pip install --quiet --no-cache --python $(BIN)/python --editable '.[dev]' || \
	  { echo "uv could not make the environment; pip does"; $(PIP) --editable '.[dev]'; }
	@touch $@

demo: $(VENV)/.demo ## a real study with real faults, recovered in place (no root, under 90 s)
	$(BIN)/python -m demo

demo-ckpt: $(VENV)/.demo ## a node about to fail writes its checkpoint first, or with all others (no root, under 60 s)
	$(BIN)/python -m demo.ckpt

lint: style types ## style and types

style: $(VENV)/.dev
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .

types: $(VENV)/.dev
	$(BIN)/mypy
	$(BIN)/mypy tests

parser: $(VENV)/.dev ## write the automata of grammar/ESL.g4 (needs java and npm)
	$(BIN)/python tools/regenerate_parser.py

knowledge: $(VENV)/.dev ## prepare what is known of programs' messages for a quick start
	$(BIN)/python tools/prepare_knowledge.py

man: $(VENV)/.dev ## write the manual pages from the commands' own help
	$(BIN)/python tools/manpages.py

check: style ## style, types, and the tests that need no cluster and are quick
	@$(MAKE) --no-print-directory -j2 types tests-quick

test: style ## style, types, and the tests; installs and starts a real Slurm where it is root
	@$(MAKE) --no-print-directory -j2 types tests-main

test-all: style ## as test, with each test in every setting, and all loops compiled
	@WHESL_COMPILE_ALL=1 $(MAKE) --no-print-directory -j2 types tests-all

.PHONY: tests-quick tests-main tests-all packages
# Once, beside the type checks: else each process would compile all tests. Not again while none has changed.
BYTECODE := build/bytecode
$(BYTECODE): $(VENV)/.dev $(shell find whesl tests -name '*.py')
	@$(BIN)/python -m pytest --collect-only -qq >/dev/null || true # what is wrong is told by the run itself
	@mkdir -p $(@D) && touch $@

tests-quick: JOBS := $(QUICK_JOBS)
tests-quick: $(BYTECODE)
	$(PYTEST) -m "not variant and not slurm and not flux and not cluster and not slow and not costly and not compiled" $(PYTEST_ARGS)

# At once: each test would install what it lacks, and the others wait. What cannot be installed is told by the tests.
packages: $(VENV)/.dev
	@[ "$$(id -u)" != 0 ] || ! command -v apt-get >/dev/null || \
	  $(BIN)/python -c 'from tests.equipment.install_slurm import PACKAGES, install; install(tuple(PACKAGES))' || true

tests-main: $(BYTECODE) packages
	$(PYTEST) -m "not variant" $(PYTEST_ARGS)

tests-all: $(BYTECODE) packages
	$(PYTEST) $(PYTEST_ARGS)

test-flux: $(VENV)/.dev ## the tests on a real Flux, none skipped (needs the flux command)
	@command -v flux >/dev/null || { echo "flux is not on PATH: load its module, or see docs/flux.md"; exit 1; }
	@flux version
	WHESL_NEED_FLUX=1 $(PYTEST) -m flux $(PYTEST_ARGS)

test-managers: $(VENV)/.dev ## each workflow manager's tasks on a real Slurm, with faults (root)
	$(PYTEST) tests/managers/test_managers.py tests/managers/workflow/test_managers_slurm.py tests/managers/workflow/test_graphs.py $(PYTEST_ARGS)

PBS ?= /opt/pbs
test-pbs: $(VENV)/.dev ## the tests on a real PBS (PBS=/prefix; needs root and PostgreSQL's initdb)
	@test -x $(PBS)/sbin/pbs_server || { echo "there is no PBS in $(PBS): say PBS=/prefix"; exit 1; }
	WHESL_PBS=$(PBS) $(PYTEST) -m pbs $(PYTEST_ARGS)

# Tests of a few modules: make test-slurm SLURM=/opt/slurm TESTS="tests/placement/site tests/managers/resource/slurm".
SLURM ?=
TESTS ?=
test-slurm: $(VENV)/.dev ## every test on a real Slurm, on any installation: make test-slurm SLURM=/opt/slurm (root)
	@PATH=$$PATH:/usr/sbin; $(if $(SLURM),$(SLURM)/sbin/)slurmctld -V || { echo "there is no Slurm to be tested"; exit 1; }
	$(if $(SLURM),WHESL_SLURM=$(SLURM)) $(PYTEST) -m slurm $(TESTS) $(PYTEST_ARGS) \
	  --junitxml build/slurm/$$(PATH=$$PATH:/usr/sbin; $(if $(SLURM),$(SLURM)/sbin/)slurmctld -V | cut -d' ' -f2)/$$(date +%Y%m%dT%H%M%S).xml

soak: $(VENV)/.dev ## simulated worlds with faults on a virtual clock: make soak SEEDS=1000000 FIRST=0
	$(BIN)/python -m tests.simulation --seeds $(SEEDS) --first $(FIRST)

fuzz: $(VENV)/.dev ## garbage for everything that is read, led by coverage: make fuzz SECONDS=60 ONLY=language
	$(BIN)/python -m tests.fuzz --seconds $(SECONDS) $(if $(ONLY),--only $(ONLY))

chaos: $(VENV)/.dev ## a workflow on a real Slurm that fails each second: make chaos MINUTES=5 SEED=7 (root)
	$(BIN)/python -m tests.chaos --minutes $(MINUTES) $(if $(SEED),--seed $(SEED)) $(CHAOS_ARGS)

neutrality: $(VENV)/.dev ## each kind of job on a real Slurm, plain and wrapped: make neutrality SEED=7 COUNT=100 (root)
	$(BIN)/python -m tests.neutrality $(if $(SEED),--seed $(SEED)) $(if $(COUNT),--count $(COUNT)) $(NEUTRALITY_ARGS)

site: $(VENV)/.dev ## the documentation as a site with a search: build/site/index.html
	$(BIN)/python tools/docs_site.py

api: $(VENV)/.dev ## write the page of what other programs can rely on, and the list of all promises
	$(BIN)/python tools/api_page.py > docs/api.md
	$(BIN)/python tools/api_page.py --promises > tests/api/promises.txt

clean: ## remove the environment and what runs left behind
	rm -rf $(VENV) build dist .pytest_cache .mypy_cache .ruff_cache .hypothesis demo/output

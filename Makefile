# make quickstart   train the embedded example and draw its translation matrix
# make test         the tests
# make test-slow    the tests with the mark `slow`, which `make test` leaves out
# make torture      kills, damage, full disks, races, hostile input: one table after half an hour;
#                   make torture-short: a quarter of the trials
# make gpu          compare a GPU with the CPU, measure speed and memory: runs/gpu/gpu.md in ten minutes;
#                   GPU="--device cpu --quick" tries it without one, GPU="--data … --peer …" adds peers
# make benchmarks   this version next to an earlier one and to other programs, row by row, on two quiet
#                   cores: runs/benchmarks/benchmarks.md. BENCHMARKS="--previous HEAD~50 --peer BIN"
#                   adds a revision and OpenNMT-py, "--only tiny" measures one row, "--list" names them
# make benchmarks-quick   every row on a few lines of text, which shows only that all of them work
# make test-opennmt the tests of OpenNMT-py's components; `make test` skips them without OpenNMT-py
PYTHON ?= python3
VENV ?= .venv
polyglot := $(VENV)/bin/polyglot
# Compiled files are kept, which saves seconds in each process.
pytest := OMP_NUM_THREADS=1 PYTHONDONTWRITEBYTECODE= $(VENV)/bin/python -m pytest -n auto

.PHONY: quickstart test test-slow torture torture-short gpu benchmarks benchmarks-quick test-opennmt install
.DELETE_ON_ERROR:

install: $(VENV)/.installed

# PyTorch comes first, in the version that the tests are made with. The package index chooses the build.
# On Linux, the public index adds gigabytes of CUDA packages;
# PIP_EXTRA_INDEX_URL=https://download.pytorch.org/whl/cpu prefers the build for CPUs.
$(VENV)/.installed: pyproject.toml .ci/constraints.txt
	$(PYTHON) -m venv $(VENV)
	$(VENV)/bin/python -m pip install -q --disable-pip-version-check -c .ci/constraints.txt torch
	$(VENV)/bin/python -m pip install -q --disable-pip-version-check -c .ci/constraints.txt -e ".[test]"
	touch $@

quickstart: $(VENV)/.installed
	if [ -d runs/phrasebook ]; then $(polyglot) train runs/phrasebook --resume; else $(polyglot) train phrasebook; fi
	$(polyglot) evaluate runs/phrasebook

# The tests of a file run on one worker, because they share runs. The files keep the order of
# tests/conftest.py, which begins with those that take longest.
test: $(VENV)/.installed
	$(pytest) --dist loadfile --no-loadscope-reorder

test-slow: $(VENV)/.installed
	$(pytest) --dist loadfile --no-loadscope-reorder -m slow

torture: $(VENV)/.installed
	OMP_NUM_THREADS=1 $(VENV)/bin/python -m tests.torture

torture-short: $(VENV)/.installed
	OMP_NUM_THREADS=1 $(VENV)/bin/python -m tests.torture --share 0.25

gpu: $(VENV)/.installed
	$(VENV)/bin/python evaluation/benchmarks/gpu.py runs/gpu $(GPU)

# Text: Multi30k in the folder DATA, by default $POLYGLOT_DATA/multi30k or data/multi30k; else the phrasebook.
benchmarks: $(VENV)/.installed
	$(VENV)/bin/python evaluation/benchmarks/run_all.py $(DATA) runs/benchmarks $(BENCHMARKS)

benchmarks-quick: $(VENV)/.installed
	$(VENV)/bin/python evaluation/benchmarks/run_all.py runs/benchmarks-quick --quick --repetitions 1 --threads 1 $(BENCHMARKS)

$(VENV)/.opennmt: $(VENV)/.installed
	$(VENV)/bin/python -m pip install -q --disable-pip-version-check -c .ci/constraints.txt -e ".[test,opennmt]"
	touch $@

test-opennmt: $(VENV)/.opennmt
	$(pytest) --dist worksteal tests/model tests/decoding/test_vocabulary_selection.py tests/interop/test_opennmt.py tests/contracts -k "nmt or convert"

# make quickstart   train the embedded example and draw its translation matrix
# make test         the tests
# make test-opennmt those of OpenNMT-py's components, which are skipped where it is not installed
PYTHON ?= python3
VENV ?= .venv
polyglot := $(VENV)/bin/polyglot
pytest := OMP_NUM_THREADS=1 $(VENV)/bin/python -m pytest -n auto

.PHONY: quickstart test test-opennmt install
.DELETE_ON_ERROR:

install: $(VENV)/.installed

# torch first and by exact version, the one that the tests are made with. Which build of it comes is up to the package index: on Linux the public
# one has gigabytes of CUDA packages beside it; PIP_EXTRA_INDEX_URL=https://download.pytorch.org/whl/cpu prefers PyTorch's build for CPUs.
$(VENV)/.installed: pyproject.toml .ci/constraints.txt
	$(PYTHON) -m venv $(VENV)
	$(VENV)/bin/python -m pip install -q --disable-pip-version-check -c .ci/constraints.txt torch
	$(VENV)/bin/python -m pip install -q --disable-pip-version-check -c .ci/constraints.txt -e ".[test]"
	touch $@

quickstart: $(VENV)/.installed
	if [ -d runs/phrasebook ]; then $(polyglot) train runs/phrasebook --resume; else $(polyglot) train phrasebook; fi
	$(polyglot) evaluate runs/phrasebook

# A file stays on one process, for what its tests share; in their order, so that the last ones are not those that take longest.
test: $(VENV)/.installed
	$(pytest) --dist loadfile --no-loadscope-reorder

$(VENV)/.opennmt: $(VENV)/.installed
	$(VENV)/bin/python -m pip install -q --disable-pip-version-check -c .ci/constraints.txt -e ".[test,opennmt]"
	touch $@

test-opennmt: $(VENV)/.opennmt
	$(pytest) --dist worksteal tests/model tests/decoding/test_vocabulary_selection.py tests/interop/test_opennmt.py tests/contracts -k "nmt or convert"

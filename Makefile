# `make demo` and `make test` do all the set-up they need: Python >= 3.11, a JDK >= 17 and Maven >= 3.8
# are enough, and Node >= 20 for the tests.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
CORE := plugin-build/sidecypher_plugin/core.jar
MVN := mvn --batch-mode --quiet --file plugin-build/core/pom.xml

.PHONY: default check demo test test-slow test-deep mutants test-pythons test-without-neo4j docker-test \
	faults soak lint format core wheel release bench docs reference lock clean

.DELETE_ON_ERROR:

default: lint test

# The stamp is written last, so that an interrupted first run is never taken for a finished one.
$(VENV)/ready: requirements.lock pyproject.toml | check
	rm -rf $(VENV)
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --require-hashes -r requirements.lock
	$(BIN)/python -m pip install --quiet --no-deps --editable .
	touch $@

check:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || { \
		echo "error: Python 3.11 or newer is needed; name one with PYTHON=/path/to/python3" >&2; exit 1; }
	@for tool in javac:"a JDK 17 or newer" mvn:"Maven 3.8 or newer"; do \
		command -v "$${tool%%:*}" >/dev/null || { \
			echo "error: $${tool#*:} is needed; install it and put $${tool%%:*} on the PATH" >&2; exit 1; }; \
	done

CORE_SOURCES := $(shell find plugin-build/core/src/main -type f) plugin-build/core/pom.xml

$(CORE): $(CORE_SOURCES) | check
	$(MVN) package -DskipTests

core: $(CORE)

# Maintainers: what users install, and the sources it can be built from. Equal sources, equal bytes.
wheel: $(VENV)/ready $(CORE)
	rm -rf dist
	$(BIN)/uv build --quiet --python $(BIN)/python --out-dir dist \
		--build-constraints requirements.lock --require-build-hashes
	@ls -l dist/*.whl dist/*.tar.gz

# Maintainers: what a release has, checked. CI names the tag, which must be that of the version.
release: TAG ?= v$(VERSION)
release: VERSION = $(shell sed -n 's/^version = "\(.*\)"/\1/p' pyproject.toml)
release: wheel
	@test "$(TAG)" = "v$(VERSION)" || { \
		echo "error: the tag is $(TAG), but pyproject.toml has version $(VERSION)" >&2; exit 1; }
	$(BIN)/twine check --strict dist/*.whl dist/*.tar.gz
	$(BIN)/check-wheel-contents dist/*.whl
	$(BIN)/cyclonedx-py requirements docker/requirements.lock --pyproject pyproject.toml \
		--output-reproducible --output-file dist/sidecypher-$(VERSION).cdx.json
	cd dist && sha256sum *.whl *.tar.gz *.cdx.json > SHA256SUMS

# The demo has a home of its own, so that its graph never mixes with yours.
demo: export SIDECYPHER_HOME := $(CURDIR)/.demo
demo: $(VENV)/ready $(CORE)
	@$(BIN)/sidecypher down
	@$(BIN)/sidecypher demo $(if $(KEEP),--keep)

PYTEST := $(BIN)/python -m pytest --numprocesses 3 --dist loadgroup --no-loadscope-reorder

test: export SIDECYPHER_TEST_SLOWER ?= 5
# Maven and the JVM of its tests are gone before they have earned what optimizing their code costs.
# The JUnit tests wait most of their minute, so they run while pytest does.
test: $(VENV)/ready $(CORE)
	@echo "left out: tests/integration/docker (make docker-test), what is deep (make test-deep)$(if \
		$(CI),, and what is slow (make test-slow))"
	JAVA_TOOL_OPTIONS=-XX:TieredStopAtLevel=1 $(MVN) test & junit=$$!; \
		$(PYTEST) -m "not deep$(if $(CI),, and not slow)" --ignore tests/integration/docker; tests=$$?; \
		wait $$junit || { echo "error: a JUnit test has failed, see above" >&2; exit 1; }; exit $$tests

# What takes most of the time of all tests. CI runs it with the others.
test-slow: export SIDECYPHER_TEST_SLOWER ?= 5
test-slow: $(VENV)/ready $(CORE)
	$(PYTEST) -m "slow and not deep" --ignore tests/integration/docker

# What `make test` leaves out since shorter tests cover it for the most part, and what it does with less
# of: broken messages, calls, seconds of faults, rounds of writers, relations of a concept, kills of
# processes that carry events, and invented examples.
test-deep: export SIDECYPHER_TEST_SLOWER ?= 5
test-deep: export SIDECYPHER_TEST_FUZZ ?= 10000
test-deep: export SIDECYPHER_TEST_CALLS ?= 10000
test-deep: export SIDECYPHER_TEST_SOAK ?= 30
test-deep: export SIDECYPHER_TEST_ROUNDS ?= 30
test-deep: export SIDECYPHER_TEST_RELATIONS ?= 100000
test-deep: export SIDECYPHER_TEST_KILLS ?= 20
test-deep: export SIDECYPHER_TEST_EXAMPLES ?= 300
test-deep: $(VENV)/ready $(CORE)
	$(PYTEST) -m "deep or effort or hypothesis" --ignore tests/integration/docker
	$(MAKE) --no-print-directory mutants

# Whether the tests find faults: each of tests/mutants.toml is applied to a copy, and its tests run there.
# ONLY="lease token" applies those that have one of these words in their names.
mutants: export SIDECYPHER_TEST_SLOWER ?= 5
mutants: export SIDECYPHER_TEST_EXAMPLES = 30
mutants: $(VENV)/ready $(CORE)
	$(BIN)/python tools/mutants.py $(ONLY)

# By the other Pythons that are promised, each that answers here and in an environment of its own: what
# needs no Neo4j. `make test-pythons PYTHONS=/path/to/python3.13` names one that is not on the PATH.
PYTHONS ?= python3.12 python3.13
test-pythons:
	@for python in $(PYTHONS); do \
		$$python --version 2> /dev/null || { echo "no tests by $$python: it is not here"; continue; }; \
		$(MAKE) --no-print-directory test-without-neo4j \
			PYTHON=$$python VENV=$(VENV)-$${python##*/} || exit 1; done

test-without-neo4j: export SIDECYPHER_TEST_SLOWER ?= 5
test-without-neo4j: $(VENV)/ready $(CORE)
	$(BIN)/python -m pytest --numprocesses 3 tests/unit tests/contract

# Images and containers: by Docker where it answers, else by Podman as root.
docker-test: export SIDECYPHER_TEST_SLOWER ?= 5
docker-test: export SIDECYPHER_TEST_BACKEND = docker
docker-test: $(VENV)/ready $(CORE)
	$(BIN)/python -m pytest tests/integration/docker tests/integration/test_calls.py \
		tests/integration/test_conformance.py tests/integration/test_functions.py

# The tests of faults, REPEAT times in a row; the first failure ends it.
faults: REPEAT ?= 1
faults: $(VENV)/ready $(CORE)
	@for round in $$(seq $(REPEAT)); do \
		echo "round $$round of $(REPEAT)"; $(BIN)/python -m pytest -x tests/faults || exit 1; done

# What takes hours: a million broken messages for each side, calls, and connections; then faults for
# half an hour; then 1 000 rounds of 32 writers of one scope, and 10 000 operations on runs. Each can be
# set: `make soak SOAK_SECONDS=3600`.
soak: SOAK_FUZZ ?= 1000000
soak: SOAK_CALLS ?= 1000000
soak: SOAK_SECONDS ?= 1800
soak: SOAK_ROUNDS ?= 1000
soak: SOAK_OPERATIONS ?= 10000
# As users run them: without what makes short-lived JVMs of tests quick.
soak: export JAVA_TOOL_OPTIONS =
soak: $(VENV)/ready $(CORE)
	$(MVN) test -Dtest=FuzzTests -Dsidecypher.test.fuzz=$(SOAK_FUZZ) \
		-Djunit.jupiter.execution.timeout.mode=disabled
	SIDECYPHER_TEST_FUZZ=$(SOAK_FUZZ) SIDECYPHER_TEST_CALLS=$(SOAK_CALLS) \
		SIDECYPHER_TEST_SOAK=$(SOAK_SECONDS) $(BIN)/python -m pytest \
		tests/contract/test_fuzz.py tests/faults/test_l*.py tests/faults/test_soak.py
	SIDECYPHER_TEST_ROUNDS=$(SOAK_ROUNDS) $(BIN)/python -m pytest --timeout 0 \
		tests/integration/rules/test_concurrency.py
	SIDECYPHER_TEST_OPERATIONS=$(SOAK_OPERATIONS) $(BIN)/python -m pytest --timeout 0 \
		tests/integration/runs/test_history.py

lint: $(VENV)/ready
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/mypy tests/typing/*.py tools/*.py
	$(BIN)/lint-imports

format: $(VENV)/ready
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

# After a change of a command's help, of a shipped procedure, or of the schema.
reference: $(VENV)/ready
	$(BIN)/python tools/command_reference.py
	$(BIN)/python tools/procedure_reference.py
	$(BIN)/python tools/schema_picture.py
	$(BIN)/python tools/grafana_dashboard.py

bench: $(VENV)/ready $(CORE)
	$(BIN)/python -m benchmarks

# The site, into `site`. The variable keeps a theme's note on the future of MkDocs out of the output.
docs: export NO_MKDOCS_2_WARNING = 1
docs: $(VENV)/ready
	$(BIN)/mkdocs build

# Maintainers: resolve all Python dependencies anew, with hashes, for every platform; the images get
# the part that is not for development.
lock: $(VENV)/ready
	$(BIN)/uv pip compile pyproject.toml --group dev --universal --python-version 3.11 \
		--generate-hashes --no-emit-index-url --no-header --upgrade --quiet -o requirements.lock
	$(BIN)/uv pip compile pyproject.toml --extra sync --extra postgres --universal \
		--python-version 3.11 --generate-hashes --no-emit-index-url --no-header \
		--constraint requirements.lock --quiet -o docker/requirements.lock

clean:
	rm -rf $(VENV) $(VENV)-* .demo dist site plugin-build/core/target $(CORE)

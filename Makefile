# Penstock.  A thin face over meson and ninja; `make help` lists the goals.
#
# Variables: SANITIZE=address,undefined or thread   PREFIX=/usr/local   DESTDIR=   JOBS=   CC=
#            DURATION=60 (seconds a fuzz target)    TARGETS="ctld dbd" (of fuzz; all without it)    KILLS=100 (chaos)   MINUTES=30 (test-portion)   ARGS= (for the program that runs)

SHELL = /bin/bash
.SHELLFLAGS = -euo pipefail -c
.DEFAULT_GOAL = help
.NOTPARALLEL:

comma := ,
SANITIZE ?=
PREFIX ?= /usr/local
DESTDIR ?=
DURATION ?= 60
TARGETS ?=
KILLS ?= 100
MINUTES ?= 30
ARGS ?=
JOBS ?=
BUILD ?= build$(if $(SANITIZE),-$(subst $(comma),-,$(SANITIZE)))
PLAIN_BUILD = build
FUZZ_BUILD = build-fuzz
CLANG_BUILD = build-clang
LEVELS = 0 3
COVERAGE_BUILD = build-coverage

NINJA = ninja $(if $(JOBS),-j $(JOBS))
SETUP = meson setup -Dprefix=$(PREFIX) -Dlibdir=lib -Dsysconfdir=etc
# -O1 and -g1 are enough for what sanitizers report, and take half the compiler's time.
SANITIZE_OPTIONS = $(if $(SANITIZE),-Db_sanitize=$(SANITIZE) -Db_lundef=false -Doptimization=1 -Dc_args=-g1)
# Files that meson finds by listing a folder: a new one means configuring again.
LISTED = $(sort $(wildcard tests/unit/*/*.c tests/unit/*/build.txt tests/fuzz/*.c tests/fuzz/*.build.txt \
	bench/*.c bench/*.build.txt man/*.scd src/*/*.c src/*/*/*.c completions/* web/*.* web/js/*))

## run: set up, build, and run the main job on a private four-node cluster
.PHONY: run
run: build
	$(BUILD)/src/penstock/penstock demo $(ARGS)

## build: compile the programs and manual pages
.PHONY: build
build: configure
	$(NINJA) -C $(BUILD)

## test: set up, build and run every test; ARGS="--part 2/8" an eighth of them
.PHONY: test
test: test-programs
	tests/run-tests $(BUILD) $(ARGS)

# All that tests run.  For the thread sanitizer, programs with one thread are those of the plain build.
.PHONY: test-programs
test-programs: configure
	$(NINJA) -C $(BUILD) all unit-tests fuzz-targets
ifeq ($(SANITIZE),thread)
	$(MAKE) build SANITIZE= BUILD=$(PLAIN_BUILD)
	tools/take-plain $(PLAIN_BUILD) $(BUILD)
endif

## test-portion: as test, for MINUTES (30); the next call goes on, and all are counted (BUILD/results; tests/sanitized.txt)
.PHONY: test-portion
test-portion: test-programs
	tests/run-tests $(BUILD) --table $(BUILD)/results --minutes $(MINUTES) $(SANITIZE:%=--record %) $(ARGS)

## test-clients: run programs that others wrote for Slurm (MPI, ClusterShell, PyPI) on private clusters
.PHONY: test-clients
test-clients: build
	tests/clients/run --build $(BUILD) $(ARGS)

## test-web: the dashboard in a real browser; screenshots stay in BUILD/screenshots (part of `make test`)
.PHONY: test-web
test-web: build
	PENSTOCK_BUILD=$(BUILD) python3 -m pytest -q -rs -p no:cacheprovider tests/integration/web

## test-cgroup: resources enforced with cgroup v2, in a virtual machine where 1,000 jobs come and go
.PHONY: test-cgroup
test-cgroup: build
	tools/bootstrap vm || true
	tests/vm/run --build $(BUILD) $(ARGS)

## test-accounting: JOBS (100000) jobs through slurmdbd on SQLite and MariaDB, everything killed meanwhile
.PHONY: test-accounting
test-accounting: build
	PENSTOCK_BUILD=$(BUILD) PENSTOCK_ACCOUNTING_JOBS=$(or $(JOBS),100000) \
	    python3 -m pytest -v -s -p no:cacheprovider tests/integration/acct/test_slurmdbd.py

## test-charts: the charts of deploy/charts as Helm's own engine renders them, a Go module, against tests/golden/charts
.PHONY: test-charts
test-charts:
	mkdir -p $(BUILD)
	tests/charts/run $(BUILD) $(ARGS)

## images: OCI images of every program (or ARGS="slurmctld login") without a registry, into BUILD/images; needs root and mmdebstrap
.PHONY: images
images:
	mkdir -p $(BUILD)
	deploy/images/make $(BUILD) $(ARGS)

## build-images: images of the Dockerfile with buildah, podman or docker, whichever works; BASE=mmdebstrap without a registry
.PHONY: build-images
build-images:
	mkdir -p $(BUILD)
	deploy/images/build $(BUILD) $(ARGS)

## test-images: build them, look into each, and run a cluster out of them with podman; skipped with a sentence where that cannot be
.PHONY: test-images
test-images: build-images
	PENSTOCK_BUILD=$(BUILD) python3 -m pytest -q -rs -p no:cacheprovider tests/images

## check-images: of the images what can be checked without a builder: packages, programs, libraries, and the entry of two as PID 1
.PHONY: check-images
check-images:
	mkdir -p $(BUILD)
	deploy/images/check $(BUILD) $(ARGS)

## test-kube: our client, roles, operator and bridge on a real kube-apiserver and controllers, a Go module, and etcd; KILLS=1000
.PHONY: test-kube
test-kube: build
	$(if $(KILLS),PENSTOCK_KILLS=$(KILLS)) tests/kube/run $(BUILD) $(ARGS)

## soak-kube: kill the bridge and the operator COUNT=1000 times each, with gangs and jobs; what fails is kept in BUILD/soak
.PHONY: soak-kube
soak-kube: build
	tests/kube/soak $(BUILD) $(or $(COUNT),1000)

## test-kafka: records of finished jobs to a broker of Apache Kafka, which mvn fetches, killed meanwhile
.PHONY: test-kafka
test-kafka: build
	PENSTOCK_KAFKA=1 PENSTOCK_BUILD=$(BUILD) python3 -m pytest -q -rs -p no:cacheprovider tests/integration/plugins/test_kafka_broker.py

.PHONY: bootstrap
bootstrap:
	tools/bootstrap

.PHONY: configure
configure: bootstrap
	@if [ ! -f $(BUILD)/build.ninja ]; then \
	    log=$$(mktemp); \
	    $(SETUP) $(SANITIZE_OPTIONS) $(BUILD) > $$log 2>&1 || { cat $$log; rm -f $$log; exit 1; }; \
	    mv $$log $(BUILD)/configure.log; \
	elif [ '$(LISTED)' != "$$(cat $(BUILD)/listed 2> /dev/null)" ]; then \
	    meson setup --reconfigure $(BUILD) > $(BUILD)/configure.log || { cat $(BUILD)/configure.log; exit 1; }; \
	fi; \
	echo '$(LISTED)' > $(BUILD)/listed

## bench: run the benchmarks; ARGS go to bench/run, e.g. ARGS=--quick
.PHONY: bench
bench: configure
	$(NINJA) -C $(BUILD) all benchmarks
	tools/run-bench $(BUILD)
	bench/run --build $(BUILD) $(ARGS)

## fuzz: run each fuzz target, or those of TARGETS, for DURATION seconds, two at a time (clang)
.PHONY: fuzz
fuzz:
	tools/bootstrap clang
	if [ ! -f $(FUZZ_BUILD)/build.ninja ]; then \
	    CC=clang meson setup -Dfuzz=true -Db_sanitize=address,undefined -Db_lundef=false \
	        -Dc_args=-fsanitize=fuzzer-no-link $(FUZZ_BUILD); \
	else \
	    meson setup --reconfigure $(FUZZ_BUILD) > /dev/null; \
	fi
	$(NINJA) -C $(FUZZ_BUILD) $(if $(TARGETS),$(TARGETS:%=tests/fuzz/fuzz_%),fuzz-targets)
	tools/run-fuzz $(FUZZ_BUILD) $(DURATION) $(TARGETS)

## chaos: kill the controller KILLS times under load and count the jobs
.PHONY: chaos
chaos: build
	tests/chaos/chaos_submit.py --build $(BUILD) --kills $(KILLS)

## chaos-standby: kill, freeze and depose the active one of three controllers KILLS times under load and count the jobs
.PHONY: chaos-standby
chaos-standby: build
	tests/chaos/chaos_standby.py --build $(BUILD) --kills $(KILLS)

## test-upgrade: from the build folder OLD to this one, daemon by daemon, while jobs run and clients submit
.PHONY: test-upgrade
test-upgrade: build
	tests/chaos/rolling_upgrade.py --build $(BUILD) --old $(OLD)

## chaos-hosts: kill, freeze, cut off and fill the hosts of three controllers, with a shared folder, with etcd, and with logs of their own (root, nft)
.PHONY: chaos-hosts
chaos-hosts: build
	tests/chaos/chaos_hosts.py --build $(BUILD) --blows $(KILLS)
	tests/chaos/chaos_hosts.py --build $(BUILD) --blows $(KILLS) --type etcd --lease 1500
	tests/chaos/chaos_hosts.py --build $(BUILD) --blows $(KILLS) --type stream

## sim-month: a simulated month of GPU training on 15,000 nodes in blocks, SEEDS times; reports in BUILD/sim-month
.PHONY: sim-month
SEEDS ?= 3
sim-month: build
	bench/sim_month.py --build $(BUILD) --seeds $(SEEDS) --out $(BUILD)/sim-month

## soak-day: six days of jobs on emulated nodes, beside watchers, scrapes and administration: no daemon's memory may grow
.PHONY: soak-day
soak-day: build
	tests/chaos/soak_day.py --build $(BUILD) $(ARGS)

## chaos-expedite: take nodes FAILURES times from below expedited jobs, and look at each job's place in the queue
.PHONY: chaos-expedite
FAILURES ?= 200
chaos-expedite: build
	tests/chaos/chaos_expedite.py --build $(BUILD) --failures $(FAILURES)

## chaos-steps: kill daemons and srun at random while 500 jobs of several nodes run, and ask how each ended
.PHONY: chaos-steps
chaos-steps: build
	tests/chaos/chaos_steps.py --build $(BUILD)

## chaos-rotation: change the authority, the keys of auth/slurm and an issuer's keys under 100 submissions a second and steps that run
.PHONY: chaos-rotation
chaos-rotation: build
	tests/chaos/chaos_rotation.py --build $(BUILD)

## chaos-cloud: 200 cloud nodes whose programs fail, hang, come late and kill themselves while jobs run and daemons are killed
.PHONY: chaos-cloud
chaos-cloud: build
	tests/chaos/chaos_cloud.py --build $(BUILD)

## chaos-nodes: 200 nodes join with slurmd -Z --conf-server, change size and name, go and return while jobs run and the controller is killed
.PHONY: chaos-nodes
chaos-nodes: build
	tests/chaos/chaos_nodes.py --build $(BUILD)

## test-idempotency: retry 3,000 submissions over REST while daemons are killed 1,000 times under them, and count the jobs
.PHONY: test-idempotency
test-idempotency: build
	tests/chaos/chaos_idempotency.py --build $(BUILD) --jobs 3000 --kills 1050

## test-output: 8 GiB of tasks' output through srun, every line looked at
.PHONY: test-output
test-output: build
	PENSTOCK_OUTPUT_MIB=8192 PENSTOCK_BUILD=$(BUILD) python3 -m pytest -q -p no:cacheprovider tests/integration/steps/test_step_output.py

## test-peer: compare answers and placements with Debian's Slurm 22.05; PEER=DIR where bench/peer-slurm unpacked it, SEED= and COMMANDS= of the random play
.PHONY: test-peer
test-peer: build
	tests/differential/run --build $(BUILD) $(if $(PEER),--peer $(PEER)) $(ARGS)
	tests/differential/random/play --build $(BUILD) $(if $(PEER),--peer $(PEER)) $(if $(SEED),--seed $(SEED)) $(if $(COMMANDS),--commands $(COMMANDS))
	tests/peer/placement --build $(BUILD) $(if $(PEER),--peer $(PEER))

## check-clang: build everything with clang, warnings as errors
.PHONY: check-clang
check-clang:
	tools/bootstrap
	tools/bootstrap clang
	if [ ! -f $(CLANG_BUILD)/build.ninja ]; then \
	    CC=clang $(SETUP) $(CLANG_BUILD); \
	else \
	    meson setup --reconfigure $(CLANG_BUILD) > /dev/null; \
	fi
	$(NINJA) -C $(CLANG_BUILD) all unit-tests fuzz-targets benchmarks

## test-compilers: everything with gcc at -O0 and -O3 and with clang, warnings as errors (BUILD-O0, BUILD-O3, build-clang)
.PHONY: test-compilers
test-compilers:
	tools/bootstrap
	for level in $(LEVELS); do \
	    if [ -f $(BUILD)-O$$level/build.ninja ]; then meson setup --reconfigure $(BUILD)-O$$level > /dev/null; \
	    else $(SETUP) -Doptimization=$$level -Ddebug=false -Dwerror=true $(BUILD)-O$$level; fi; \
	    $(NINJA) -C $(BUILD)-O$$level all unit-tests fuzz-targets benchmarks; \
	done
	if command -v clang > /dev/null; then $(MAKE) check-clang; \
	else echo 'test-compilers: clang is not installed, so nothing was built with it (tools/bootstrap clang)'; fi

## coverage: lines that tests reach, by folder, to docs/coverage.md; ARGS=--all runs every suite, not only unit and fuzz
.PHONY: coverage
coverage:
	tools/bootstrap
	tools/bootstrap coverage
	if [ ! -f $(COVERAGE_BUILD)/build.ninja ]; then \
	    $(SETUP) -Db_coverage=true -Doptimization=0 $(COVERAGE_BUILD); \
	else \
	    meson setup --reconfigure $(COVERAGE_BUILD) > /dev/null; \
	fi
	$(NINJA) -C $(COVERAGE_BUILD) all unit-tests fuzz-targets
	tools/coverage $(COVERAGE_BUILD) $(ARGS)

## test-sanitizers: checks, unit tests and fuzz inputs with both sets of sanitizers; test and test-portion with SANITIZE= run the rest
.PHONY: test-sanitizers
test-sanitizers:
	for set in address,undefined thread; do \
	    $(MAKE) test SANITIZE=$$set ARGS='-s checks -s unit -s fuzz'; \
	done

## format: lay the C sources out by .clang-format
.PHONY: format
format:
	tools/bootstrap
	tools/format

## install: install into PREFIX (below DESTDIR when given): bin sbin etc share/man
.PHONY: install
install: configure
	@if [ "$$(meson introspect --buildoptions $(BUILD) | python3 -c \
	    'import json,sys; print(next(o["value"] for o in json.load(sys.stdin) if o["name"] == "prefix"))')" != '$(PREFIX)' ]; then \
	    meson configure $(BUILD) -Dprefix=$(PREFIX); \
	fi
	$(NINJA) -C $(BUILD)
	DESTDIR=$(DESTDIR) meson install --no-rebuild --quiet -C $(BUILD)
	@echo 'installed into $(DESTDIR)$(PREFIX)'

## clean: remove what the goals above built
.PHONY: clean
clean:
	rm -rf build build-address build-undefined build-address-undefined build-thread \
	    $(FUZZ_BUILD) $(CLANG_BUILD) $(COVERAGE_BUILD) $(LEVELS:%=build-O%)

## help: this list
.PHONY: help
help:
	@echo 'Penstock: a workload manager with the interface of Slurm.  Goals of this Makefile:'
	@sed -n 's/^## \([a-z-]*\): \(.*\)/  make \1\t\2/p' Makefile | expand -t 20
	@echo 'Variables: SANITIZE=address,undefined|thread PREFIX= DESTDIR= DURATION= TARGETS= KILLS= MINUTES= JOBS= CC='

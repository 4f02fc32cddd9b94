# SPDX-License-Identifier: GPL-2.0
#
# Entry points; the work is done by the scripts in tools/testing/io-hint/,
# each of which has a --help.

# One kernel, or what each script takes by default: all, for the tests
KERNEL :=
PATCHED := 1

KERNELS := $(patsubst patches/%/series,%,$(wildcard patches/*/series))
scripts := tools/testing/io-hint
variant := $(if $(filter 0,$(PATCHED)),unpatched)
kinds := $(filter-out common,$(notdir $(basename $(wildcard $(scripts)/debug/*))))

ifneq ($(filter-out $(KERNELS),$(KERNEL))$(word 2,$(KERNEL)),)
$(error KERNEL=$(KERNEL) is not supported; choose one of: $(KERNELS))
endif
ifneq ($(filter-out 0 1,$(PATCHED))$(word 2,$(PATCHED)),)
$(error PATCHED=$(PATCHED) means nothing; choose 0 or 1)
endif

# All that is generated goes there; the scripts read it from the environment.
ifdef BUILD
export BUILD
endif

# Passed on this way, SRC may hold any character.
override SRC := $(value SRC)
export SRC

.PHONY: help deps kernel apply unapply demo test bench stress clean distclean

help:
	@echo "make deps       install the Debian packages that are needed"
	@echo "make kernel     build a test kernel"
	@echo "make apply      apply the change to the kernel tree SRC=path"
	@echo "make unapply    take it out of SRC=path again"
	@echo "make demo       show what the change does"
	@echo "make test       run all tests"
	@echo "make bench      compare with the alternatives, in virtual time"
	@echo "make stress     everything at once, on debug kernels"
	@echo "make clean      remove what was built"
	@echo "make distclean  remove the kernel sources as well"
	@echo
	@echo "KERNEL=N.M chooses the kernel ($(KERNELS)); by default,"
	@echo "           test, bench and stress take all of them, the others"
	@echo "           take 6.12"
	@echo "QUICK=1    lets make bench take a few minutes, for a part of it"
	@echo "TIME=60m   is how long make stress runs a kernel (default: 20m)"
	@echo "SEED=N     lets make stress choose as in an earlier run"
	@echo "KIND=name  is the only kernel that make stress runs:"
	@echo "           $(kinds)"
	@echo "PATCHED=0  lets make kernel and make stress leave out the change"
	@echo "BUILD=path is used instead of build/"

deps:
	@$(scripts)/deps.sh

kernel:
	@$(scripts)/build.sh $(or $(KERNEL),6.12) $(variant)

apply:
	$(if $(SRC),,$(error SRC is missing: make apply SRC=path/to/tree))
	@$(scripts)/apply.sh "$$SRC"

unapply:
	$(if $(SRC),,$(error SRC is missing: make unapply SRC=path/to/tree))
	@$(scripts)/apply.sh -R "$$SRC"

demo:
	@$(scripts)/demo.sh $(KERNEL)

test:
	@$(scripts)/test.sh $(KERNEL)

bench:
	@$(scripts)/bench.sh $(if $(filter 1,$(QUICK)),-q) $(KERNEL)

stress:
	@$(scripts)/stress.sh $(addprefix -k ,$(KIND)) $(addprefix -s ,$(SEED)) \
		$(addprefix -t ,$(TIME)) $(if $(variant),-u) $(KERNEL)

clean:
	@$(scripts)/clean.sh

distclean:
	@$(scripts)/clean.sh --all

# tril: make run; make deps test; see README.md. Each folder of extras/ adds its own few lines: build.mk, targets.mk.

CC      = cc
AR      = ar
CFLAGS  = -O3
INPUT   = data/input.txt
TIME    = 2m
PREFIX  = /usr/local
BUILD   = build
CLANG_FORMAT = clang-format
.DEFAULT_GOAL := all

# Paths quoted for the shell. BUILD is part of targets, which cannot have spaces or quotes.
apostrophe = '
comma = ,
quoted = '$(subst $(apostrophe),'\'',$(1))'
TEXT = $(call quoted,$(patsubst -%,./-%,$(value INPUT)))
ifneq ($(shell printf %s =$(call quoted,$(BUILD)) | LC_ALL=C grep -x '=[a-zA-Z0-9_./+-][a-zA-Z0-9_./+-]*'),=$(BUILD))
$(error BUILD='$(BUILD)' cannot be a part of make's targets; use only ASCII letters, digits, and . _ + - /)
endif

# Reports a missing text before building anything.
ifneq ($(and $(filter run,$(MAKECMDGOALS)),$(filter-out =data/input.txt,=$(INPUT))),)
ifneq ($(shell test -f $(TEXT) && echo there),there)
$(error there is no text $(TEXT); name a file as INPUT=FILE, or leave it out for data/input.txt)
endif
endif

# Prints a short line for each file. `make V=1` prints the commands, `make -s` nothing.
quiet = $(if $(filter 1,$(V)),,@$(if $(SILENT),,printf '  %-5s %s\n' $(1) '$(@:$(BUILD)/%=%)';))
SILENT := $(findstring s,$(filter-out --%,$(firstword -$(MAKEFLAGS))))

# No built-in rules, which make would try on every file. One job per processor.
MAKEFLAGS += --no-builtin-rules
ifeq ($(MAKELEVEL),0)
MAKEFLAGS += --jobs=$(shell nproc 2>/dev/null || getconf _NPROCESSORS_ONLN 2>/dev/null || echo 1)
endif

# Not every `omp simd` loop is vectorized by clang, and under its sanitizers none.
WARNINGS = -Wall -Wextra -Wshadow -Wconversion -Wpointer-arith -Wstrict-prototypes -Wvla -Wno-pass-failed
LDLIBS   = -lm -lpthread
CMOCKA   = -lcmocka
SYSTEM   = -D_POSIX_C_SOURCE=200809L -D_FILE_OFFSET_BITS=64
TARGET  := $(shell $(CC) -dumpmachine 2>/dev/null)
MAC      = $(findstring darwin,$(TARGET))$(findstring macos,$(TARGET))
SYSTEM  += $(if $(MAC),-D_DARWIN_C_SOURCE)
# Set if the compiler has vectors. Otherwise there is one set of kernels, in plain C.
GNU_C   := $(shell $(CC) -E -dM base/compiler.h 2>/dev/null | grep -w GNU_C)
NEEDED   = $(if $(TARGET),,$(error there is no compiler $(CC) that takes the flags of gcc: install it$(comma) or name another as CC=gcc))

# -ffp-contract=off: the compiler does not choose which operations to fuse, so all give the same bits.
FLAGS    = -std=c11 -ffp-contract=off $(SYSTEM) -I. -I$(BUILD)/text $(WARNINGS) -MMD -MP -fopenmp-simd

# The register tiles and vector loops are compiled once for each instruction set. No -ffast-math: masks
# need infinities and tests need NaNs. Loops begin at a cache line; otherwise their speed depends on the
# code before them.
ISA_FLAGS        = -fno-math-errno -fno-trapping-math -falign-loops=64
ISA_FLAGS_avx2   = -mavx2 -mfma
ISA_FLAGS_avx512 = -mavx512f -mavx512bw -mavx512dq -mavx512vl -mfma -mprefer-vector-width=512
ISA_FLAGS_bf16   = $(ISA_FLAGS_avx512) -mavx512bf16 -mamx-tile -mamx-bf16
# One object for programs and libraries, for they take the longest to compile. They assert nothing.
ANYWHERE         = $(if $(findstring mingw,$(TARGET)),,-fPIC -fvisibility=hidden)
X86_64           = $(and $(GNU_C),$(findstring x86_64,$(TARGET)))
ISAS             = base $(if $(X86_64),avx2 avx512)
BF16             = $(if $(X86_64),$(if $(findstring linux,$(TARGET)),model/kernels/bf16.o))

# All sources but the two programs' own, and model/plain, which is for readers and tests.
FOLDERS = base data model/kernels model/layers model/rungs model/engine model library \
          programs programs/train programs/sample
BY_ISA = model/kernels/isa.c model/kernels/bf16.c
SOURCES = $(filter-out $(BY_ISA),$(wildcard $(FOLDERS:%=%/*.c)))
# The longest to compile come first, so that no processor waits for them at the end.
OBJECTS = $(ISAS:%=model/kernels/isa_%.o) $(BF16) $(SOURCES:.c=.o)

VERSION := $(shell sed -n 's/.*TRIL_VERSION "\([0-9.]*\)".*/\1/p' library/tril.h)

# A rule that uses a tool waits for deps-TOOL, which installs the tool if it is missing: tests/deps.
# The objects of tests, wherever they are, wait for cmocka, unless they have one of their own.
deps-%:
	@tests/deps $*
test_tools = $(if $(findstring tests/,$(1)),$(CMOCKA:-l%=deps-%))

# The lists of tests; sources and settings that the extras add or replace.
include $(wildcard tests/build.mk extras/*/build.mk)

all: train sample

# Copies of the last build, with or without MPI.
train sample: %: $(BUILD)/% always
	@cmp -s $< $@ || { cp $< $<.new && mv -f $<.new $@; }
always:

define compile # flags
@mkdir -p $(@D)
$(call quiet,CC)$(CC) $(FLAGS) $(1) -c -o $@ $<
endef

# Of an archive the linker takes what is missing: an object that is named before it replaces one in it.
define link # flags, libraries
@mkdir -p $(@D)
$(call quiet,LD)$(CC) $(FLAGS) $(1) $(LDFLAGS) -o $@ $^ $(2) $(LDLIBS) $(AS_EXE)
endef
define archive
@rm -f $@
$(call quiet,AR)$(AR) qcs $@ $^
endef

# One build of the sources: the programs', here; others for tests, in tests/targets.mk.
define rules # directory, flags
$(1)/tril.a: $(OBJECTS:%=$(1)/%)
	$$(archive)
$(1)/train $(1)/sample: $(1)/%: $(1)/%.o $(1)/tril.a
	$$(call link,$(2))
$(1)/model/kernels/isa_%.o: model/kernels/isa.c
	$$(call compile,$(2) $$(ISA_FLAGS) $$(ANYWHERE) $$(ISA_FLAGS_$$*) -DISA=$$*)
$(1)/model/kernels/bf16.o: model/kernels/bf16.c
	$$(call compile,$(2) $$(ISA_FLAGS) $$(ANYWHERE) $$(ISA_FLAGS_bf16))
$(1)/%.o: %.c | $$$$(call test_tools,$$$$*)
	$$(call compile,$(2))
# What is around the model is compiled quickly, for it need not be fast.
$(patsubst %.c,$(1)/%.o,$(filter library/% programs/%,$(SOURCES))): CFLAGS := $(CFLAGS:-O3=-O1)
endef

.SECONDEXPANSION:
$(eval $(call rules,$(BUILD),$$(CFLAGS)))

include $(wildcard tests/targets.mk tests/*/targets.mk lesson/targets.mk extras/*/targets.mk)

RUNG = ngram

# Trains for TIME, or resumes an interrupted training run, then generates text.
run: train sample $(filter data/input.txt,$(INPUT))
	@printf 'Training on %s for %s (TIME=10m is longer), then writing 500 characters.\n' $(TEXT) '$(TIME)'
	@printf "Ctrl-C ends the training early and keeps what was learned; '%s' then resumes it.\n" \
	    $(call quoted,$(strip make run $(MAKEOVERRIDES)))
	@echo
	./train --model $(RUNG) --continue --time $(call quoted,$(TIME)) $(TEXT)
	./sample -n 500

data/input.txt:
	data/fetch any $@

deps: deps-cmocka
	@echo "deps: cmocka is there"

# Prints the targets with their lines in the documents.
help:
	@awk -F ' +# ' '/^make.* # / { printf "%-18s %s\n", $$1, $$2 } END { print "Tests: docs/testing.md" }' README.md docs/building.md

FORMATTED = $(shell find train.c sample.c base data extras lesson library model programs tests -name '*.[ch]')
format format-check: | deps-format
format:
	$(CLANG_FORMAT) -i $(FORMATTED)
format-check:
	$(CLANG_FORMAT) --dry-run -Werror $(FORMATTED)

clean:
	rm -f train sample $(MADE)
	rm -rf build

-include $(shell find build -type f -name '*.d' 2>/dev/null)
.PHONY: all always run deps help format format-check clean

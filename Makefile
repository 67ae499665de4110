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
ISA_FLAGS_portable = -DPORTABLE -Wno-psabi $(if $(X86_64),$(ISA_FLAGS_avx2))
ISA_FLAGS_scalar = -DPLAIN_C $(if $(X86_64),-mfma)
ISA_FLAGS_bf16   = $(ISA_FLAGS_avx512) -mavx512bf16 -mamx-tile -mamx-bf16
# One object for programs and libraries, for they take the longest to compile. They assert nothing.
ANYWHERE         = $(if $(findstring mingw,$(TARGET)),,-fPIC -fvisibility=hidden)
X86_64           = $(and $(GNU_C),$(findstring x86_64,$(TARGET)))
ISAS             = base $(if $(X86_64),avx2 avx512)
BF16             = $(if $(X86_64),$(if $(findstring linux,$(TARGET)),model/kernels/bf16.o))

# All sources but the two programs' own. model/plain is for readers and tests: no program links it.
FOLDERS = base data model/plain model/kernels model/layers model/rungs model/engine model library \
          programs programs/train programs/sample
BY_ISA = model/kernels/isa.c model/kernels/bf16.c
SOURCES = $(filter-out $(BY_ISA),$(wildcard $(FOLDERS:%=%/*.c)))
# The longest to compile come first, so that no processor waits for them at the end.
OBJECTS = $(ISAS:%=model/kernels/isa_%.o) $(BF16) $(SOURCES:.c=.o)

# The longest tests first, so that none runs alone at the end.
ALL     = $(patsubst %.c,%,$(wildcard tests/*/test_*.c))
LONG    = $(patsubst %,tests/programs/test_%,faults clock resume verdict) tests/model/test_sampler \
          tests/model/test_kernels $(patsubst %,tests/programs/test_%,interruption programs folder)
TESTS   = $(LONG) $(filter-out $(LONG),$(ALL))
SUPPORT = $(patsubst %,tests/%.o,main support blocks system_posix) model/kernels/isa_portable.o model/kernels/isa_scalar.o \
          $(patsubst %.c,%.o,$(filter-out %entry.c,$(wildcard tests/fuzz/*.c)))
SCRIPTS = documents exercises house messages screens

# The programs for the tests: unchanged, with a failing memory request, with a clock that the test drives.
PROGRAMS = train sample faulty/train faulty/sample clocked/train

VERSION := $(shell sed -n 's/.*TRIL_VERSION "\([0-9.]*\)".*/\1/p' library/tril.h)

# The tests whose results come from the kernels that the machine chooses, and the readers that `make fuzz` tries.
NUMBERS = $(patsubst %,tests/model/test_%,attention extend gradients ngram properties sampler) tests/library/test_training
FUZZ    = safetensors state command

# A rule that uses a tool waits for deps-TOOL, which installs the tool if it is missing: tests/deps.
# The objects of tests, wherever they are, wait for cmocka, unless they have one of their own.
deps-%:
	@tests/deps $*
test_tools = $(if $(findstring tests/,$(1)),$(CMOCKA:-l%=deps-%))

# Sources and settings that the extras add or replace.
include $(wildcard extras/*/build.mk)

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

# Builds of the same sources: the programs; the tests, with warnings as errors; the tests under the
# sanitizers. The output of a test program is PROGRAM.log, rewritten each time.
define rules # directory, flags
$(1)/tril.a: $(OBJECTS:%=$(1)/%)
	$$(archive)
$(1)/tests.a: $(SUPPORT:%=$(1)/%)
	$$(archive)
$(1)/train $(1)/sample: $(1)/%: $(1)/%.o $(1)/tril.a
	$$(call link,$(2))
$(1)/faulty/train $(1)/faulty/sample: $(1)/faulty/%: $(1)/%.o $(1)/tests/faulty.o $(1)/tests/blocks.o $(1)/tests/clocked.o $(1)/tril.a
	$$(call link,$(2))
$(1)/clocked/train: $(1)/train.o $(1)/tests/clocked.o $(1)/tril.a
	$$(call link,$(2))
$(TESTS:%=$(1)/%): $(1)/%: $(1)/%.o $(1)/tests.a $(1)/tril.a | build/act.txt
	$$(call link,$(2),$(CMOCKA))
$(TESTS:%=$(1)/%.log): %.log: % $(PROGRAMS:%=$(1)/%) always
	@tests/run $(1) $$<
$(1)/model/kernels/isa_%.o: model/kernels/isa.c
	$$(call compile,$(2) $$(ISA_FLAGS) $$(ANYWHERE) $$(ISA_FLAGS_$$*) -DISA=$$*)
$(1)/model/kernels/bf16.o: model/kernels/bf16.c
	$$(call compile,$(2) $$(ISA_FLAGS) $$(ANYWHERE) $$(ISA_FLAGS_bf16))
$(1)/%.o: %.c | $$$$(call test_tools,$$$$*)
	$$(call compile,$(2))
# Quickly compiled, for they need not be fast.
$(patsubst %,$(1)/%,$(TESTS:%=%.o) $(SUPPORT) tests/faulty.o tests/clocked.o): override CFLAGS += -O0
endef
# The first act of the play, for tests.
build/act.txt: data/sample.txt
	@mkdir -p $(@D)
	@head -n 374 $< >$@
SANITIZE = -O1 -g1 -Werror -fno-omit-frame-pointer -fsanitize=address,undefined -fno-sanitize-recover=all
STRICT   = $(call sets,base $(HERE),$(SANITIZE) $(if $(filter isa_% bf16.o,$(@F)),$(IN_LOOPS),$(call gcc,-fsanitize=bounds-strict)))
# Without value ranges gcc unrolls nothing here, which makes it three times slower. Null pointers, pointers that overflow
# and accesses beyond an object are left to AddressSanitizer. For kernels that only test_kernels runs, it calls functions.
IN_LOOPS = -fno-sanitize=null,object-size,pointer-overflow $(call gcc,-ftree-vrp $(if $(filter $(BEST).o bf16.o,$(@F)),,$(IN_CALLS)))
IN_CALLS = --param asan-instrumentation-with-call-threshold=0
gcc      = $(if $(findstring Free Software,$(shell $(CC) --version)),$(1))
# Returns flags $(2) for all files but kernels that are not among the sets $(1): these get the flags of `make test`.
sets     = $(if $(filter-out $(1:%=isa_%.o),$(filter isa_%,$(@F))),$(CFLAGS) -Werror,$(2))
HERE    := $(sort $(patsubst avx512f,avx512,$(shell grep -owsE 'avx2|avx512f' /proc/cpuinfo)))
BEST     = isa_$(or $(KERNELS),$(lastword base $(HERE)))
.SECONDEXPANSION:
$(eval $(call rules,$(BUILD),$$(CFLAGS)))
$(eval $(call rules,$(BUILD)/test,$$(CFLAGS) -Werror))
$(eval $(call rules,$(BUILD)/san,$$(STRICT)))
# For `make check`, without AVX-512: ThreadSanitizer finds unsynchronized accesses.
$(eval $(call rules,$(BUILD)/tsan,$$(call sets,$$(or $$(filter avx2,$$(HERE)),base),-O1 -g1 -fsanitize=thread)))

include $(wildcard lesson/targets.mk extras/*/targets.mk tests/*/targets.mk)

# Text inside a program: a string for each line. (Two question marks could begin a trigraph.)
$(BUILD)/text/%.inc: %
	@mkdir -p $(@D)
	$(call quiet,TEXT)sed 's/[\\"?]/\\&/g; s/.*/"&\\n",/' $< >$@

RUNG = ngram

# Trains for TIME, or resumes an interrupted training run, then generates text.
run: train sample $(filter data/input.txt,$(INPUT))
	@printf 'Training on %s for %s (TIME=10m is longer), then writing 500 characters.\n' $(TEXT) '$(TIME)'
	@printf "Ctrl-C ends the training early and keeps what was learned; '%s' then resumes it.\n" \
	    $(call quoted,$(strip make run $(MAKEOVERRIDES)))
	@echo
	./train --model $(RUNG) --continue --time $(TIME) $(TEXT)
	./sample -n 500
	@echo
	@./sample --info | sed -n 's/^held_out_loss  *\(.*\)/Reached a held-out loss of \1 nats per character./p'

data/input.txt:
	data/fetch any $@

# Runs as many test programs at once as make has jobs, each as soon as it is built. `test-all` repeats the
# slow tests more often, and runs them again under the sanitizers; `test-more` is its part beyond `test`.
$(SCRIPTS:%=$(BUILD)/test/tests/%.log): $(BUILD)/test/tests/%.log: $(PROGRAMS:%=$(BUILD)/test/%) always
	@mkdir -p $(@D)
	@tests/run $(BUILD)/test tests/$* $@
$(BUILD)/test/tests/messages.log: $(patsubst %,$(BUILD)/test/%.log,$(TESTS))
PLAIN = $(TESTS:%=$(BUILD)/test/%.log) $(SCRIPTS:%=$(BUILD)/test/tests/%.log)
# Not under the sanitizers: what these programs do in memory, others do.
UNSANITIZED = $(patsubst %,tests/programs/test_%,clock resume verdict)
SAN   = $(patsubst %,$(BUILD)/san/%.log,$(filter-out $(UNSANITIZED),$(TESTS)))
test: $(PLAIN)
MORE  = $(patsubst %,$(BUILD)/test/%.log,$(basename $(shell grep -lwE 'repeats|TRIL_ALL' $(TESTS:%=%.c) $(SCRIPTS:%=tests/%)))) $(SAN)
test-all: $(PLAIN) $(SAN) | $(if $(shell command -v clang),fuzz)
test-more: $(MORE)
test-numbers: $(NUMBERS:%=$(BUILD)/test/%.log)
san: $(SAN)
test-all test-more: export TRIL_ALL = 1
test: export TRIL_TESTS = $(words $(PLAIN))
test-all: export TRIL_TESTS = $(words $(PLAIN) $(SAN))
test-more: export TRIL_TESTS = $(words $(MORE))
export TRIL_RAN = $(BUILD)/ran
$(PLAIN) $(SAN): | began
began:
	@mkdir -p $(BUILD) && date +%s >$(TRIL_RAN)
test test-all test-more test-numbers san:
	@tests/total $^

# Static and dynamic checkers. .clang-tidy and tests/cppcheck say what they must not report, and why.
check: $(patsubst %,$(BUILD)/%,test/train test/sample tsan/train tsan/sample tsan/tests/library/test_library) | deps-check
	tests/check $(BUILD)

# Kills training runs twenty times as often as `make test-all`, and closes terminals twice as often.
soak: $(BUILD)/test/tests/programs/test_resume $(BUILD)/test/tests/programs/test_interruption $(PROGRAMS:%=$(BUILD)/test/%)
	TRIL_KILLS=1000 TRIL_PROGRAMS=$(BUILD)/test $(BUILD)/test/tests/programs/test_resume
	TRIL_CLOSINGS=200 TRIL_PROGRAMS=$(BUILD)/test $(BUILD)/test/tests/programs/test_interruption

# Tests the tests: make mutate ARGUMENTS="--count 300 --seed 7".
mutate: | deps-python
	tests/mutate $(ARGUMENTS)

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
.PHONY: all always run began test test-all test-more test-numbers san check soak mutate deps help format format-check clean

# tril: make run; make deps test; see README.md.

CC      = cc
CFLAGS  = -O3
OPENMP  = -fopenmp
INPUT   = data/input.txt
TIME    = 2m
PREFIX  = /usr/local
BUILD   = build
CLANG_FORMAT = clang-format

# The text as a word for the shell, which is to find nothing in its name but a name.
apostrophe = '
quoted = '$(subst $(apostrophe),'\'',$(1))'
TEXT = $(call quoted,$(patsubst -%,./-%,$(value INPUT)))

# A text that is not there is said before anything is built for it.
ifneq ($(filter run pictures,$(MAKECMDGOALS)),)
ifneq ($(INPUT),data/input.txt)
ifneq ($(shell test -f $(TEXT) && echo there),there)
$(error there is no text $(TEXT); name a file as INPUT=FILE, or leave it out for data/input.txt)
endif
endif
endif

# One process or, with MPI=1, several: mpirun -n 4 ./train ...
WORLD   = base/world.c
ifeq ($(MPI),1)
CC      = mpicc
BUILD   = build/mpi
WORLD   = base/world_mpi.c
endif

# A short line for each file; `make V=1` shows the commands, `make -s` neither.
ifneq ($(V),1)
quiet = @$(if $(SILENT),,printf '  %-5s %s\n' $(1) '$(@:$(BUILD)/%=%)';)
endif
SILENT := $(findstring s,$(filter-out --%,$(firstword -$(MAKEFLAGS))))

# No built-in rules (they would look for ways to remake every file); as many jobs as processors.
MAKEFLAGS += --no-builtin-rules
ifeq ($(MAKELEVEL),0)
MAKEFLAGS += --jobs=$(shell nproc 2>/dev/null || getconf _NPROCESSORS_ONLN 2>/dev/null || echo 1)
endif

WARNINGS = -Wall -Wextra -Wshadow -Wconversion -Wpointer-arith -Wstrict-prototypes -Wvla
ifeq ($(OPENMP),)
WARNINGS += -Wno-unknown-pragmas
endif
LDLIBS   = -lm -lpthread
SYSTEM   = -D_POSIX_C_SOURCE=200809L -D_FILE_OFFSET_BITS=64
TARGET  := $(shell $(CC) -dumpmachine)

# Apple's compiler has OpenMP but not its library, which Homebrew keeps where nobody looks for it.
ifneq ($(findstring darwin,$(TARGET)),)
SYSTEM  += -D_DARWIN_C_SOURCE
ifneq ($(OPENMP),)
ifneq ($(findstring Apple,$(shell $(CC) --version)),)
LIBOMP  := $(shell brew --prefix libomp 2>/dev/null)
ifeq ($(wildcard $(LIBOMP)/include/omp.h),)
ifneq ($(filter-out clean uninstall deps format format-check,$(or $(MAKECMDGOALS),all)),)
$(error OpenMP is missing: brew install libomp; or, for one thread: make OPENMP=)
endif
endif
OPENMP   = -Xpreprocessor -fopenmp -I$(LIBOMP)/include
LDLIBS  += -L$(LIBOMP)/lib -lomp
endif
endif
endif

FLAGS    = -std=c11 $(SYSTEM) -I. -I$(BUILD)/text $(WARNINGS) -MMD -MP -fopenmp-simd $(OPENMP)

# The register tiles and vector loops are compiled once for each instruction set. No -ffast-math:
# masks need infinities and tests need NaNs. Under the sanitizers clang leaves loops unvectorized,
# and need not say so.
ISA_FLAGS        = -ffp-contract=fast -fno-math-errno -fno-trapping-math -Wno-pass-failed
ISA_FLAGS_avx2   = -mavx2 -mfma
ISA_FLAGS_avx512 = -mavx512f -mavx512bw -mavx512dq -mavx512vl -mfma -mprefer-vector-width=512
ISA_FLAGS_bf16   = $(ISA_FLAGS_avx512) -mavx512bf16 -mamx-tile -mamx-bf16
ISAS             = base
ifneq ($(findstring x86_64,$(TARGET)),)
ISAS            += avx2 avx512
ifneq ($(findstring linux,$(TARGET)),)
BF16             = model/kernels/bf16.o
endif
endif

BASE    = $(filter-out base/world%,$(wildcard base/*.c)) $(WORLD)
SOURCES = $(BASE) $(wildcard data/*.c model/*.c) model/kernels/choose.c model/kernels/matmul.c \
          model/kernels/narrow.c model/kernels/team.c
REPORT   = $(patsubst %.c,%.o,$(wildcard report/*.c))
EXCHANGE = $(patsubst %.c,%.o,$(wildcard exchange/*.c))
SAMPLING = $(patsubst %.c,%.o,$(wildcard sampling/*.c))
TRAINING = $(patsubst %.c,%.o,$(wildcard training/*.c))
OBJECTS = $(SOURCES:.c=.o) $(ISAS:%=model/kernels/isa_%.o) $(BF16)

# The plain ladder: for readers and tests, not for the programs.
LADDER  = $(patsubst %.c,%.o,$(wildcard model/plain/*.c))

# The longest first, so that none of them runs on alone in the end.
LONG    = $(patsubst %,tests/test_%,programs faults resume properties training exchange sampler gradients)
TESTS   = $(LONG) $(filter-out $(LONG),$(patsubst %.c,%,$(wildcard tests/test_*.c)))

# The programs as the tests run them: as they are, with a request for memory that fails, and with a
# clock that the test drives.
PROGRAMS = train sample faulty/train faulty/sample clocked/train

# What reads any bytes, called with any bytes: by tests/test_fuzz and by a fuzzer (`make fuzz`).
HARNESSES = safetensors tokenizer utf8
FUZZ      = tests/fuzz/guard.o $(HARNESSES:%=tests/fuzz/%.o)
RUNS      = 10000000

# The head of attention that the README shows.
MAP = map-1-0

all: train sample

# From whichever build was made last, with MPI or without.
train sample: %: $(BUILD)/% always
	@cmp -s $< $@ || { cp $< $@.new && mv -f $@.new $@; }
always:

define compile # flags
@mkdir -p $(@D)
$(call quiet,CC)$(CC) $(FLAGS) $(1) -c -o $@ $<
endef

define link # flags, libraries
@mkdir -p $(@D)
$(call quiet,LD)$(CC) $(FLAGS) $(1) $(LDFLAGS) -o $@ $^ $(2) $(LDLIBS)
endef

# Three builds of the same sources: the programs; the tests, with warnings as errors; the same under
# the sanitizers. What a test program said is PROGRAM.log, made anew each time.
define rules # directory, flags
$(1)/train $(1)/tests/test_log $(1)/tests/test_request: $(TRAINING:%=$(1)/%)
$(1)/train $(1)/faulty/train $(1)/sample $(1)/faulty/sample $(1)/tests/test_report $(1)/tests/test_log $(1)/tests/test_request: $(REPORT:%=$(1)/%)
$(1)/train $(1)/faulty/train $(1)/sample $(1)/faulty/sample $(1)/tests/test_log $(1)/tests/test_request $(1)/tests/test_exchange: $(EXCHANGE:%=$(1)/%)
$(1)/sample $(1)/faulty/sample: $(SAMPLING:%=$(1)/%)
$(1)/train $(1)/sample: $(1)/%: $(1)/%.o $(OBJECTS:%=$(1)/%)
	$$(call link,$(2))
$(1)/faulty/train: $(TRAINING:%=$(1)/%)
$(1)/faulty/train $(1)/faulty/sample: $(1)/faulty/%: $(1)/%.o $(1)/tests/faulty.o $(OBJECTS:%=$(1)/%)
	$$(call link,$(2))
$(1)/clocked/train: $(TRAINING:%=$(1)/%) $(REPORT:%=$(1)/%) $(EXCHANGE:%=$(1)/%)
$(1)/clocked/train: $(1)/train.o $(1)/tests/clock.o $(filter-out $(1)/base/clock.o,$(OBJECTS:%=$(1)/%))
	$$(call link,$(2))
$(TESTS:%=$(1)/%): $(1)/%: $(1)/%.o $(LADDER:%=$(1)/%) $(1)/tests/support.o $(OBJECTS:%=$(1)/%)
	$$(call link,$(2),-lcmocka)
$(TESTS:%=$(1)/%.log): %.log: % $(PROGRAMS:%=$(1)/%) always
	@tests/run $(1) $$<
$(1)/tests/test_fuzz: $(FUZZ:%=$(1)/%)
$(1)/tests/test_recipe: $(1)/training/recipe.o
$(1)/tests/bench: $(1)/tests/bench.o $(1)/tests/peak.o $(OBJECTS:%=$(1)/%)
	$$(call link,$(2))
$(1)/tests/scale: $(1)/tests/scale.o $(OBJECTS:%=$(1)/%)
	$$(call link,$(2))
$(1)/tests/logits: $(1)/tests/logits.o $(EXCHANGE:%=$(1)/%) $(OBJECTS:%=$(1)/%)
	$$(call link,$(2))
$(1)/tests/peak.o: tests/peak.c
	$$(call compile,$(2) -ffp-contract=fast)
$(1)/model/kernels/isa_%.o: model/kernels/isa.c
	$$(call compile,$(2) $$(ISA_FLAGS) $$(ISA_FLAGS_$$*) -DISA=$$*)
$(1)/model/kernels/bf16.o: model/kernels/bf16.c
	$$(call compile,$(2) $$(ISA_FLAGS) $$(ISA_FLAGS_bf16))
$(1)/report/page.o: $(BUILD)/text/report/page.css.inc $(BUILD)/text/report/page.js.inc
$(1)/%.o: %.c
	$$(call compile,$(2))
endef
SANITIZE = -O1 -g1 -Werror -fno-omit-frame-pointer -fsanitize=address,undefined \
           -fno-sanitize-recover=all
# Without value ranges nothing is unrolled in the kernels, which are then three times as slow. A null
# pointer, and what is beyond an object, AddressSanitizer sees.
$(BUILD)/san/model/kernels/%.o: ISA_FLAGS += -ftree-vrp -fno-sanitize=null,object-size -Wno-ignored-optimization-argument
$(eval $(call rules,$(BUILD),$$(CFLAGS)))
$(eval $(call rules,$(BUILD)/test,$$(CFLAGS) -Werror))
$(eval $(call rules,$(BUILD)/san,$$(SANITIZE)))

# Text that a program carries within it: a string for each line.
$(BUILD)/text/%.inc: %
	@mkdir -p $(@D)
	$(call quiet,TEXT)sed 's/[\\"]/\\&/g; s/.*/"&\\n",/' $< >$@

# Trains for TIME, or goes on where that was interrupted, and writes.
run: train sample $(filter data/input.txt,$(INPUT))
	@printf 'Training on %s for %s (TIME=10m is longer), then writing 500 characters.\n' $(TEXT) '$(TIME)'
	@echo "Ctrl-C ends the training early and keeps what was learnt; 'make run' then goes on."
	@echo
	./train --continue --time $(TIME) $(TEXT)
	./sample -n 500
	@echo
	@./sample --info | sed -n 's/^validation_loss  *\(.*\)/Reached a validation loss of \1 nats per character./p'
	@printf '%s\n' "To train it further:  ./train --resume --time 10m "$(call quoted,$(TEXT))
	@[ $(TEXT) != data/input.txt ] || cat data/input.txt.origin 2>/dev/null || true

data/input.txt:
	data/fetch any $@

# As many test programs side by side as make has jobs, each as soon as it is built.
PLAIN = $(TESTS:%=$(BUILD)/test/%.log)
SAN   = $(TESTS:%=$(BUILD)/san/%.log)
test: $(PLAIN) $(SAN)
test-plain: $(PLAIN)
san: $(SAN)
test test-plain san:
	@tests/total $^

# Under the sanitizers, which make it eight times as slow, a training is killed less often.
$(SAN): export TRIL_KILLS ?= 10
$(SAN): export TRIL_CLOSINGS ?= 10

# Checkers, with what they are not to report and why: .clang-tidy, tests/cppcheck.
check: $(BUILD)/test/train $(BUILD)/test/sample
	@tests/deps check
	tests/check $(BUILD)/test

# The page that a training leaves behind, in a browser (headless Chromium).
test-page: $(BUILD)/test/train
	@tests/deps page
	tests/page $(BUILD)/test

# What `make install`, `make uninstall` and `make dist` do, in a folder of their own.
test-install: train sample
	@tests/deps install
	+tests/install

# Trainings on several processes, under Debian's Open MPI and MPICH.
test-mpi:
	@tests/deps mpi
	+tests/mpi

# Trainings killed ten times as often as in `make test`, and terminals closed twice as often.
soak: $(BUILD)/test/tests/test_resume $(BUILD)/test/tests/test_interruption $(PROGRAMS:%=$(BUILD)/test/%)
	TRIL_KILLS=500 TRIL_PROGRAMS=$(BUILD)/test $(BUILD)/test/tests/test_resume
	TRIL_CLOSINGS=200 TRIL_PROGRAMS=$(BUILD)/test $(BUILD)/test/tests/test_interruption

# What is different on 64-bit ARM is the kernels: compiled for it, and run by an emulator. The
# programs are only compiled.
ARM_TESTS = test_kernels test_attention test_gradients
test-arm:
	@tests/deps arm
	@$(MAKE) --no-print-directory BUILD=build/arm CC=aarch64-linux-gnu-gcc \
		$(ARM_TESTS:%=build/arm/test/tests/%) build/arm/test/train build/arm/test/sample
	@set -e; export OMP_WAIT_POLICY=passive; for test in $(ARM_TESTS); do \
		echo "aarch64: $$test"; qemu-aarch64 build/arm/test/tests/$$test; \
	done

# libFuzzer is clang's. What it finds worth keeping goes to build/fuzz/NAME.
fuzz: $(HARNESSES:%=fuzz-%)
fuzz-%:
	@mkdir -p build/fuzz/$*
	$(call quiet,FUZZ)clang $(FLAGS) $(SANITIZE) -fsanitize=fuzzer -fno-openmp -Wno-unknown-pragmas -DHARNESS=fuzz_$* \
		-o build/fuzz/fuzz_$* tests/fuzz/entry.c $(FUZZ:.o=.c) $(BASE) \
		model/safetensors.c data/tokenizer.c data/vocab.c
	build/fuzz/fuzz_$* -runs=$(RUNS) -max_len=1024 -verbosity=0 -print_final_stats=1 \
		build/fuzz/$* tests/fuzz/corpus/$*

# The pictures of the README, and its table: every rung for a minute, whatever becomes of it.
pictures: train $(INPUT)
	./train --ladder --time 6m --epochs 0 --patience 1 --out $(BUILD)/pictures/model.safetensors $(INPUT)
	docs/draw $(BUILD)/pictures/report.html $(MAP)

# The programs as tril-train and tril-sample, how a shell completes them and, where help2man is or in
# what `make dist` packs, their manual pages, which are made of --help.
MANUAL   = $(if $(wildcard docs/man/*.1),docs/man,$(BUILD)/man)
BIN      = $(DESTDIR)$(PREFIX)/bin
MAN      = $(DESTDIR)$(PREFIX)/share/man/man1
BASH     = $(DESTDIR)$(PREFIX)/share/bash-completion/completions
ZSH      = $(DESTDIR)$(PREFIX)/share/zsh/site-functions
HELP2MAN = $(shell command -v help2man)
PAGES    = $(if $(HELP2MAN)$(wildcard docs/man/*.1),tril-train.1 tril-sample.1)
VERSION  = $(shell sed -n 's/.*TRIL_VERSION "\(.*\)"/\1/p' version.h)

$(BUILD)/man/tril-%.1: $(BUILD)/% docs/man/tril-%.h2m
	@mkdir -p $(@D)
	@cp $< $(BUILD)/man/tril-$*
	$(call quiet,MAN)help2man --no-info --version-string=$(VERSION) --include=docs/man/tril-$*.h2m --output=$@ $(BUILD)/man/tril-$*

install: train sample $(PAGES:%=$(MANUAL)/%)
	install -d $(BIN) $(MAN) $(BASH) $(ZSH)
	install -m 755 $(BUILD)/train $(BIN)/tril-train
	install -m 755 $(BUILD)/sample $(BIN)/tril-sample
	install -m 644 docs/completion/tril.bash $(BASH)/tril-train
	install -m 644 docs/completion/tril.bash $(BASH)/tril-sample
	install -m 644 docs/completion/_tril $(ZSH)/_tril
	$(if $(PAGES),install -m 644 $(PAGES:%=$(MANUAL)/%) $(MAN),@echo "install: without manual pages, which need help2man")

uninstall:
	rm -f $(BIN)/tril-train $(BIN)/tril-sample $(MAN)/tril-train.1 $(MAN)/tril-sample.1
	rm -f $(BASH)/tril-train $(BASH)/tril-sample $(ZSH)/_tril

# What is committed, with the manual pages.
dist: $(BUILD)/man/tril-train.1 $(BUILD)/man/tril-sample.1
	git archive --output=$(BUILD)/tril-$(VERSION).tar.gz --prefix=tril-$(VERSION)/docs/man/ \
		$(^:%=--add-file=%) --prefix=tril-$(VERSION)/ HEAD
	@echo $(BUILD)/tril-$(VERSION).tar.gz

bench: $(BUILD)/tests/bench
	$(BUILD)/tests/bench

deps:
	@tests/deps

# In `make deps test` the tests wait for what they need.
ifneq ($(filter deps,$(MAKECMDGOALS)),)
$(foreach build,test san,$(patsubst %.c,$(BUILD)/$(build)/%.o,$(wildcard tests/*.c))): | deps
endif

FORMATTED = $(wildcard *.[ch] exchange/*.[ch] report/*.[ch] sampling/*.[ch] training/*.[ch] base/*.[ch] data/*.[ch] model/*.[ch] model/kernels/*.[ch] model/plain/*.[ch] tests/*.[ch] tests/fuzz/*.[ch])

format:
	$(CLANG_FORMAT) -i $(FORMATTED)

format-check:
	$(CLANG_FORMAT) --dry-run -Werror $(FORMATTED)

clean:
	rm -rf build train sample

-include $(shell find build -name '*.d' 2>/dev/null)
.PHONY: all always run test test-plain san check test-page test-install test-mpi soak test-arm fuzz pictures install uninstall dist bench deps format format-check clean

# tril: make run; make deps test; see README.md.

CC      = cc
CFLAGS  = -O3
INPUT   = data/input.txt
TIME    = 2m
PREFIX  = /usr/local
BUILD   = build
CLANG_FORMAT = clang-format

# The text's path quoted for the shell.
apostrophe = '
comma = ,
quoted = '$(subst $(apostrophe),'\'',$(1))'
TEXT = $(call quoted,$(patsubst -%,./-%,$(value INPUT)))

# Reports a missing text before building anything.
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

# Prints a short line for each file. `make V=1` prints the commands, `make -s` nothing.
ifneq ($(V),1)
quiet = @$(if $(SILENT),,printf '  %-5s %s\n' $(1) '$(@:$(BUILD)/%=%)';)
endif
SILENT := $(findstring s,$(filter-out --%,$(firstword -$(MAKEFLAGS))))

# No built-in rules, which make would try on every file. One job per processor.
MAKEFLAGS += --no-builtin-rules
ifeq ($(MAKELEVEL),0)
MAKEFLAGS += --jobs=$(shell nproc 2>/dev/null || getconf _NPROCESSORS_ONLN 2>/dev/null || echo 1)
endif

WARNINGS = -Wall -Wextra -Wshadow -Wconversion -Wpointer-arith -Wstrict-prototypes -Wvla
LDLIBS   = -lm -lpthread
SYSTEM   = -D_POSIX_C_SOURCE=200809L -D_FILE_OFFSET_BITS=64
TARGET  := $(shell $(CC) -dumpmachine)

ifneq ($(findstring darwin,$(TARGET))$(findstring macos,$(TARGET)),)
SYSTEM  += -D_DARWIN_C_SOURCE
endif

# Windows: stdio as C11 defines it. Warnings that its headers make wrong are off. No aligned moves of vectors:
# gcc does not align the stack there. And the tests' own cmocka.
ifneq ($(findstring mingw,$(TARGET)),)
SYSTEM  += -D_WIN32_WINNT=0x0A00 -D__USE_MINGW_ANSI_STDIO=1 -Wno-format -Wno-float-conversion \
           -Wa,-muse-unaligned-vector-move -Itests/windows
LDLIBS  += -lshell32
AS_EXE   = && ln -f $@.exe $@
SHIM     = tests/windows/cmocka.o
CMOCKA   =
else
CMOCKA   = -lcmocka
endif

# -ffp-contract=off: the compiler does not choose what is fused, so all give the same bits.
FLAGS    = -std=c11 -ffp-contract=off $(SYSTEM) -I. -I$(BUILD)/text $(WARNINGS) -MMD -MP -fopenmp-simd

# The register tiles and vector loops are compiled once for each instruction set. No -ffast-math:
# masks need infinities and tests need NaNs. Loops begin at a line of the cache: else their speed
# depends on the code before them (docs/performance.md). -Wno-pass-failed: under the sanitizers clang
# does not vectorize, and would warn.
ISA_FLAGS        = -fno-math-errno -fno-trapping-math -Wno-pass-failed -falign-loops=64
ISA_FLAGS_avx2   = -mavx2 -mfma
ISA_FLAGS_avx512 = -mavx512f -mavx512bw -mavx512dq -mavx512vl -mfma -mprefer-vector-width=512
ISA_FLAGS_portable = -DPORTABLE -Wno-psabi $(if $(findstring x86_64,$(TARGET)),$(ISA_FLAGS_avx2))
ISA_FLAGS_bf16   = $(ISA_FLAGS_avx512) -mavx512bf16 -mamx-tile -mamx-bf16
ISAS             = base
ifneq ($(findstring x86_64,$(TARGET)),)
ISAS            += avx2 avx512
ifneq ($(findstring linux,$(TARGET)),)
BF16             = model/kernels/bf16.o
endif
endif

# What systems do differently has a file for each.
HERE     = $(if $(findstring mingw,$(TARGET)),windows,posix)
OTHER    = $(if $(findstring mingw,$(TARGET)),posix,windows)
BASE    = $(filter-out base/world% base/%_$(OTHER).c,$(wildcard base/*.c)) $(WORLD)
SOURCES = $(BASE) $(wildcard data/*.c formats/*.c model/*.c model/rungs/*.c model/layers/*.c model/engine/*.c) model/kernels/choose.c model/kernels/matmul.c \
          model/kernels/bf16_weights.c model/kernels/int8_weights.c model/kernels/team.c
REPORT   = $(patsubst %.c,%.o,$(wildcard report/*.c))
SAMPLING = $(patsubst %.c,%.o,$(wildcard sampling/*.c))
TRAINING = $(patsubst %.c,%.o,$(wildcard training/*.c))
OBJECTS = $(SOURCES:.c=.o) $(ISAS:%=model/kernels/isa_%.o) $(BF16)

# The library, and what it is made of besides `OBJECTS`.
LIBRARY = $(patsubst %.c,%.o,$(filter-out library/example.c,$(wildcard library/*.c)))
BELOW   = $(patsubst %.c,%.o,$(wildcard learning/*.c))

# The plain ladder is for readers and tests, not for the programs.
LADDER  = $(patsubst %.c,%.o,$(wildcard model/plain/*.c))

# The style sheet and the scripts of every page.
PAGE_PARTS = $(wildcard report/*.css report/*.js)

# The longest tests first, so that none runs alone at the end.
LONG    = $(patsubst %,tests/test_%,programs faults resume properties training exchange sampler gradients)
TESTS   = $(LONG) $(filter-out $(LONG),$(patsubst %.c,%,$(wildcard tests/test_*.c)))

# The programs for the tests: unchanged, with a failing memory request, and with a clock that the
# test controls.
PROGRAMS = train sample faulty/train faulty/sample clocked/train

# The readers that tests/test_fuzz and a fuzzer (`make fuzz`) call with any bytes.
HARNESSES = safetensors tokenizer utf8
FUZZ      = tests/fuzz/guard.o $(HARNESSES:%=tests/fuzz/%.o)
RUNS      = 10000000

VERSION := $(shell sed -n 's/.*TRIL_VERSION "\(.*\)"/\1/p' version.h)

all: train sample

# Copies of the last build, with or without MPI.
train sample: %: $(BUILD)/% always
	@cmp -s $< $@ || { cp $< $@.new && mv -f $@.new $@; }
always:

define compile # flags
@mkdir -p $(@D)
$(call quiet,CC)$(CC) $(FLAGS) $(1) -c -o $@ $<
endef

define link # flags, libraries
@mkdir -p $(@D)
$(call quiet,LD)$(CC) $(FLAGS) $(1) $(LDFLAGS) -o $@ $^ $(2) $(LDLIBS) $(AS_EXE)
endef

# Builds of the same sources: the programs; the tests, with warnings as errors; the tests under the
# sanitizers. The output of a test program is PROGRAM.log, rewritten each time.
define rules # directory, flags
$(1)/train $(1)/faulty/train $(1)/clocked/train $(1)/tests/test_log $(1)/tests/test_request $(1)/tests/test_verdict: $(TRAINING:%=$(1)/%) $(LIBRARY:%=$(1)/%) $(BELOW:%=$(1)/%)
$(1)/train $(1)/faulty/train $(1)/sample $(1)/faulty/sample $(1)/tests/test_report $(1)/tests/test_explain $(1)/tests/test_log $(1)/tests/test_request $(1)/tests/test_verdict: $(REPORT:%=$(1)/%)
$(1)/sample $(1)/faulty/sample: $(SAMPLING:%=$(1)/%) $(LIBRARY:%=$(1)/%) $(BELOW:%=$(1)/%)
$(1)/train $(1)/sample: $(1)/%: $(1)/%.o $(OBJECTS:%=$(1)/%)
	$$(call link,$(2))
$(1)/faulty/train $(1)/faulty/sample: $(1)/faulty/%: $(1)/%.o $(1)/tests/faulty.o $(OBJECTS:%=$(1)/%)
	$$(call link,$(2))
$(1)/clocked/train: $(REPORT:%=$(1)/%)
$(1)/clocked/train: $(1)/train.o $(1)/tests/clock.o $(filter-out $(1)/base/clock.o,$(OBJECTS:%=$(1)/%))
	$$(call link,$(2))
$(TESTS:%=$(1)/%): $(1)/%: $(1)/%.o $(LADDER:%=$(1)/%) $(1)/tests/support.o $(1)/tests/system_$(HERE).o $(OBJECTS:%=$(1)/%) $(SHIM:%=$(1)/%)
	$$(call link,$(2),$(CMOCKA))
$(TESTS:%=$(1)/%.log): %.log: % $(PROGRAMS:%=$(1)/%) always
	@tests/run $(1) $$<
$(1)/tests/test_fuzz: $(FUZZ:%=$(1)/%)
$(1)/tests/test_kernels: $(1)/model/kernels/isa_portable.o
$(1)/tests/test_recipe: $(1)/learning/recipe.o
$(1)/tests/test_explain $(1)/tests/test_library $(1)/tests/test_lines $(1)/tests/test_report: $(LIBRARY:%=$(1)/%) $(BELOW:%=$(1)/%)
$(1)/tests/products: $(1)/tests/products.o $(OBJECTS:%=$(1)/%)
	$$(call link,$(2))
$(1)/tests/bench: $(1)/tests/bench.o $(1)/tests/peak.o $(OBJECTS:%=$(1)/%)
	$$(call link,$(2))
$(1)/tests/scale: $(1)/tests/scale.o $(OBJECTS:%=$(1)/%)
	$$(call link,$(2))
$(1)/tests/processes: $(1)/tests/processes.o $(LIBRARY:%=$(1)/%) $(BELOW:%=$(1)/%) $(OBJECTS:%=$(1)/%)
	$$(call link,$(2))
$(1)/tests/cores: $(1)/tests/cores.o $(OBJECTS:%=$(1)/%)
	$$(call link,$(2))
$(1)/tests/logits: $(1)/tests/logits.o $(OBJECTS:%=$(1)/%)
	$$(call link,$(2))
$(1)/tests/peak.o: tests/peak.c
	$$(call compile,$(2) -ffp-contract=fast)
$(1)/model/kernels/isa_%.o: model/kernels/isa.c
	$$(call compile,$(2) $$(ISA_FLAGS) $$(ISA_FLAGS_$$*) -DISA=$$*)
$(1)/model/kernels/bf16.o: model/kernels/bf16.c
	$$(call compile,$(2) $$(ISA_FLAGS) $$(ISA_FLAGS_bf16))
$(1)/report/html.o: $(PAGE_PARTS:%=$(BUILD)/text/%.inc)
$(1)/%.o: %.c
	$$(call compile,$(2))
endef
SANITIZE = -O1 -g1 -Werror -fno-omit-frame-pointer -fsanitize=address,undefined \
           -fno-sanitize-recover=all
# Without value ranges gcc unrolls nothing in the kernels, which makes them three times slower. Null
# pointers and accesses beyond an object are left to AddressSanitizer.
$(BUILD)/san/model/kernels/%.o: ISA_FLAGS += -ftree-vrp -fno-sanitize=null,object-size -Wno-ignored-optimization-argument
$(eval $(call rules,$(BUILD),$$(CFLAGS)))
$(eval $(call rules,$(BUILD)/test,$$(CFLAGS) -Werror))
$(eval $(call rules,$(BUILD)/san,$$(SANITIZE)))
# For `make check`: ThreadSanitizer finds what two threads use at once.
$(eval $(call rules,$(BUILD)/tsan,-O1 -g1 -fsanitize=thread))

# For the library: code for any address, with no name visible but those that tril.h exports, and
# without asserts, which would end a program that is not ours.
$(eval $(call rules,$(BUILD)/pic,$$(CFLAGS) -DNDEBUG -fPIC -fvisibility=hidden -ffunction-sections -fdata-sections))

# The library, static and shared, on systems with ELF. Both take of the program only what they use.
# In the static one, too, all other names are local: none can meet a name of the program that it is
# linked to.
AR       = ar
OBJCOPY  = objcopy
SONAME   = libtril.so.$(firstword $(subst ., ,$(VERSION)))
SHARED   = libtril.so.$(VERSION)
ELF      = $(if $(findstring mingw,$(TARGET))$(findstring darwin,$(TARGET))$(findstring macos,$(TARGET)),,yes)
PRODUCTS = $(if $(ELF),$(BUILD)/libtril.a $(BUILD)/$(SHARED) $(BUILD)/tril.pc)
PARTS    = $(patsubst %,$(BUILD)/pic/%,$(BELOW) $(OBJECTS))

library: $(PRODUCTS)

$(BUILD)/pic/parts.a: $(PARTS)
	@rm -f $@
	$(call quiet,AR)$(AR) rcs $@ $^

$(BUILD)/libtril.a: $(LIBRARY:%=$(BUILD)/pic/%) $(BUILD)/pic/parts.a
	$(call quiet,AR)$(CC) -r -nostdlib -o $(BUILD)/pic/tril.o $^ && \
		$(OBJCOPY) --localize-hidden $(BUILD)/pic/tril.o && rm -f $@ && $(AR) rcs $@ $(BUILD)/pic/tril.o

$(BUILD)/$(SHARED): $(LIBRARY:%=$(BUILD)/pic/%) $(BUILD)/pic/parts.a
	$(call quiet,LD)$(CC) -shared -Wl,-soname,$(SONAME) -Wl,--gc-sections -Wl,-z,defs $(CFLAGS) $(LDFLAGS) -o $@ $^ $(LDLIBS)

$(BUILD)/tril.pc: library/tril.pc.in version.h Makefile always
	@mkdir -p $(@D)
	@sed 's|@PREFIX@|$(PREFIX)|; s|@VERSION@|$(VERSION)|' $< >$@

# The library and its module for Python as a wheel, for this machine.
wheel: $(BUILD)/$(SHARED)
	@python3 python/wheel $< $(VERSION) $(BUILD)

# Tests the wheel in fresh virtual environments, with and without NumPy, and runs docs/notebook.ipynb.
test-python: $(BUILD)/$(SHARED) $(BUILD)/test/train $(BUILD)/test/sample
	@tests/deps python
	+tests/python $(BUILD)

# Text inside a program: a string for each line. (Two question marks could begin a trigraph.)
$(BUILD)/text/%.inc: %
	@mkdir -p $(@D)
	$(call quiet,TEXT)sed 's/[\\"?]/\\&/g; s/.*/"&\\n",/' $< >$@

# A short text is seen so often that conv learns it by heart (docs/records.md).
RUNG = $(shell { [ $$(wc -c <$(TEXT)) -lt 500000 ]; } 2>/dev/null && echo modern || echo conv)

# Trains for TIME, or resumes an interrupted training, then generates text.
run: train sample $(filter data/input.txt,$(INPUT))
	@printf 'Training on %s for %s (TIME=10m is longer), then writing 500 characters.\n' $(TEXT) '$(TIME)'
	@echo "Ctrl-C ends the training early and keeps what was learnt; 'make run' then goes on."
	@echo
	./train --model $(RUNG) --continue --time $(TIME) $(TEXT)
	./sample -n 500
	@echo
	@./sample --info | sed -n 's/^validation_loss  *\(.*\)/Reached a validation loss of \1 nats per character./p'
	@[ $(TEXT) != data/input.txt ] || cat data/input.txt.origin 2>/dev/null || true

data/input.txt:
	data/fetch any $@

# Runs as many test programs at once as make has jobs, each as soon as it is built.
DOCUMENTS = $(BUILD)/test/tests/documents.log
$(DOCUMENTS): $(BUILD)/test/train $(BUILD)/test/sample always
	@mkdir -p $(@D)
	@tests/documents $(BUILD)/test >$@ 2>&1; tail -n 1 $@
# Reads what --explain prints. Without Python it is skipped.
EXPLAIN = $(BUILD)/test/tests/explain.log
$(EXPLAIN): $(BUILD)/test/train $(BUILD)/test/sample always
	@mkdir -p $(@D)
	@if command -v python3 >/dev/null; then tests/explain $(BUILD)/test; \
		else echo 'tests/explain: 0 passed, 1 skipped, without python3'; fi >$@ 2>&1; tail -n 1 $@
PLAIN = $(TESTS:%=$(BUILD)/test/%.log) $(DOCUMENTS) $(EXPLAIN)
SAN   = $(TESTS:%=$(BUILD)/san/%.log)
# Those whose results come from the kernels.
NUMBERS = $(patsubst %,$(BUILD)/test/tests/test_%.log,attention exchange extend gguf gradients kernels lines pace plain properties resume sampler schedule training) $(EXPLAIN)
test: $(PLAIN) $(SAN)
test-plain: $(PLAIN)
test-numbers: $(NUMBERS)
san: $(SAN)
test test-plain test-numbers san:
	@tests/total $^

# The sanitizers are eight times slower, so the tests kill trainings less often.
$(SAN): export TRIL_KILLS ?= 10
$(SAN): export TRIL_CLOSINGS ?= 10

# Static and dynamic checkers. .clang-tidy and tests/cppcheck say what they must not report, and
# why.
check: $(BUILD)/test/train $(BUILD)/test/sample $(BUILD)/tsan/train $(BUILD)/tsan/sample $(BUILD)/tsan/tests/test_library
	@tests/deps check
	tests/check $(BUILD)

# Tests the page of a training in a browser (headless Chromium).
test-page: $(BUILD)/test/train
	@tests/deps page
	tests/page $(BUILD)/test

# The page that trains in a browser tab: the same C, compiled to WebAssembly twice, with and without
# relaxed SIMD (fused multiply-add), and the page, joined to one file. Only the loops over numbers, in
# kernels and layers, are compiled for speed: the page must be small. No address is beyond WEB_MEMORY
# bytes.
WEB_CC      = python3 -m ziglang cc -target wasm32-wasi
WEB_MEMORY  = 1073741824
WEB_FLAGS   = -std=c11 -ffp-contract=off $(SYSTEM) -DMEMORY_LIMIT=$(WEB_MEMORY) -I. $(WARNINGS) -Werror -MMD -MP \
              -Wno-unknown-pragmas -Wno-enum-float-conversion -fopenmp-simd -msimd128
WEB_LINK    = -mexec-model=reactor -s -Wl,--max-memory=$(WEB_MEMORY) -Wl,-z,stack-size=1048576
WEB_RELAXED = -mrelaxed-simd
WEB_SOURCES = $(LIBRARY:.o=.c) $(BELOW:.o=.c) $(wildcard web/*.c data/*.c model/*.c model/rungs/*.c model/layers/*.c model/engine/*.c) \
              $(filter-out $(patsubst %,base/%.c,claims file filesystem_posix processors_posix shell signals_posix terminal_posix \
                threads world_mpi) base/%_windows.c,$(wildcard base/*.c)) \
              $(patsubst %,formats/%.c,checkpoint huggingface quantize safetensors shards tokenizer trained) \
              $(patsubst %,report/%.c,chart explain explanation explanation_trace figure glyph heat map markup \
                sheet sheet_html sheet_text steps steps_attention steps_layers steps_linear steps_next) \
              $(patsubst %,model/kernels/%.c,bf16_weights int8_weights choose isa matmul team)
WEB_PARTS   = $(wildcard web/*.css web/*.js report/*.css report/*.js) data/sample.txt

define web_rules # name, flags
$(BUILD)/web/$(1)/%.o: %.c
	@mkdir -p $$(@D)
	$$(call quiet,ZIG)$(WEB_CC) $$(if $$(filter model/kernels/% model/layers/%,$$<),-O3,-Os) $(WEB_FLAGS) $$(if $$(filter %/isa.o,$$@),$(ISA_FLAGS) -ffp-contract=fast -DISA=base) $(2) -c -o $$@ $$<
$(BUILD)/web/$(1).wasm: $(WEB_SOURCES:%.c=$(BUILD)/web/$(1)/%.o)
	$$(call quiet,ZIG)$(WEB_CC) $(WEB_LINK) $$^ -o $$@
endef
$(eval $(call web_rules,simd))
$(eval $(call web_rules,relaxed,$(WEB_RELAXED)))

web: web/tril.html
web/tril.html: web/tab.html web/join $(WEB_PARTS) $(BUILD)/web/simd.wasm $(BUILD)/web/relaxed.wasm
	$(call quiet,JOIN)web/join web/tab.html web report data $(BUILD)/web >$@.new && mv $@.new $@

deps-web:
	@tests/deps web

# The same, natively and under the sanitizers. Where two objects have a function, such as web/file.o
# and base/file.o, the first one counts.
WEB_NATIVE = tests/web/calls.o $(patsubst %.c,%.o,$(wildcard web/*.c)) $(LIBRARY) $(BELOW) $(OBJECTS) $(REPORT)
$(BUILD)/san/tests/web/calls: $(WEB_NATIVE:%=$(BUILD)/san/%)
	$(call link,$(SANITIZE) -Wl$(comma)--allow-multiple-definition,-lcmocka)

# Tests the module under Node, and the page in a browser (headless Chromium).
test-web: $(BUILD)/web/simd.wasm $(BUILD)/web/relaxed.wasm web/tril.html $(BUILD)/test/train $(BUILD)/test/sample $(BUILD)/san/tests/web/calls
	$(BUILD)/san/tests/web/calls
	tests/web/module $(BUILD)
	tests/web/page $(BUILD)

# Tests `make install`, `make uninstall` and `make dist` in a temporary folder.
test-install: train sample
	@tests/deps install
	+tests/install

# Tests trainings on several processes, with Debian's Open MPI and MPICH.
test-mpi:
	@tests/deps mpi
	+tests/mpi

# Kills trainings ten times as often as `make test`, and closes terminals twice as often.
soak: $(BUILD)/test/tests/test_resume $(BUILD)/test/tests/test_interruption $(PROGRAMS:%=$(BUILD)/test/%)
	TRIL_KILLS=500 TRIL_PROGRAMS=$(BUILD)/test $(BUILD)/test/tests/test_resume
	TRIL_CLOSINGS=200 TRIL_PROGRAMS=$(BUILD)/test $(BUILD)/test/tests/test_interruption

# Tests of Windows under Debian's wine64: the test programs, and tests/windows/trial. Debian has no cmocka
# for mingw-w64: tests/windows/cmocka.h is the part that they use. docs/releases.md says why some are missing.
# The first program that runs makes wine's folder for all.
WINDOWS_NOT   = $(patsubst %,tests/test_%,interruption keys terminal)
WINDOWS_TESTS = $(filter-out $(WINDOWS_NOT),$(TESTS))
WINE          = $(or $(shell command -v wine64),/usr/lib/wine/wine64)
WINDOWS       = $(BUILD)/release/windows-x86_64
windows       = $(MAKE) --no-print-directory BUILD=$(WINDOWS) $(RELEASE_windows-x86_64) PROGRAMS='train sample clocked/train'
test-windows: export RUNNER = $(WINE)
test-windows: export WINEDEBUG = -all
test-windows: export TRIL_KILLS ?= 5
test-windows: $(BUILD)/test/train
	@tests/deps windows
	+@$(windows) $(WINDOWS)/train $(WINDOWS)/sample
	@$(WINE) $(WINDOWS)/sample.exe --version >/dev/null 2>&1
	+@$(windows) $(WINDOWS_TESTS:%=$(WINDOWS)/%.log)
	@tests/total $(WINDOWS_TESTS:%=$(WINDOWS)/%.log)
	@STEPS=25 tests/bits $(WINDOWS) $(WINE)
	tests/windows/trial $(WINDOWS) $(BUILD)/test

# Only the kernels differ on 64-bit ARM: an emulator runs their tests, and trains every rung to the
# same bits.
ARM_TESTS = test_kernels test_attention test_gradients
test-arm:
	@tests/deps arm
	@$(MAKE) --no-print-directory BUILD=build/arm CC=aarch64-linux-gnu-gcc \
		$(ARM_TESTS:%=build/arm/test/tests/%) build/arm/test/train build/arm/test/sample
	@set -e; for test in $(ARM_TESTS); do \
		echo "aarch64: $$test"; qemu-aarch64 build/arm/test/tests/$$test; \
	done
	@STEPS=25 tests/bits build/arm/test qemu-aarch64

# Runs libFuzzer, which needs clang. It keeps new inputs in build/fuzz/NAME.
fuzz: $(HARNESSES:%=fuzz-%)
fuzz-%:
	@mkdir -p build/fuzz/$*
	$(call quiet,FUZZ)clang $(FLAGS) $(SANITIZE) -fsanitize=fuzzer -DHARNESS=fuzz_$* \
		-o build/fuzz/fuzz_$* tests/fuzz/entry.c $(FUZZ:.o=.c) tests/system_$(HERE).c $(BASE) \
		formats/safetensors.c formats/quantize.c formats/tokenizer.c data/vocab.c $(CMOCKA)
	build/fuzz/fuzz_$* -runs=$(RUNS) -max_len=1024 -verbosity=0 -print_final_stats=1 \
		build/fuzz/$* tests/fuzz/corpus/$*

# The pictures of the documents: the losses of the README, and a head of docs/tour.md. They are the same on
# every processor with a fused multiply-add.
MAP      = map-0-0
PICTURES = --preset quick --steps 2500 --precision f32
pictures: train $(INPUT)
	./train $(PICTURES) --ladder --out $(BUILD)/pictures/ladder/model.safetensors $(INPUT)
	./train $(PICTURES) --out $(BUILD)/pictures/model.safetensors $(INPUT)
	docs/draw losses $(BUILD)/pictures/ladder/report.html docs/losses.svg
	docs/draw $(MAP) $(BUILD)/pictures/report.html docs/attention.svg

# Installs the programs as tril-train and tril-sample, the library, shell completion, and manual pages. The pages
# are made from --help by help2man; the archive of `make dist` already has them.
MANUAL   = $(if $(wildcard docs/man/*.1),docs/man,$(BUILD)/man)
BIN      = $(DESTDIR)$(PREFIX)/bin
MAN      = $(DESTDIR)$(PREFIX)/share/man/man1
BASH     = $(DESTDIR)$(PREFIX)/share/bash-completion/completions
ZSH      = $(DESTDIR)$(PREFIX)/share/zsh/site-functions
LIB      = $(DESTDIR)$(PREFIX)/lib
INCLUDE  = $(DESTDIR)$(PREFIX)/include
HELP2MAN = $(shell command -v help2man)
PAGES    = $(if $(HELP2MAN)$(wildcard docs/man/*.1),tril-train.1 tril-sample.1)

$(BUILD)/man/tril-%.1: $(BUILD)/% docs/man/tril-%.h2m
	@mkdir -p $(@D)
	@cp $< $(BUILD)/man/tril-$*
	$(call quiet,MAN)help2man --no-info --version-string=$(VERSION) --include=docs/man/tril-$*.h2m --output=$@ $(BUILD)/man/tril-$*

install: train sample library $(PAGES:%=$(MANUAL)/%)
	install -d $(BIN) $(MAN) $(BASH) $(ZSH) $(if $(ELF),$(LIB)/pkgconfig $(INCLUDE))
	install -m 755 $(BUILD)/train $(BIN)/tril-train
	install -m 755 $(BUILD)/sample $(BIN)/tril-sample
	install -m 644 docs/completion/tril.bash $(BASH)/tril-train
	install -m 644 docs/completion/tril.bash $(BASH)/tril-sample
	install -m 644 docs/completion/_tril $(ZSH)/_tril
	$(if $(ELF),install -m 644 library/tril.h $(INCLUDE))
	$(if $(ELF),install -m 644 $(BUILD)/libtril.a $(LIB))
	$(if $(ELF),install -m 755 $(BUILD)/$(SHARED) $(LIB))
	$(if $(ELF),ln -sf $(SHARED) $(LIB)/$(SONAME))
	$(if $(ELF),ln -sf $(SONAME) $(LIB)/libtril.so)
	$(if $(ELF),install -m 644 $(BUILD)/tril.pc $(LIB)/pkgconfig)
	$(if $(PAGES),install -m 644 $(PAGES:%=$(MANUAL)/%) $(MAN),@echo "install: without manual pages, which need help2man")

uninstall:
	rm -f $(BIN)/tril-train $(BIN)/tril-sample $(MAN)/tril-train.1 $(MAN)/tril-sample.1
	rm -f $(BASH)/tril-train $(BASH)/tril-sample $(ZSH)/_tril
	rm -f $(INCLUDE)/tril.h $(LIB)/pkgconfig/tril.pc $(LIB)/libtril.a $(LIB)/libtril.so $(LIB)/$(SONAME) $(LIB)/$(SHARED)

# Packs the committed files, the manual pages and, if its compiler is available, web/tril.html.
PACKED_PAGE = $(if $(filter dist,$(MAKECMDGOALS)),$(shell python3 -c 'import ziglang' 2>/dev/null && echo web/tril.html))
PACKED_MAN  = $(BUILD)/man/tril-train.1 $(BUILD)/man/tril-sample.1
dist: $(PACKED_MAN) $(PACKED_PAGE)
	git archive --output=$(BUILD)/tril-$(VERSION).tar.gz --prefix=tril-$(VERSION)/docs/man/ \
		$(PACKED_MAN:%=--add-file=%) --prefix=tril-$(VERSION)/web/ $(PACKED_PAGE:%=--add-file=%) \
		--prefix=tril-$(VERSION)/ HEAD
	@echo $(BUILD)/tril-$(VERSION).tar.gz

# Archives of the programs for other machines, each with its documents and the page, in build/release. The same sources
# and compilers give the same bytes. On a Mac the system's library comes with the system; elsewhere all is
# linked in.
ZIG        = python3 -m ziglang
ZIG_LIB   := $(if $(findstring release,$(MAKECMDGOALS)),$(shell $(ZIG) env 2>/dev/null | sed -n 's/^ *\.lib_dir = "\(.*\)",/\1/p'))
ZIG_FLAGS  = -O3 -Wno-unknown-pragmas -Wno-enum-float-conversion -Werror
RELEASES   = linux-x86_64 linux-aarch64 macos-x86_64 macos-aarch64 windows-x86_64
RELEASE_LINUX = CFLAGS='$(ZIG_FLAGS)' LDFLAGS='-static -s'
RELEASE_MACOS = CFLAGS='$(ZIG_FLAGS)' LDFLAGS=-s
RELEASE_linux-x86_64  = CC='$(ZIG) cc -target x86_64-linux-musl' $(RELEASE_LINUX)
RELEASE_linux-aarch64 = CC='$(ZIG) cc -target aarch64-linux-musl' $(RELEASE_LINUX)
RELEASE_macos-x86_64  = CC='$(ZIG) cc -target x86_64-macos' $(RELEASE_MACOS)
RELEASE_macos-aarch64 = CC='$(ZIG) cc -target aarch64-macos' $(RELEASE_MACOS)
RELEASE_windows-x86_64 = CC=x86_64-w64-mingw32-gcc-posix CFLAGS='-O3 -Werror' LDFLAGS='-static -s -Wl,--no-insert-timestamp'
NOTICES_all   = Zig=$(ZIG_LIB)/../LICENSE musl=$(ZIG_LIB)/libc/musl/COPYRIGHT \
                $(addprefix wasi-libc=$(ZIG_LIB)/libc/wasi/,LICENSE-MIT libc-bottom-half/cloudlibc/LICENSE)
NOTICES_windows = mingw-w64=/usr/share/doc/mingw-w64-common/copyright
RELEASE_DATE  = $(or $(SOURCE_DATE_EPOCH),$(shell git log -1 --format=%ct))

release: $(RELEASES:%=release-%)
release-%: web/tril.html
	+@$(MAKE) --no-print-directory BUILD=$(BUILD)/release/$* $(RELEASE_$*) $(BUILD)/release/$*/train $(BUILD)/release/$*/sample
	@SOURCE_DATE_EPOCH=$(RELEASE_DATE) release/pack $(BUILD) $* $(VERSION) $(NOTICES_all) $(NOTICES_$(firstword $(subst -, ,$*)))

# Unpacks the archives of `make release`, and runs those that can run here.
test-release:
	@tests/deps release
	+tests/release $(BUILD) $(VERSION)

bench: $(BUILD)/tests/bench
	$(BUILD)/tests/bench

deps:
	@tests/deps

# In `make deps test` the tests wait for deps.
ifneq ($(filter deps,$(MAKECMDGOALS)),)
$(foreach build,test san,$(patsubst %.c,$(BUILD)/$(build)/%.o,$(wildcard tests/*.c))): | deps
endif

FORMATTED = $(wildcard *.[ch] library/*.[ch] formats/*.[ch] report/*.[ch] web/*.[ch] sampling/*.[ch] training/*.[ch] learning/*.[ch] base/*.[ch] data/*.[ch] model/*.[ch] model/*/*.[ch] tests/*.[ch] tests/fuzz/*.[ch] tests/web/*.[ch] tests/windows/*.[ch])

format:
	$(CLANG_FORMAT) -i $(FORMATTED)

format-check:
	$(CLANG_FORMAT) --dry-run -Werror $(FORMATTED)

clean:
	rm -rf build train sample web/tril.html

-include $(shell find build -name '*.d' 2>/dev/null)
.PHONY: all always run library wheel test-python test test-plain test-numbers san check test-page web deps-web test-web test-install test-mpi soak test-arm fuzz pictures install uninstall dist release test-release test-windows bench deps format format-check clean

# The tests: see docs/testing.md. The output of a test program is PROGRAM.log, rewritten each time.

# The first act of the play, for tests.
build/act.txt: data/sample.txt
	@mkdir -p $(@D)
	@head -n 374 $< >$@

define test_rules # directory, flags
$(1)/tests.a: $(SUPPORT:%=$(1)/%) $(REFERENCE:%=$(1)/%)
	$$(archive)
$(1)/faulty/train $(1)/faulty/sample: $(1)/faulty/%: $(1)/%.o $(1)/tests/faulty.o $(1)/tests/blocks.o $(1)/tests/clocked.o $(1)/tril.a
	$$(call link,$(2))
$(1)/clocked/train: $(1)/train.o $(1)/tests/clocked.o $(1)/tril.a
	$$(call link,$(2))
$(TESTS:%=$(1)/%): $(1)/%: $(1)/%.o $(1)/tests.a $(1)/tril.a | build/act.txt
	$$(call link,$(2),$(CMOCKA))
$(TESTS:%=$(1)/%.log): %.log: % $(PROGRAMS:%=$(1)/%) always
	@tests/run $(1) $$<
# Quickly compiled, for they need not be fast.
$(patsubst %,$(1)/%,$(TESTS:%=%.o) $(SUPPORT) tests/faulty.o tests/clocked.o): override CFLAGS += -O0
endef

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

# The same sources built for tests: with warnings as errors; under the sanitizers; for `make check` under
# ThreadSanitizer, which finds unsynchronized accesses, without AVX-512.
FLAGS_test = $(CFLAGS) -Werror
FLAGS_san  = $(STRICT)
FLAGS_tsan = $(call sets,$(or $(filter avx2,$(HERE)),base),-O1 -g1 -fsanitize=thread)
$(eval $(call test_rules,$(BUILD),$$(CFLAGS)))
$(foreach kind,test san tsan,\
$(eval $(call rules,$(BUILD)/$(kind),$$(FLAGS_$(kind))))\
$(eval $(call test_rules,$(BUILD)/$(kind),$$(FLAGS_$(kind)))))

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
.PHONY: began test test-all test-more test-numbers san check soak mutate

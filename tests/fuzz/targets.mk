# Runs libFuzzer, which needs clang, on the readers that tests/library/test_fuzz calls, each for FUZZ_SECONDS: 36000
# are ten hours. Prints the edges and features that it covers, and keeps new inputs in build/fuzz/corpus/NAME.
FUZZ_SECONDS = 60
FUZZ_OBJECTS = $(patsubst %.c,build/fuzz/%.o,$(wildcard tests/fuzz/[fg]*.c extras/*/tests/fuzz_*.c)) \
	$(patsubst %,build/fuzz/tests/%.o,support blocks system_posix) build/fuzz/tril.a
# The kernels read no foreign bytes, and clang needs minutes for them with the sanitizers.
build/fuzz/model/kernels/%.o: override CFLAGS = -O1
fuzz: $(FUZZ:%=fuzz-%)
fuzz-built: | deps-clang
	@$(MAKE) --no-print-directory BUILD=build/fuzz CC=clang CFLAGS='$(SANITIZE) -fsanitize=fuzzer-no-link' $(FUZZ_OBJECTS)
fuzz-%: fuzz-built
	@mkdir -p build/fuzz/corpus/$*
	@clang $(FLAGS) $(SANITIZE) -fsanitize=fuzzer -DHARNESS=fuzz_$* -o build/fuzz/fuzz_$* tests/fuzz/entry.c \
		$(FUZZ_OBJECTS) $(CMOCKA) $(LDLIBS)
	@build/fuzz/fuzz_$* -max_total_time=$(FUZZ_SECONDS) -max_len=2048 -artifact_prefix=build/fuzz/found-$*- \
		build/fuzz/corpus/$* $(wildcard tests/fuzz/corpus/$* extras/*/tests/corpus/$*) >build/fuzz/$*.log 2>&1 || \
		{ cat build/fuzz/$*.log; exit 1; }
	@echo "fuzz $*: $$(grep -o 'cov: .* corp: [0-9]*' build/fuzz/$*.log | tail -n 1)"
.PHONY: fuzz fuzz-built

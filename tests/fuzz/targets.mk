# Runs libFuzzer, which needs clang, on the readers that tests/library/test_fuzz calls. It keeps new inputs in
# build/fuzz/NAME.
RUNS = 10000000
fuzz: $(FUZZ:%=fuzz-%)
fuzz-%:
	@mkdir -p build/fuzz/$*
	$(call quiet,FUZZ)clang $(FLAGS) $(SANITIZE) -fsanitize=fuzzer -DHARNESS=fuzz_$* \
		-o build/fuzz/fuzz_$* $(FUZZED) tests/system_posix.c $(CMOCKA)
	build/fuzz/fuzz_$* -runs=$(RUNS) -max_len=1024 -verbosity=0 -print_final_stats=1 \
		build/fuzz/$* $(wildcard tests/fuzz/corpus/$* extras/*/tests/corpus/$*)
.PHONY: fuzz

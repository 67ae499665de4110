# Benchmarks, linked to the programs' objects.
$(BUILD)/extras/bench/%: $(BUILD)/extras/bench/%.o $(BUILD)/tril.a
	$(call link,$(CFLAGS))
$(BUILD)/extras/bench/bench.o: extras/bench/bench.c
	$(call compile,$(CFLAGS) -ffp-contract=fast)

bench: $(BUILD)/extras/bench/bench
	$(BUILD)/extras/bench/bench
.PHONY: bench

# Benchmarks, linked to the programs' objects.
$(BUILD)/extras/bench/%: $(BUILD)/extras/bench/%.o $(BUILD)/extras/bench/peak.o $(BUILD)/tril.a
	$(call link,$(CFLAGS))
$(BUILD)/extras/bench/peak.o: extras/bench/peak.c
	$(call compile,$(CFLAGS) -ffp-contract=fast)

bench: $(BUILD)/extras/bench/bench
	$(BUILD)/extras/bench/bench
.PHONY: bench

$(BUILD)/extras/mpi/tests/ranks: $(BUILD)/extras/mpi/tests/ranks.o $(BUILD)/tril.a
	$(call link,$(CFLAGS))

# Tests training runs on several processes, with Debian's Open MPI and MPICH.
test-mpi: | deps-mpi
	+extras/mpi/tests/test
.PHONY: test-mpi

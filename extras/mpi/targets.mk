$(BUILD)/extras/mpi/ranks: $(BUILD)/extras/mpi/ranks.o $(BUILD)/tril.a
	$(call link,$(CFLAGS))

# Tests trainings on several processes, with Debian's Open MPI and MPICH.
test-mpi:
	@tests/deps mpi
	+extras/mpi/test
.PHONY: test-mpi

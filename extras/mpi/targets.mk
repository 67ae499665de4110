# Tests training runs on several processes, with Debian's Open MPI and MPICH.
test-mpi: | deps-mpi
	+extras/mpi/tests/test
.PHONY: test-mpi

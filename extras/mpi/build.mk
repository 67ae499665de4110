# One process or, with MPI=1, several: mpirun -n 4 ./train ...
ifeq ($(MPI),1)
CC       = mpicc
BUILD    = build/mpi
SOURCES := $(SOURCES:base/world.c=extras/mpi/world_mpi.c)
endif
TESTS += extras/mpi/tests/test_pair

# The lists of tests, to which build.mk of an extra may add its own.

# The longest tests first, so that none runs alone at the end.
ALL     = $(patsubst %.c,%,$(wildcard tests/*/test_*.c))
LONG    = $(patsubst %,tests/programs/test_%,faults clock resume verdict) tests/model/test_sampler \
          tests/model/test_kernels $(patsubst %,tests/programs/test_%,interruption programs folder)
TESTS   = $(LONG) $(filter-out $(LONG),$(ALL))
SUPPORT = $(patsubst %,tests/%.o,main support blocks system_posix) model/kernels/isa_portable.o model/kernels/isa_scalar.o \
          $(patsubst %.c,%.o,$(filter-out %entry.c,$(wildcard tests/fuzz/*.c)))
REFERENCE = $(patsubst %.c,%.o,$(wildcard model/plain/*.c))
SCRIPTS = documents exercises house messages screens

# The programs for the tests: unchanged, with a failing memory request, with a clock that the test drives.
PROGRAMS = train sample faulty/train faulty/sample clocked/train

# The tests whose results come from the kernels that the machine chooses, and the readers that `make fuzz` tries.
NUMBERS = $(patsubst %,tests/model/test_%,attention extend gradients ngram properties sampler) tests/library/test_training
FUZZ    = safetensors state command

# Two sets of kernels that only tests use: vectors of sixteen lanes in plain C, and one lane.
ISA_FLAGS_portable = -DPORTABLE -Wno-psabi $(if $(X86_64),$(ISA_FLAGS_avx2))
ISA_FLAGS_scalar = -DPLAIN_C $(if $(X86_64),-mfma)

# Runs the tests under clang's MemorySanitizer. It does not know stat64, and must compile the whole program: so
# cmocka is that of the tests for Windows. It also objects to records that are sent with their padding: test_pair.
MSAN = -O1 -g1 -Werror -fno-omit-frame-pointer -fsanitize=memory
MSAN_LOGS = $(patsubst %,build/msan/%.log,$(filter-out $(UNSANITIZED) extras/mpi/tests/test_pair,$(TESTS)))
build/msan/tests.a: build/msan/extras/windows/tests/cmocka.o
build/msan/model/kernels/isa_portable.o: override CFLAGS = -O0 -fsanitize=memory
build/msan/model/kernels/bf16.o: override CFLAGS += -include extras/msan/tiles.h
msan: | deps-clang
	@$(MAKE) --no-print-directory BUILD=build/msan CC=clang CMOCKA= CFLAGS='$(MSAN)' \
		SYSTEM='-D_POSIX_C_SOURCE=200809L -DMSAN -Iextras/windows/tests' $(MSAN_LOGS)
	@tests/total $(MSAN_LOGS)
.PHONY: msan

# Windows: stdio as C11 defines it. Warnings that its headers make wrong are off. No aligned moves of
# vectors: gcc does not align the stack there. And the tests' own cmocka.
ifneq ($(findstring mingw,$(TARGET)),)
SYSTEM  += -D_WIN32_WINNT=0x0A00 -D__USE_MINGW_ANSI_STDIO=1 -Wno-format -Wno-float-conversion \
           -Wa,-muse-unaligned-vector-move -Iextras/windows/tests
# Its C library's fmaf rounds several times; gcc replaces it only if it optimizes.
ISA_FLAGS_scalar += -O1
LDLIBS  += -lshell32
CMOCKA   =
AS_EXE   = && ln -f $@.exe $@
SOURCES := $(filter-out base/%_posix.c,$(SOURCES)) $(wildcard extras/windows/*.c)
SUPPORT := $(filter-out tests/blocks.o tests/system_posix.o,$(SUPPORT)) \
           extras/windows/tests/system_windows.o extras/windows/tests/cmocka.o
endif

# tril: make, make run, make deps test; see README.md.

CC      ?= cc
CFLAGS  ?= -O3
OPENMP  ?= -fopenmp
INPUT   ?= data/input.txt

WARNINGS = -Wall -Wextra -Wshadow -Wconversion -Wpointer-arith -Wstrict-prototypes -Wvla
ALL_CFLAGS = -std=c11 -D_POSIX_C_SOURCE=200809L -I. $(WARNINGS) $(OPENMP) -fopenmp-simd \
             -MMD -MP $(CFLAGS)
ifeq ($(OPENMP),)
ALL_CFLAGS += -Wno-unknown-pragmas
endif
LDLIBS  = -lm

# One build directory for each set of flags that needs its own objects.
BUILD   ?= build

# The register tiles and vector loops, once for each instruction set. No -ffast-math: masks need
# infinities and tests need NaNs.
ISA_CFLAGS = -ffp-contract=fast -fno-math-errno -fno-trapping-math
ifneq ($(filter x86_64 amd64,$(firstword $(subst -, ,$(shell $(CC) -dumpmachine)))),)
ISAS = base avx2 avx512
else
ISAS = base
endif
ISA_FLAGS_base   =
ISA_FLAGS_avx2   = -mavx2 -mfma
ISA_FLAGS_avx512 = -mavx512f -mavx512bw -mavx512dq -mavx512vl -mfma -mprefer-vector-width=512

LIBRARY_SOURCES = $(wildcard base/*.c data/*.c model/*.c) model/kernels/choose.c \
                  model/kernels/matmul.c
LIBRARY = $(LIBRARY_SOURCES:%.c=$(BUILD)/%.o) $(ISAS:%=$(BUILD)/model/kernels/isa_%.o)

all: train sample

train: $(BUILD)/train
	@cp $< $@

sample: $(BUILD)/sample
	@cp $< $@

$(BUILD)/train $(BUILD)/sample: $(BUILD)/%: $(BUILD)/%.o $(LIBRARY)
	$(CC) $(ALL_CFLAGS) $(LDFLAGS) -o $@ $^ $(LDLIBS)

$(BUILD)/model/kernels/isa_%.o: model/kernels/isa.c
	@mkdir -p $(@D)
	$(CC) $(ALL_CFLAGS) $(ISA_CFLAGS) $(ISA_FLAGS_$*) -DISA=$* -c -o $@ $<

$(BUILD)/%.o: %.c
	@mkdir -p $(@D)
	$(CC) $(ALL_CFLAGS) -c -o $@ $<

-include $(shell find $(BUILD) -name '*.d' 2>/dev/null)
.PHONY: all

# Archives of the programs for other machines, each with its documents and the page, in build/release. The same sources
# and compilers give the same bytes. On a Mac the system's library comes with the system; elsewhere all is
# linked in.
ZIG        = python3 -m ziglang
zig_env    = $(shell $(ZIG) env | sed -n 's/^ *\.$(1) = "\(.*\)",/\1/p')
ZIG_LEVEL ?= -O3
WINDOWS_LEVEL ?= -O3
ZIG_FLAGS  = $(ZIG_LEVEL) -Wno-unknown-pragmas -Wno-enum-float-conversion -Werror
RELEASES  ?= linux-x86_64 linux-aarch64 macos-x86_64 macos-aarch64 windows-x86_64
RELEASE_LINUX = CFLAGS='$(ZIG_FLAGS)' LDFLAGS='-static -s'
# zig's own executable: starting Python takes longer than compiling most files. CC cannot have a path with a space.
ZIG_ITSELF = $(eval ZIG_ITSELF := $(if $(word 2,$(call zig_env,zig_exe)),$(ZIG),$(call zig_env,zig_exe)))$(ZIG_ITSELF)
RELEASE_MACOS = CFLAGS='$(ZIG_FLAGS)' LDFLAGS=-s AR='$(ZIG_ITSELF) ar --format=darwin'
RELEASE_linux-x86_64  = CC='$(ZIG_ITSELF) cc -target x86_64-linux-musl' $(RELEASE_LINUX)
RELEASE_linux-aarch64 = CC='$(ZIG_ITSELF) cc -target aarch64-linux-musl' $(RELEASE_LINUX)
RELEASE_macos-x86_64  = CC='$(ZIG_ITSELF) cc -target x86_64-macos' $(RELEASE_MACOS)
RELEASE_macos-aarch64 = CC='$(ZIG_ITSELF) cc -target aarch64-macos' $(RELEASE_MACOS)
RELEASE_windows-x86_64 = CC=x86_64-w64-mingw32-gcc-posix CFLAGS='$(WINDOWS_LEVEL) -Werror' LDFLAGS='-static -s -Wl,--no-insert-timestamp'
NOTICES_all   = Zig="$$zig"/../LICENSE musl="$$zig"/libc/musl/COPYRIGHT \
                $(addprefix wasi-libc="$$zig"/libc/wasi/,LICENSE-MIT libc-bottom-half/cloudlibc/LICENSE)
NOTICES_windows = mingw-w64=/usr/share/doc/mingw-w64-common/copyright
RELEASE_DATE  = $(or $(SOURCE_DATE_EPOCH),$(shell git log -1 --format=%ct))

release: $(RELEASES:%=release-%)
release-windows-x86_64: | deps-mingw
release-%: extras/web/tril.html | deps-zig
	+@$(MAKE) --no-print-directory BUILD=$(BUILD)/release/$* $(RELEASE_$*) $(BUILD)/release/$*/train $(BUILD)/release/$*/sample
	@zig=$(call quoted,$(call zig_env,lib_dir)); SOURCE_DATE_EPOCH=$(RELEASE_DATE) extras/release/pack $(BUILD) $* $(VERSION) $(NOTICES_all) $(NOTICES_$(firstword $(subst -, ,$*)))

# Unpacks the archives of `make release`, and runs those that can run here.
test-release: | deps-release
	+extras/release/tests/test $(BUILD) $(VERSION)

# Tests on 64-bit ARM, under an emulator: only the kernels differ there, and extras/release/tests/test trains every rung.
CC_arm     = aarch64-linux-gnu-gcc
TESTS_arm  = $(patsubst %,build/arm/test/tests/model/test_%,kernels attention gradients)
# What is no loop of the kernels compiles faster, and need not be fast.
MACHINE_LEVEL = $(if $(filter isa_% bf16.o,$(@F)),-O3,-O1)
test-arm: | deps-arm
	@$(MAKE) --no-print-directory BUILD=build/arm CC='$(CC_arm)' CFLAGS='$(value MACHINE_LEVEL)' $(TESTS_arm)
	@set -e; for test in $(TESTS_arm); do echo "$$test"; qemu-aarch64 $$test; done

.PHONY: release test-release test-arm

# Archives of the programs for other machines, each with its documents and the page, in build/release. The same sources
# and compilers give the same bytes. On a Mac the system's library comes with the system; elsewhere all is
# linked in.
ZIG        = python3 -m ziglang
ZIG_LIB   := $(if $(findstring release,$(MAKECMDGOALS)),$(shell $(ZIG) env 2>/dev/null | sed -n 's/^ *\.lib_dir = "\(.*\)",/\1/p'))
ZIG_FLAGS  = -O3 -Wno-unknown-pragmas -Wno-enum-float-conversion -Werror
RELEASES  ?= linux-x86_64 linux-aarch64 macos-x86_64 macos-aarch64 windows-x86_64
RELEASE_LINUX = CFLAGS='$(ZIG_FLAGS)' LDFLAGS='-static -s'
RELEASE_MACOS = CFLAGS='$(ZIG_FLAGS)' LDFLAGS=-s AR='$(ZIG) ar --format=darwin'
RELEASE_linux-x86_64  = CC='$(ZIG) cc -target x86_64-linux-musl' $(RELEASE_LINUX)
RELEASE_linux-aarch64 = CC='$(ZIG) cc -target aarch64-linux-musl' $(RELEASE_LINUX)
RELEASE_macos-x86_64  = CC='$(ZIG) cc -target x86_64-macos' $(RELEASE_MACOS)
RELEASE_macos-aarch64 = CC='$(ZIG) cc -target aarch64-macos' $(RELEASE_MACOS)
RELEASE_windows-x86_64 = CC=x86_64-w64-mingw32-gcc-posix CFLAGS='-O3 -Werror' LDFLAGS='-static -s -Wl,--no-insert-timestamp'
NOTICES_all   = Zig=$(ZIG_LIB)/../LICENSE musl=$(ZIG_LIB)/libc/musl/COPYRIGHT \
                $(addprefix wasi-libc=$(ZIG_LIB)/libc/wasi/,LICENSE-MIT libc-bottom-half/cloudlibc/LICENSE)
NOTICES_windows = mingw-w64=/usr/share/doc/mingw-w64-common/copyright
RELEASE_DATE  = $(or $(SOURCE_DATE_EPOCH),$(shell git log -1 --format=%ct))

release: $(RELEASES:%=release-%)
release-%: extras/web/tril.html tril.c
	+@$(MAKE) --no-print-directory BUILD=$(BUILD)/release/$* $(RELEASE_$*) $(BUILD)/release/$*/train $(BUILD)/release/$*/sample
	@SOURCE_DATE_EPOCH=$(RELEASE_DATE) extras/release/pack $(BUILD) $* $(VERSION) $(NOTICES_all) $(NOTICES_$(firstword $(subst -, ,$*)))

# Unpacks the archives of `make release`, and runs those that can run here.
test-release:
	@tests/deps release
	+extras/release/test $(BUILD) $(VERSION)

# Only the kernels differ on 64-bit ARM: an emulator runs their tests. extras/release/test trains every rung there.
ARM_TESTS = $(patsubst %,model/test_%,kernels attention gradients)
test-arm:
	@tests/deps arm
	@$(MAKE) --no-print-directory BUILD=build/arm CC=aarch64-linux-gnu-gcc $(ARM_TESTS:%=build/arm/test/tests/%)
	@set -e; for test in $(ARM_TESTS); do \
		echo "aarch64: $$test"; qemu-aarch64 build/arm/test/tests/$$test; \
	done

.PHONY: release test-release test-arm

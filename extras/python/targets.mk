# The library and its module for Python as a wheel, for this machine.
wheel: $(BUILD)/$(SHARED) | deps-venv
	@python3 extras/python/packing.py wheel $< $(BUILD)

# Wheels for PyPI, with the programs and the page, compiled by zig: the same bytes each time. Where musl is the
# system's library, its name is libc.musl-x86_64.so.1; zig says libc.so, which auditwheel does not take.
WHEELS  = manylinux_2_17_x86_64.manylinux2014_x86_64 manylinux_2_17_aarch64.manylinux2014_aarch64 \
          musllinux_1_2_x86_64 musllinux_1_2_aarch64 macosx_11_0_x86_64 macosx_11_0_arm64 win_amd64
WHEEL_TARGET_manylinux = -target $(1)-linux-gnu.2.17
WHEEL_TARGET_musllinux = -target $(1)-linux-musl
WHEEL_TARGET_macosx    = -target $(1:arm64=aarch64)-macos.11.0
WHEEL_TARGET_win       = -target x86_64-windows-gnu
WHEEL_NAME_macosx = libtril.dylib
WHEEL_NAME_win    = tril.dll
wheel_system = $(firstword $(subst _, ,$(1)))
wheel_cc = $(ZIG) cc $(call WHEEL_TARGET_$(call wheel_system,$*),$(call wheel_machine,$*))
wheel_machine = $(or $(findstring x86_64,$(1)),$(findstring aarch64,$(1)),$(findstring arm64,$(1)))
wheels: $(WHEELS:%=wheel-%)
$(WHEELS:%=$(BUILD)/wheels/%.built): $(BUILD)/wheels/%.built: tril.c | extras/web/tril.html deps-zig
	@mkdir -p $(@D)/$*
	$(call quiet,ZIG)$(wheel_cc) $(CFLAGS) -DTRIL_NO_MAIN -DTRIL_PROGRAMS -fPIC -c tril.c -o $(@D)/$*/tril.o
	@$(if $(findstring musl,$*),$(wheel_cc) -shared -nostdlib -Wl$(comma)-soname$(comma)libc.musl-$(call wheel_machine,$*).so.1 -xc /dev/null -o $(@D)/$*/libc.so)
	@$(wheel_cc) -shared -s $(if $(findstring win_,$*),-Wl$(comma)/Brepro) $(@D)/$*/tril.o $(if $(findstring musl,$*),-nostdlib -Wl$(comma)--no-as-needed $(@D)/$*/libc.so,-lm -lpthread) \
		-o $(@D)/$*/$(or $(WHEEL_NAME_$(call wheel_system,$*)),libtril.so.0)
	@touch $@
$(WHEELS:%=wheel-%): wheel-%: $(BUILD)/wheels/%.built extras/web/tril.html
	@python3 extras/python/packing.py wheel \
		$(<:.built=)/$(or $(WHEEL_NAME_$(call wheel_system,$*)),libtril.so.0) $(BUILD)/wheels $*

# Sources for pip, which gcc and clang build, in build/wheels.
sdist: tril.c extras/web/tril.html
	@mkdir -p $(BUILD)/wheels
	@python3 extras/python/packing.py sources $(BUILD)/wheels

# Tests the wheel in fresh virtual environments, with and without NumPy, and runs the notebooks of docs/.
test-python: $(BUILD)/$(SHARED) $(BUILD)/test/train $(BUILD)/test/sample | deps-venv
	+extras/python/tests/test $(BUILD)

# Installs and uses the wheel for this machine, and the sources (with -O0, which compiles faster).
test-wheels: wheel-$(firstword $(WHEELS)) sdist | deps-venv
	extras/python/tests/artefact $(BUILD)/wheels/tril-$(VERSION)-py3-none-$(firstword $(WHEELS)).whl
	CFLAGS=-O0 extras/python/tests/artefact $(BUILD)/wheels/tril-$(VERSION).tar.gz
.PHONY: wheel wheels sdist test-wheels $(WHEELS:%=wheel-%) test-python

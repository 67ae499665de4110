# The library, its module for Python and the programs as a wheel, for this machine. pip install . builds its parts, and packs them.
WHEEL_PARTS = $(BUILD)/$(SHARED) $(BUILD)/pic/train $(BUILD)/pic/sample
wheel: $(WHEEL_PARTS) | deps-venv
	@python3 extras/python/packing.py wheel $(BUILD) here $(WHEEL_PARTS)

# Wheels for PyPI, with the page, compiled by zig and mingw-w64: the same bytes each time.
WHEELS  = manylinux_2_17_x86_64.manylinux2014_x86_64 manylinux_2_17_aarch64.manylinux2014_aarch64 \
          musllinux_1_2_x86_64 musllinux_1_2_aarch64 macosx_11_0_x86_64 macosx_11_0_arm64 win_amd64
wheel_cc     = TARGET=$(wheel_machine)-$(1) CC='$(ZIG_ITSELF) cc -target $(wheel_machine)-$(1)' CFLAGS='$(ZIG_FLAGS)' LDFLAGS=-s
wheel_machine = $(or $(findstring x86_64,$*),aarch64)
WHEEL_manylinux = $(call wheel_cc,linux-gnu.2.17)
WHEEL_musllinux = $(call wheel_cc,linux-musl)
WHEEL_macosx    = $(call wheel_cc,macos.11.0) AR='$(ZIG_ITSELF) ar --format=darwin'
WHEEL_win       = $(RELEASE_windows-x86_64)
wheels: $(WHEELS:%=wheel-%)
$(WHEELS:%=wheel-%): wheel-%: extras/web/tril.html | deps-zig
	+@$(MAKE) --no-print-directory BUILD=$(BUILD)/wheels/$* $(WHEEL_$(firstword $(subst _, ,$*))) wheel-parts
	@python3 extras/python/packing.py wheel $(BUILD)/wheels $* $$(cat $(BUILD)/wheels/$*/parts)
wheel-win_amd64: | deps-mingw
wheel-parts: $(WHEEL_PARTS)
	@echo $^ >$(BUILD)/parts

# Sources for pip, in build/wheels.
sdist: extras/web/tril.html | deps-python
	@mkdir -p $(BUILD)/wheels
	@python3 extras/python/packing.py sources $(BUILD)/wheels

# Tests the wheel in fresh virtual environments, with and without NumPy, and runs the notebooks of docs/.
test-python: $(BUILD)/$(SHARED) $(BUILD)/test/train $(BUILD)/test/sample | deps-venv
	+extras/python/tests/test $(BUILD)

# Installs and uses the wheel for this machine, and the sources (with -O0, which compiles faster).
test-wheels: wheel-$(firstword $(WHEELS)) sdist | deps-venv
	extras/python/tests/artefact $(BUILD)/wheels/tril_gpt-$(VERSION)-py3-none-$(firstword $(WHEELS)).whl
	CFLAGS=-O0 extras/python/tests/artefact $(BUILD)/wheels/tril_gpt-$(VERSION).tar.gz
.PHONY: wheel wheel-parts wheels sdist test-wheels $(WHEELS:%=wheel-%) test-python

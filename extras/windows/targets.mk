# Tests of Windows under Debian's wine64: the test programs, and extras/windows/tests/trial. Debian has
# no cmocka for mingw-w64: extras/windows/tests/cmocka.h is the part that they use. docs/releases.md says
# why some are missing. The first program that runs makes wine's folder for all.
WINDOWS_NOT   = $(patsubst %,tests/programs/test_%,clock interruption keys resume verdict) \
                $(patsubst %,tests/library/test_%,recipe training) tests/base/test_terminal tests/test_house \
                extras/page/tests/test_pages extras/formats/tests/test_exchange extras/mpi/tests/test_pair \
                $(filter-out tests/model/test_kernels,$(filter tests/model/%,$(TESTS)))
WINDOWS_TESTS = $(filter-out $(WINDOWS_NOT),$(TESTS))
WINE          = $(or $(shell command -v wine64),/usr/lib/wine/wine64)
WINDOWS       = $(BUILD)/release/windows-x86_64
windows       = $(MAKE) --no-print-directory BUILD=$(WINDOWS) $(RELEASE_windows-x86_64) PROGRAMS='train sample clocked/train'
test-windows: export RUNNER = $(WINE)
test-windows: export WINEDEBUG = -all
test-windows: export WINEPREFIX = $(abspath $(BUILD)/wine)
test-windows: $(BUILD)/test/train
	@tests/deps windows
	+@$(windows) $(WINDOWS)/train $(WINDOWS)/sample
	@$(WINE) $(WINDOWS)/sample.exe --version >/dev/null 2>&1
	+@$(windows) $(WINDOWS_TESTS:%=$(WINDOWS)/%.log)
	@tests/total $(WINDOWS_TESTS:%=$(WINDOWS)/%.log)
	@STEPS=25 tests/bits $(WINDOWS) $(WINE)
	extras/windows/tests/trial $(WINDOWS) $(BUILD)/test
.PHONY: test-windows

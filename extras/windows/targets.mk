# Tests of Windows under Debian's wine64: the test programs, and extras/windows/tests/trial. Debian has
# no cmocka for mingw-w64: extras/windows/tests/cmocka.h is the part that they use. docs/releases.md says
# why some are missing. One wine server, with its services, serves all: a program that starts while a server
# ends may fail, or find an empty registry; and services keep the pipes of the program that starts them open.
# Programs find the server in TMPDIR.
WINDOWS_NOT   = $(patsubst %,tests/programs/test_%,clock interruption resume verdict) \
                $(patsubst %,tests/library/test_%,recipe training) tests/base/test_terminal \
                extras/page/tests/test_pages extras/mpi/tests/test_pair \
                $(filter-out tests/model/test_kernels,$(filter tests/model/%,$(TESTS)))
WINDOWS_TESTS = $(filter-out $(WINDOWS_NOT),$(TESTS))
WINE          = $(or $(shell command -v wine64),/usr/lib/wine/wine64)
WINESERVER    = $(or $(shell command -v wineserver),/usr/lib/wine/wineserver)
WINDOWS       = $(BUILD)/release/windows-x86_64
windows       = $(MAKE) --no-print-directory BUILD=$(WINDOWS) $(RELEASE_windows-x86_64) PROGRAMS='train sample clocked/train'
test-windows: export RUNNER = $(WINE)
test-windows: export WINEDEBUG = -all
test-windows: export TMPDIR := $(or $(TMPDIR),/tmp)
test-windows: export WINEPREFIX = $(abspath $(BUILD)/wine)
test-windows: $(BUILD)/test/train | deps-windows
	+@$(windows) $(WINDOWS)/train $(WINDOWS)/sample
	@mkdir -p "$$WINEPREFIX"
	@$(WINESERVER) --wait; $(WINESERVER) --persistent=60 # seconds after the last program
	@$(WINE) $(WINDOWS)/sample.exe --version >/dev/null 2>&1 # wine makes its folder
	+@$(windows) $(WINDOWS_TESTS:%=$(WINDOWS)/%.log)
	@tests/total $(WINDOWS_TESTS:%=$(WINDOWS)/%.log)
	@STEPS=25 tests/bits $(WINDOWS) $(WINE)
	extras/windows/tests/trial $(WINDOWS) $(BUILD)/test
	@$(WINESERVER) --kill
.PHONY: test-windows

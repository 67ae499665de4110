# HTML pages: of a training run, beside its model. It replaces the core's stand-in.
SOURCES := $(filter-out programs/train/no_report.c,$(SOURCES)) $(wildcard extras/page/*.c)
TESTS   += extras/page/tests/test_figures extras/page/tests/test_pages
# The style and the scripts inside the programs.
PAGE_TEXTS = $(patsubst %,$(BUILD)/text/%.inc,$(wildcard extras/page/*.css extras/page/*.js))

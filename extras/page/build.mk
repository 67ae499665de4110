# HTML pages: of a training run, beside its model, and of an explanation. They replace the core's stand-ins.
SOURCES := $(filter-out programs/report/no_page.c programs/train/no_report.c,$(SOURCES)) $(wildcard extras/page/*.c)
TESTS   += extras/page/tests/test_figures extras/page/tests/test_pages
# The style and the scripts inside the programs.
PAGE_TEXTS = $(patsubst %,$(BUILD)/text/%.inc,$(wildcard extras/page/*.css extras/page/*.js))

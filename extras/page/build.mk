# The page of a training run, beside its model. It replaces the core's stand-in.
SOURCES := $(filter-out programs/train/no_report.c,$(SOURCES)) $(wildcard extras/page/*.c)
TESTS   += extras/page/tests/test_json extras/page/tests/test_pages
# The page, its style and its scripts inside the program.
PAGE_TEXT = $(BUILD)/text/extras/page/report.html.inc

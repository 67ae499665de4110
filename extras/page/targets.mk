$(patsubst %,%/extras/page/report.o,$(BUILD) $(BUILD)/test $(BUILD)/san $(BUILD)/tsan $(BUILD)/pic): $(PAGE_TEXTS)

# Tests the page of a training run in a browser (headless Chromium).
test-page: $(BUILD)/test/train $(BUILD)/test/clocked/train | deps-page
	extras/page/tests/figures
	extras/page/tests/page $(BUILD)/test
.PHONY: test-page

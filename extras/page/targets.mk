$(patsubst %,%/extras/page/report.o,$(BUILD) $(BUILD)/test $(BUILD)/san $(BUILD)/tsan $(BUILD)/pic): $(PAGE_TEXT)

# A string for each line. (Two question marks could begin a trigraph.)
$(PAGE_TEXT): extras/page/bundle $(wildcard extras/page/*.html extras/page/*.css extras/page/*.js)
	@mkdir -p $(@D)
	$(call quiet,TEXT)$< extras/page/report.html extras/page >$@.new && sed 's/[\\"?]/\\&/g; s/.*/"&\\n",/' $@.new >$@

# Tests the page of a training run in a browser (headless Chromium).
test-page: $(BUILD)/test/train $(BUILD)/test/clocked/train | deps-page
	extras/page/tests/figures
	extras/page/tests/page $(BUILD)/test
.PHONY: test-page

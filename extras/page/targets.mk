$(patsubst %,%/extras/page/page.o,$(BUILD) $(BUILD)/test $(BUILD)/san $(BUILD)/tsan $(BUILD)/pic): $(PAGE_TEXTS)

# Tests the page of a training run in a browser (headless Chromium).
test-page: $(BUILD)/test/train $(BUILD)/test/clocked/train | deps-page
	extras/page/tests/page $(BUILD)/test

# The pictures of the documents: the losses of the README, and a head of docs/tour.md. They are the same
# on every processor with a fused multiply-add.
MAP      = map-0-0
PICTURES = --preset quick --steps 2500 --precision f32
pictures: train $(filter data/input.txt,$(INPUT))
	./train $(PICTURES) --ladder --out $(BUILD)/pictures/ladder/model.safetensors $(TEXT)
	./train $(PICTURES) --out $(BUILD)/pictures/model.safetensors $(TEXT)
	docs/draw losses $(BUILD)/pictures/ladder/report.html docs/losses.svg
	docs/draw $(MAP) $(BUILD)/pictures/report.html docs/attention.svg
.PHONY: test-page pictures

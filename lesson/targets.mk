# The worked attention and the exercises of docs/lesson.md: make attention STEP=2, make exercise-head SOLUTION=mine.c.
LESSON = $(CC) -std=c11 -O1 -Wall -Wextra -Wno-unused-parameter -I.

$(BUILD)/lesson/attention: lesson/worked_attention.c
	@mkdir -p $(@D)
	$(call quiet,CC)$(LESSON) -o $@ $< -lm
attention: $(BUILD)/lesson/attention
	@$< $(STEP)

# Compiled each time, for a solution may be any file.
exercise-head exercise-top_k exercise-mask: exercise-%:
	@mkdir -p $(BUILD)/lesson
	@$(LESSON) -o $(BUILD)/lesson/$* $(call quoted,$(or $(value SOLUTION),lesson/exercise_$*.c)) lesson/check_$*.c -lm
	@$(BUILD)/lesson/$*
handout: | deps-python
	@mkdir -p $(BUILD)
	@lesson/handout >$(BUILD)/handout.html && echo $(BUILD)/handout.html
$(BUILD)/test/tests/exercises.log: export CC := $(CC)
.PHONY: attention handout exercise-head exercise-top_k exercise-mask

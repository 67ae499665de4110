# The library and its module for Python as a wheel, for this machine.
wheel: $(BUILD)/$(SHARED)
	@python3 extras/python/wheel $< $(VERSION) $(BUILD)

# Tests the wheel in fresh virtual environments, with and without NumPy, and runs docs/notebook.ipynb.
test-python: $(BUILD)/$(SHARED) $(BUILD)/test/train $(BUILD)/test/sample
	@tests/deps python
	+extras/python/tests/test $(BUILD)
.PHONY: wheel test-python

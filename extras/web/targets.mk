# The page that trains in a browser tab: the same C, compiled to WebAssembly twice, with and without
# relaxed SIMD (fused multiply-add), and the page, joined to one file. Only the loops over numbers, in
# kernels and layers, are compiled for speed: the page must be small, below 700,000 bytes. No address
# is beyond WEB_MEMORY bytes. WebAssembly cannot prefetch; without this definition,
# the loops would still compute what to prefetch.
WEB_CC      = python3 -m ziglang cc -target wasm32-wasi
WEB_MEMORY  = 1073741824
WEB_FLAGS   = -std=c11 '-D__builtin_prefetch(at,...)=(void)sizeof(at)' -ffp-contract=off $(SYSTEM) -D_WASI_EMULATED_SIGNAL -DMEMORY_LIMIT=$(WEB_MEMORY) -DMOST_COUNTED_BITS=21 -I. -I$(BUILD)/text $(WARNINGS) -Werror -MMD -MP \
              -Wno-unknown-pragmas -Wno-enum-float-conversion -fopenmp-simd -msimd128
WEB_WORKER  = $(patsubst %,extras/web/%.js,module library trainer backward reader worker)
# JavaScript calls these functions of tril.h and web.h.
WEB_CALLS   = malloc free $(shell grep -oh '"\(tril\|web\|memfile\|memory\|glyph\)_[a-z_]*"\|c\.web_[a-z_]*' $(WEB_WORKER) | sed 's/c\.//; s/"//g' | sort -u)
WEB_LINK    = -mexec-model=reactor -s -Wl,--max-memory=$(WEB_MEMORY) -Wl,-z,stack-size=1048576 $(WEB_CALLS:%=-Wl,--export=%)
WEB_RELAXED = -mrelaxed-simd
WEB_SMALL   = $(patsubst %,model/kernels/%.c,choose int8 team) $(patsubst %,model/layers/%.c,dropout counted program)
# Without the programs, and without the system's part of base/, which extras/web/ replaces.
WEB_NOT     = programs/train/% programs/sample/% \
              extras/page/% programs/common.c programs/texts.c \
              $(patsubst %,base/%.c,file filesystem_posix terminal_posix threads)
WEB_SOURCES = $(wildcard extras/web/*.c) $(filter-out $(WEB_NOT),$(SOURCES)) model/kernels/isa.c
WEB_PARTS   = $(wildcard extras/web/*.css extras/web/*.js) extras/page/figures.css extras/page/figures.js data/sample.txt

define web_rules # name, flags
$(BUILD)/web/$(1)/%.o: %.c | deps-zig
	@mkdir -p $$(@D)
	$$(call quiet,ZIG)$(WEB_CC) $$(if $$(filter-out $(WEB_SMALL),$$(filter model/kernels/% model/layers/%,$$<)),-O3,-Os) $(WEB_FLAGS) $$(if $$(filter %/isa.o,$$@),$(ISA_FLAGS) -DISA=base) $(2) -c -o $$@ $$<
$(BUILD)/web/$(1).wasm: $(WEB_WORKER) $(WEB_SOURCES:%.c=$(BUILD)/web/$(1)/%.o) | deps-zig
	$$(call quiet,ZIG)$(WEB_CC) $(WEB_LINK) $$(filter %.o,$$^) -o $$@
endef
$(eval $(call web_rules,simd))
$(eval $(call web_rules,relaxed,$(WEB_RELAXED)))

WEB_HEADERS = library/tril.h
$(BUILD)/text/extras/web/members.inc: extras/web/members $(WEB_HEADERS) | deps-python
	@mkdir -p $(@D)
	$(call quiet,TEXT)extras/web/members $(WEB_HEADERS) >$@
$(patsubst %,$(BUILD)/%/extras/web/web.o,web/simd web/relaxed san): $(BUILD)/text/extras/web/members.inc

# The models that are built in: trained here, with fixed seeds, through the module for Python.
$(BUILD)/web/trained: extras/web/train extras/python/tril/__init__.py library/tril.h $(BUILD)/$(SHARED) data/sample.txt | deps-python
	@mkdir -p $(@D)/tril
	@cp extras/python/tril/__init__.py library/tril.h $(@D)/tril && cp $(BUILD)/$(SHARED) $(@D)/tril/$(SONAME)
	$(call quiet,TRAIN)PYTHONPATH=$(@D) $< data/sample.txt >$@.new && mv $@.new $@

MADE += extras/web/tril.html
web: extras/web/tril.html
extras/web/tril.html: extras/web/tab.html extras/page/bundle $(WEB_PARTS) $(BUILD)/web/trained $(BUILD)/web/simd.wasm $(BUILD)/web/relaxed.wasm
	$(call quiet,JOIN)extras/page/bundle extras/web/tab.html extras/web extras/page data $(BUILD)/web >$@.new && mv $@.new $@

# The same, natively and under the sanitizers. Of two objects with one function, such as extras/web/memfile.o
# and base/file.o, the first one counts.
$(BUILD)/san/extras/web/tests/calls: $(patsubst %.c,$(BUILD)/san/%.o,extras/web/tests/calls.c $(wildcard extras/web/*.c)) $(BUILD)/san/tests.a $(BUILD)/san/tril.a
	$(call link,$(SANITIZE) -Wl$(comma)--allow-multiple-definition,$(CMOCKA))

# Tests the module under Node, and the page in a browser (headless Chromium).
test-web: $(BUILD)/web/simd.wasm $(BUILD)/web/relaxed.wasm extras/web/tril.html $(BUILD)/test/train $(BUILD)/test/sample $(BUILD)/san/extras/web/tests/calls | deps-web
	extras/web/tests/types
	$(BUILD)/san/extras/web/tests/calls
	extras/web/tests/module $(BUILD)
	extras/web/tests/messages $(BUILD) 5 1
	extras/web/tests/page $(BUILD)

# Random messages to the module, as part of `make fuzz` where there are a compiler for it and Node.
fuzz-messages: $(BUILD)/web/simd.wasm
	@extras/web/tests/messages $(BUILD) $(FUZZ_SECONDS)
ifneq ($(filter fuzz test-all,$(MAKECMDGOALS)),)
fuzz: $(shell command -v node >/dev/null && python3 -c 'import ziglang' 2>/dev/null && echo fuzz-messages)
endif
.PHONY: web test-web fuzz-messages

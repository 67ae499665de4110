# The library: code for any address, with no name visible but those that tril.h exports, and without
# asserts, which would end a program that is not ours. Static and shared, on systems with ELF. In the
# static one, too, all other names are local: none can meet a name of the program that it is linked to.
$(eval $(call rules,$(BUILD)/pic,$$(CFLAGS) $$(PIC)))
PIC      = -DNDEBUG -fPIC -fvisibility=hidden -ffunction-sections -fdata-sections
$(BUILD)/pic/model/kernels/isa_%.o $(BUILD)/pic/model/kernels/bf16.o: PIC =
OBJCOPY  = objcopy
SONAME   = libtril.so.$(firstword $(subst ., ,$(VERSION)))
SHARED   = $(if $(MAC),libtril.dylib,$(if $(findstring mingw,$(TARGET)),tril.dll,libtril.so.$(VERSION)))
ELF      = $(if $(findstring mingw,$(TARGET))$(MAC),,yes)
ELF_FLAGS = -Wl,-soname,$(SONAME) -Wl,--gc-sections -Wl,-z,defs
LIBRARY  = $(patsubst %.c,$(BUILD)/pic/%.o,$(filter library/%,$(SOURCES))) $(BUILD)/pic/tril.a

library: $(if $(ELF),$(BUILD)/libtril.a $(BUILD)/$(SHARED) $(BUILD)/tril.pc)

$(BUILD)/libtril.a: $(LIBRARY)
	$(call quiet,AR)$(CC) -r -nostdlib -o $(BUILD)/pic/tril.o $^ && \
		$(OBJCOPY) --localize-hidden $(BUILD)/pic/tril.o && rm -f $@ && $(AR) rcs $@ $(BUILD)/pic/tril.o

$(BUILD)/$(SHARED): $(LIBRARY)
	$(call quiet,LD)$(CC) -shared $(if $(ELF),$(ELF_FLAGS)) $(CFLAGS) $(LDFLAGS) -o $@ $^ $(LDLIBS)

$(BUILD)/tril.pc: extras/install/tril.pc.in library/tril.h $(MAKEFILE_LIST) always
	@mkdir -p $(@D)
	@{ printf 'prefix=%s\n' $(call quoted,$(PREFIX)); sed 's/@VERSION@/$(VERSION)/' $<; } >$@

# Installs the programs as tril-train and tril-sample, the library, shell completion, and manual pages.
# The pages are made from --help by help2man; the archive of `make dist` already has them.
MANUAL   = $(if $(wildcard extras/install/man/*.1),extras/install/man,$(BUILD)/man)
WHERE    = $(if $(filter ~%,$(PREFIX) $(DESTDIR)),$(error PREFIX='$(PREFIX)' DESTDIR='$(DESTDIR)' has a ~ that no shell expands: write the folder in full))$(call quoted,$(DESTDIR)$(PREFIX))
BIN      = $(WHERE)/bin
MAN      = $(WHERE)/share/man/man1
BASH     = $(WHERE)/share/bash-completion/completions
ZSH      = $(WHERE)/share/zsh/site-functions
LIB      = $(WHERE)/lib
INCLUDE  = $(WHERE)/include
HELP2MAN = $(shell command -v help2man)
PAGES    = $(if $(HELP2MAN)$(wildcard extras/install/man/*.1),tril-train.1 tril-sample.1)

$(BUILD)/man/tril-%.1: $(BUILD)/% extras/install/man/tril-%.h2m extras/install/man/environment.h2m | deps-man
	@mkdir -p $(@D)
	@cp $< $(BUILD)/man/tril-$*
	$(call quiet,MAN)help2man --no-info --version-string=$(VERSION) $(patsubst %,--include=%,$(filter %.h2m,$^)) --output=$@ $(BUILD)/man/tril-$*

install: train sample library $(PAGES:%=$(MANUAL)/%)
	install -d $(BIN) $(MAN) $(BASH) $(ZSH) $(if $(ELF),$(LIB)/pkgconfig $(LIB)/cmake/tril $(INCLUDE))
	install -m 755 $(BUILD)/train $(BIN)/tril-train
	install -m 755 $(BUILD)/sample $(BIN)/tril-sample
	install -m 644 extras/install/completion/tril.bash $(BASH)/tril-train
	install -m 644 extras/install/completion/tril.bash $(BASH)/tril-sample
	install -m 644 extras/install/completion/_tril $(ZSH)/_tril
	$(if $(ELF),install -m 644 library/tril.h $(INCLUDE))
	$(if $(ELF),install -m 644 $(BUILD)/libtril.a $(LIB))
	$(if $(ELF),install -m 755 $(BUILD)/$(SHARED) $(LIB))
	$(if $(ELF),ln -sf $(SHARED) $(LIB)/$(SONAME))
	$(if $(ELF),ln -sf $(SONAME) $(LIB)/libtril.so)
	$(if $(ELF),install -m 644 $(BUILD)/tril.pc $(LIB)/pkgconfig)
	$(if $(ELF),install -m 644 extras/install/tril-config.cmake $(LIB)/cmake/tril)
	$(if $(PAGES),install -m 644 $(PAGES:%=$(MANUAL)/%) $(MAN),@echo "install: without manual pages, which need help2man")

uninstall:
	rm -f $(BIN)/tril-train $(BIN)/tril-sample $(MAN)/tril-train.1 $(MAN)/tril-sample.1
	rm -f $(BASH)/tril-train $(BASH)/tril-sample $(ZSH)/_tril
	rm -f $(INCLUDE)/tril.h $(LIB)/pkgconfig/tril.pc $(LIB)/cmake/tril/tril-config.cmake $(LIB)/libtril.a $(LIB)/libtril.so $(LIB)/$(SONAME) $(LIB)/$(SHARED)

# Packs the committed files, the manual pages and, if its compiler is available, extras/web/tril.html.
PACKED_PAGE = $(if $(filter dist,$(MAKECMDGOALS)),$(shell python3 -c 'import ziglang' 2>/dev/null && echo extras/web/tril.html))
PACKED_MAN  = $(BUILD)/man/tril-train.1 $(BUILD)/man/tril-sample.1
dist: $(PACKED_MAN) $(PACKED_PAGE)
	git archive --output=$(BUILD)/tril-$(VERSION).tar.gz --prefix=tril-$(VERSION)/extras/install/man/ \
		$(PACKED_MAN:%=--add-file=%) --prefix=tril-$(VERSION)/extras/web/ $(PACKED_PAGE:%=--add-file=%) \
		--prefix=tril-$(VERSION)/ HEAD
	@echo $(BUILD)/tril-$(VERSION).tar.gz

# Tests `make install`, `make uninstall` and `make dist` in a temporary folder.
test-install: train sample
	@tests/deps install
	+extras/install/tests/test
.PHONY: library install uninstall dist test-install

# All sources in one file, which any compiler of GNU C builds: cc -O3 tril.c -lm -lpthread -o tril
ONE_WINDOWS = $(wildcard extras/windows/*.c)
ONE_SOURCES = $(sort $(filter-out model/plain/% $(ONE_WINDOWS),$(SOURCES)) $(wildcard base/*_posix.c)) \
              $(ONE_WINDOWS) $(BY_ISA) train.c sample.c
MADE += tril.c
tril.c: extras/amalgamation/join library/version.h $(ONE_SOURCES) $(wildcard $(FOLDERS:%=%/*.h) model/kernels/isa/*.h extras/*/*.h) $(PAGE_TEXTS)
	$(call quiet,JOIN)extras/amalgamation/join $(VERSION) $(BUILD)/text $(subst $() ,$(comma),$(ONE_WINDOWS)) $(ONE_SOURCES) >$@.new && mv $@.new $@

# All sources in one file, which gcc, clang and tcc build: cc -O3 tril.c -lm -lpthread -o tril
ONE_WINDOWS = $(wildcard extras/windows/*.c)
ONE_SOURCES = $(sort $(filter-out model/plain/% $(ONE_WINDOWS),$(SOURCES)) $(wildcard base/*_posix.c)) \
              $(ONE_WINDOWS) $(BY_ISA) train.c sample.c
ONE_SETS    = $(foreach isa,$(sort $(filter-out portable scalar,$(patsubst ISA_FLAGS_%,%,$(filter ISA_FLAGS_%,$(.VARIABLES))))),$(isa)=$(subst $() ,$(comma),$(strip $(ISA_FLAGS_$(isa)))))
MADE += tril.c
tril.c: extras/amalgamation/join Makefile library/tril.h $(ONE_SOURCES) $(wildcard $(FOLDERS:%=%/*.h) model/kernels/isa/*.h extras/*/*.h) $(PAGE_TEXTS) | deps-python
	$(call quiet,JOIN)extras/amalgamation/join $(VERSION) $(BUILD)/text $(subst $() ,$(comma),$(ONE_WINDOWS)) $(ONE_SETS) $(ONE_SOURCES) >$@.new && mv $@.new $@

# The files of other programs: folders of Hugging Face transformers, GGUF. They replace the list of none.
SOURCES := $(filter-out library/no_formats.c,$(SOURCES)) $(wildcard extras/formats/*.c)
TESTS   := extras/formats/tests/test_exchange $(TESTS) extras/formats/tests/test_gguf extras/formats/tests/test_tokenizer_json
SUPPORT := $(SUPPORT) extras/formats/tests/fuzz_tokenizer.o
NUMBERS += $(patsubst %,extras/formats/tests/test_%,exchange gguf)
FUZZ    += tokenizer
FUZZED  += extras/formats/tests/fuzz_tokenizer.c extras/formats/tokenizer_json.c extras/formats/folder.c

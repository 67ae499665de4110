# The files of other programs: folders of Hugging Face transformers, GGUF. They replace the list of none.
SOURCES := $(filter-out library/no_formats.c,$(SOURCES)) $(wildcard extras/formats/*.c)
TESTS   := extras/formats/tests/test_exchange $(TESTS) extras/formats/tests/test_gguf extras/formats/tests/test_tokenizer_json
SUPPORT := $(SUPPORT) $(patsubst %,extras/formats/tests/fuzz_%.o,tokenizer folder)
NUMBERS += $(patsubst %,extras/formats/tests/test_%,exchange gguf)
FUZZ    += tokenizer folder

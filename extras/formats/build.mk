# The files of other programs: folders of Hugging Face transformers, GGUF.
SOURCES += $(wildcard extras/formats/*.c)

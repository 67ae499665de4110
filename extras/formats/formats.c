/* formats.c - the list of other programs' formats. */
#include "library/formats.h"
#include "extras/formats/gguf.h"
#include "extras/formats/huggingface.h"

/* Transformers come last, because any path can name a folder. */
const Format *const formats[] = {&gguf_format, &huggingface_format, NULL};

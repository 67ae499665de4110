/* formats.c - the files of other programs that this tril knows. */
#include "library/formats.h"
#include "extras/formats/gguf.h"
#include "extras/formats/huggingface.h"

/* Every other path that is written is a folder for transformers: it comes last. */
const Format *const formats[] = {&gguf_format, &huggingface_format, NULL};

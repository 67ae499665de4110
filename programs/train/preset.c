#include "programs/train/preset.h"

#include <stdio.h>
#include <string.h>

/* ./train uses the first one by default. The last two are from nanoGPT (Karpathy, 2022): what its
 * README runs on a laptop, and config/train_shakespeare_char.py. */
static const struct {
    const char *name, *words;
} presets[] = {
    {"small", "--model=modern --layers=4 --heads=4 --width=128 --context=256 --batch=8 "
              "--steps=2500 --eval-every=250"},
    {"quick", "--model=modern --layers=2 --heads=3 --width=96 --context=128 --batch=8 "
              "--steps=1200 --eval-every=400"},
    {"base", "--model=modern --layers=6 --heads=8 --width=256 --context=512 --batch=8 "
             "--steps=3000 --eval-every=300 --dropout=0.15"},
    {"nanogpt-cpu", "--model=gpt --layers=4 --heads=4 --width=128 --context=64 --batch=12 "
                    "--steps=2000 --eval-every=250 --dropout=0 --lr=0.001 --patience=1"},
    {"nanogpt-gpu", "--model=gpt --layers=6 --heads=6 --width=384 --context=256 --batch=64 "
                    "--steps=5000 --eval-every=250 --dropout=0.2 --lr=0.001 --patience=1"},
};
enum { PRESETS = sizeof presets / sizeof *presets };

const char *preset_words(const char *name, Error *err) {
    char names[128] = "";
    for (size_t i = 0; i < PRESETS; i++) {
        if (strcmp(presets[i].name, name) == 0) return presets[i].words;
        size_t used = strlen(names);
        snprintf(names + used, sizeof names - used, "%s%s", i ? ", " : "", presets[i].name);
    }
    fail(err, "there is no preset '%s'; there are %s", name, names);
    return NULL;
}

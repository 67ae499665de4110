/* test_refusals.c - refusals of both programs: options that contradict each other or have no
 * effect, and wrong files. Each is one sentence, and nothing is left behind. (test_command_line has
 * the options that a resumed run cannot change, test_folder the folders.) */
#include "tests/command.h"

typedef struct {
    int status;
    const char *words, *name, *other; /* of the command, and in the message */
} Refusal;

/* Run with -q -o @refused. */
static const Refusal of_train[] = {
    {2, "", "FILE", "my.txt"},
    {1, "@none", "/none: ", ""},
    {1, "@void", "/void: ", ""},
    {1, "@short", "/short: ", "--context"},
    {1, "--val 0.999 @verse", "/verse: ", "--val"},
    {1, "@verse @folder/", "/folder: ", "folder/*.txt"},
    {1, "@verse @bytes", "/bytes: ", "0xFF"},
    {1, "-o @verse @verse", "/verse: ", ""},
    {1, "-o @plain @verse", "/plain: ", ""},
    {2, "--heads 3 @verse", "3 ", " 16"},
    {2, "-m modern -w 6 -H 2 @verse", " 3 ", " 6 "},
    {1, "--width 100000 @verse", "gpt: ", " GiB"},
    {1, "-m gpt -w 1048576 -b 65536 @verse", "gpt: ", " GiB"},
    {1, "-b 65536 -c 512 @verse", "65536 x 512", ""},
    {2, "--model gtp @verse", "--model", "'gtp'"},
    {2, "--model= @verse", "--model", ""},
    {2, "--precision f16 @verse", "--precision", "'f16'"},
    {2, "--preset none @verse", "--preset", "'none'"},
    {2, "--time 4 @verse", "--time", "--steps"},
    {2, "--epochs 2 @verse", "--epochs", ""},
    {2, "--val 0.1 --val-file @one @verse", "--val", "--val-file"},
    {1, "--val-file @one @verse", "/one: ", " 1 "},
    {1, "--val-file @verse @verse", "/verse: ", ""},
    {1, "--val-file - -", "standard input", ""},
    {1, "--val-file @folder @verse", "/folder: ", "folder/*.txt"},
    {1, "--val-file @bytes @verse", "/bytes: ", "0xFF"},
    {1, "-c 512 --val-file @verse @short", "/verse: ", "--context"},
    {1, "--resume @verse", "/state.safetensors: ", ""}, /* perhaps a mistyped name */
    {2, "--resume --continue @verse", "--resume", "--continue"},
    {2, "--resume --init @first @verse", "--init", ""},
    {2, "--init @modern --ladder @verse", "--init", "--ladder"},
    {2, "--init @modern --preset quick @verse", "--init", "--preset"},
    {1, "--init @none @verse", "/none: ", ""},
    {1, "--init @verse @verse", "/verse: ", ""},
    {1, "--init @folder @verse", "/folder/model.safetensors: ", ""},
    {1, "--init @modern @bytes", "/bytes: ", "0xFF"},
    {2, "-m conv --init @modern @verse", "--model=modern", "--model=conv"},
    {2, "-w 32 --init @modern @verse", "--width=16", "--width=32"},
    {2, "-c 32 --init @modern @verse", "--context=16", "--context=32"},
    {2, "-H 4 --init @modern @verse", "--heads=2", "--heads=4"},
    {2, "--kv-heads 1 --init @modern @verse", "--kv-heads=2", "--kv-heads=1"},
    {2, "--bytes --init @modern @verse", "--bytes", ""},
};

/* @gpt and @modern are models. */
static const Refusal of_sample[] = {
    {1, "@none", "/none: ", ""},
    {1, "@verse", "./train", "--prompt-file"},
    {1, "@cut", "/cut: ", ""},
    {1, "@folder", "/folder/model.safetensors: ", ""},
    {1, "-p caf\u00E9s @gpt", "--prompt: ", "U+00E9"},
    {1, "-p caf\xE9s @gpt", "--prompt: ", "0xE9"},
    {1, "--prompt-file @strange @gpt", "/strange: ", "U+4E94"},
    {1, "--prompt-file @none @gpt", "/none: ", ""},
    {1, "--stop \u00E9 @gpt", "--stop", "\u00E9"},
    {1, "--stop \r @gpt", "--stop", "newline"}, /* a text has none */
    {1, "--score @strange @gpt", "/strange: ", " 3 "},
    {1, "--score @none @gpt", "/none: ", ""},
    {1, "--score @bytes @gpt", "/bytes: ", "0xFF"},
    {1, "--score @one @gpt", "/one: ", ""},
    {1, "--explain ~~~\u597D @gpt", "--explain", "\u597D"},
    {1, "--explain THE --layer 7 @gpt", "--layer 7", ""},
    {1, "--explain THE --head 2 @gpt", "--head 2", ""},
    {1, "--explain THE --head 1 @average", "--head 1", ""},
    {1, "--explain THE --layer 0 @bigram", "--layer", ""},
    {1, "--counts 0.5 @gpt", "counts: 0.5", "gpt"},
    {2, "@gpt @gpt", "CHECKPOINT", " 2"},
    {2, "--explain T @gpt @modern", "CHECKPOINT", "2"},
    {2, "--precision int4 @gpt", "--precision", "'int4'"},
    {2, "--seed 3 --info @gpt", "--seed", "--info"},
    {2, "--stop a --info @gpt", "--info", "--stop"},
    {2, "--precision f32 --info @gpt", "--precision", "--info"},
    {2, "--samples 3 -i @gpt", "--samples", "--interactive"},
    {2, "-p THE --prompt-file @verse @gpt", "--prompt", "--prompt-file"},
    {2, "-i --prompt-file - @gpt", "--interactive", "--prompt-file -"},
    {2, "-q --info @gpt", "--quiet", "--info"},
    {2, "-i --copied @verse @gpt", "--interactive", "--copied"},
    {2, "--prompt-file - --copied - @gpt", "--prompt-file -", "--copied -"},
    {2, "--copied @verse --score @verse @gpt", "--copied", "--score"},
    {1, "--copied @none @gpt", "/none: ", ""},
    {1, "--copied @folder @gpt", "/folder: ", ""},
    {1, "--copied @strange @gpt", "/strange: ", "U+4E94"},
    {2, "-i --score @verse @gpt", "--interactive", "--score"},
    {2, "--score @verse --seed 3 @gpt", "--seed", "--score"},
    {2, "--precision f32 --explain a @gpt", "--precision", "--explain"},
    {2, "-j 1 --explain a @gpt", "--threads", "--explain"},
    {2, "--head 0 @gpt", "--head", "--explain"},
    {2, "--layer 0 @gpt", "--layer", ""},
    {2, "--stop= @gpt", "--stop", ""},
    {2, "-t 0 -k 5 @gpt", "--top-k", ""},
    {2, "-t 0 -P 0.5 @gpt", "--top-p", ""},
    {2, "-t 0 --seed 3 @gpt", "--seed", ""},
};

/* Sizes that train at once. */
#define SIZES "-l 1 -w 16 -H 2 -c 16 -b 4 "

TEST(train) {
    for (int i = 0; i < COUNT(of_train); i++) {
        const Refusal *r = &of_train[i];
        const bool own = strstr(r->words, "--init ") || strstr(r->words, "--preset ");
        run("train -q -s 5 -o @refused %s%s", own ? "" : "-m gpt " SIZES, r->words);
        expect_failure(r->status, r->name, r->other);
        assert_false(scratch_has("refused"));
    }
    must_fail(2, "train --preset quick -e 2 " ACT, "--epochs");
    must_fail(2, "train -t 1 --eval-every 5 " ACT, "--eval-every");
    must_fail(2, "train -t 2 -w 24 -H 5 -o @refused " ACT, "24", "5");
}

TEST(sample) {
    for (int i = 0; i < COUNT(of_sample); i++) {
        const Refusal *r = &of_sample[i];
        if (strstr(r->words, "\xE9s") && system_lacks(BYTE_WORDS)) continue;
        run("sample %s", r->words);
        expect_failure(r->status, r->name, r->other);
        assert_null(strstr(ran.err, "--bytes")); /* ./sample has no such option */
    }
    run("sample --score @verse @gpt @none");
    expect_exit(1, "none: ");
}

TEST(kernels) {
    const char *before = set_variable("KERNELS", "nonsense");
    must_fail(1, "train -q -s 5 -o @refused @verse", "KERNELS=nonsense", "base");
    assert_false(scratch_has("refused"));
    must_fail(1, "sample @gpt", "KERNELS=nonsense", "base");
    set_variable("KERNELS", before);
}

/* Without the usual model, ./sample says so; it reads one that is there. */
TEST(no_model) {
    char root[SCRATCH_PATH / 2];
    const char *folder = programs_folder();
    assert_non_null(getcwd(root, sizeof root));
    if (*folder != '/') folder = formatted("%s/%s", root, folder);
    const char *before = set_variable("TRIL_PROGRAMS", folder);
    assert_int_equal(chdir(scratch_directory()), 0);
    must_fail(1, "sample", "out: ");
    make_folder(scratch("out"));
    scratch_put("out/model.safetensors", "", 0);
    must_fail(1, "sample", "out/model.safetensors: ");
    assert_int_equal(chdir(root), 0);
    set_variable("TRIL_PROGRAMS", before);
}

SET_UP {
    size_t length;
    scratch_put("verse", slurp(ACT, NULL), 4000);
    must_run("train -q -m gpt " SIZES "-s 5 -o @gpt " ACT);
    must_run("train -q -m modern " SIZES "-s 5 -o @modern " ACT);
    must_run("train -q -m average -w 16 -c 16 -b 4 -s 5 -o @average " ACT);
    must_run("train -q -m bigram -c 16 -b 4 -s 5 -o @bigram " ACT);
    const char *whole = slurp(scratch("gpt/model.safetensors"), &length);
    scratch_put("cut", whole, length - 4);
    make_folder(scratch("folder"));
    scratch_put("void", "", 0);
    scratch_put("plain", "", 0);
    scratch_put("one", "T", 1);
    scratch_put("bytes", "fine\xFF", 5);
    scratch_put("strange", "\u4E94\u4E94\u4E94", 9);
    scratch_put("short", "eighteen letters..", 18);
}

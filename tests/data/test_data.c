/* test_data.c - characters to ids to batches: vocabularies, the split of a text file, and batch
 * offsets. Texts end at an unreadable page: reading one byte too far crashes. */
#include "tests/scratch.h"
#include "base/array.h"
#include "base/file.h"
#include "base/memory.h"

/* ---- vocabulary ---- */

static void free_vocab(void *vocab) {
    vocab_free(vocab);
    assert_true(((Vocab *)vocab)->codes == NULL && ((Vocab *)vocab)->size == 0);
}

/* A vocabulary, until the end of the test: of the text, or of bytes without one. */
static Vocab *build(const char *text, size_t length) {
    Vocab *vocab = scrap(1, sizeof *vocab);
    const char *bytes = text ? guarded(text, length) : NULL;
    assert_ok(vocab_build(vocab, bytes, length, !text, &err), err);
    at_end(free_vocab, vocab);
    return vocab;
}

/* A vocabulary of these characters, which are sorted, until the end of the test. */
static Vocab *split(const char *characters, size_t length) {
    Vocab *vocab = scrap(1, sizeof *vocab);
    assert_ok(vocab_split(vocab, guarded(characters, length), length, &err), err);
    at_end(free_vocab, vocab);
    return vocab;
}

/* Random characters of this pool, which is sorted. */
static const uint32_t pool[] = {'\n', ' ',   '!',   'a',    'b',    'z',
                                0xE9, 0x7FF, 0x800, 0x4E2D, 0x4E2E, 0x1F600};
enum { DRAWN = 60 };
typedef struct {
    char text[DRAWN * UTF8_MAX];
    size_t length, count;
    int places[DRAWN]; /* of the characters in the pool */
    bool has[COUNT(pool)];
} Drawn;

static Drawn draw_text(uint64_t seed) {
    Drawn d = {.count = 1 + (size_t)seed % DRAWN};
    const uint64_t kinds = 1 + random_bits(seed, DRAWN) % COUNT(pool);
    for (size_t i = 0; i < d.count; i++) {
        const int place = d.places[i] = (int)(random_bits(seed, i) % kinds);
        d.has[place] = true;
        d.length += (size_t)utf8_encode(pool[place], d.text + d.length);
    }
    return d;
}

/* The vocabulary has these characters of the pool, in order, and no others. */
static void expect_pool(const Vocab *vocab, const bool *has) {
    static const uint32_t others[] = {0, '\n' - 1, 'c', 0xEA, 0x1F601, 0x10FFFF};
    int id = 0;
    for (int i = 0; i < COUNT(pool); i++) {
        assert_int_equal(vocab_id(vocab, pool[i]), has[i] ? id : NO_ID);
        if (has[i]) assert_int_equal(vocab->codes[id++], pool[i]);
    }
    assert_int_equal(vocab->size, id);
    for (int i = 0; i < COUNT(others); i++) assert_int_equal(vocab_id(vocab, others[i]), NO_ID);
}

/* The ids of a text; an unknown character keeps its place. */
static int32_t *encode(const Vocab *vocab, const Drawn *d, bool all_known) {
    int32_t *ids;
    size_t count, unknown = 0;
    assert_ok(vocab_encode(vocab, guarded(d->text, d->length), d->length, &ids, &count,
                           all_known ? NULL : &unknown, &err),
              err);
    assert_int_equal(count, d->count);
    for (size_t i = 0; i < count; i++) {
        assert_int_equal(ids[i], vocab_id(vocab, pool[d->places[i]]));
        unknown -= ids[i] == NO_ID;
    }
    assert_int_equal(unknown, 0);
    return ids;
}

TEST(vocabularies) {
    for (uint64_t seed = 0; seed < 500; seed++) {
        const Drawn a = draw_text(2 * seed), b = draw_text(2 * seed + 1);
        const Vocab *own = build(a.text, a.length);
        bool both[COUNT(pool)];
        char *joined;
        size_t at = 0, length;
        Vocab all;
        for (int i = 0; i < COUNT(pool); i++) both[i] = a.has[i] || b.has[i];
        expect_pool(own, a.has);
        memory_free(encode(own, &b, false));
        assert_ok(vocab_extend(&all, own, guarded(b.text, b.length), b.length, &err), err);
        expect_pool(&all, both);
        int32_t *ids = encode(&all, &b, true);
        for (size_t i = 0; i < b.count; i++) {
            char piece[UTF8_MAX];
            const size_t taken = (size_t)vocab_text(&all, ids[i], piece);
            assert_memory_equal(b.text + at, piece, taken);
            at += taken;
        }
        memory_free(ids);
        assert_ok(vocab_join(&all, &joined, &length, &err), err);
        expect_pool(split(joined, length), both);
        memory_free(joined);
        vocab_free(&all);
    }
}

/* The characters before a text: a newline, else a space, else the first. */
TEST(start) {
    static const struct {
        const char *text;
        int start;
    } cases[] = {{"a\n\t ", 1}, {"a !", 0}, {"\n ", 0}, {"a\t ", 1}, {"ab", 0}};
    for (int i = 0; i < COUNT(cases); i++)
        assert_int_equal(vocab_start(build(cases[i].text, strlen(cases[i].text))), cases[i].start);
    assert_int_equal(build("", 0)->size, 0);
    const Vocab *bytes = build(NULL, 5);
    assert_int_equal(bytes->size, 256);
    for (int i = 0; i < 256; i++) assert_true(vocab_id(bytes, (uint32_t)i) == i);
}

/* Characters that are not sorted, or not distinct, are none that vocab_join wrote. */
TEST(split) {
    static const char *const wrong[] = {"ba", "abb", "a\xFF", "ab\xE4\xB8"};
    const Vocab *odd = split("\0\n\r", 3);
    int32_t *ids;
    size_t count;
    assert_ok(vocab_encode(odd, guarded("\r\n\0", 3), 3, &ids, &count, NULL, &err), err);
    assert_true(count == 3 && ids[0] == 2 && ids[1] == 1 && ids[2] == 0);
    memory_free(ids);
    for (int i = 0; i < COUNT(wrong); i++) {
        const size_t bytes = strlen(wrong[i]);
        Vocab none;
        assert_false(vocab_split(&none, guarded(wrong[i], bytes), bytes, &err));
        assert_null(none.codes);
    }
}

/* A message has the place of an unknown character, and lists those that the model knows, the first
 * 96, but no control characters. */
TEST(vocab_encode_unknown) {
    static const struct {
        const char *known, *text, *words[3];
    } cases[] = {
        {"ab\u4E2D", "abx", {" 3,", "'x'", "U+0078"}},
        {"ab\u4E2D", "\u4E2D\u00E9", {" 2,", "'\u00E9'", "U+00E9"}},
        {"ab\u4E2D", "\U0001F600", {" 1,", "'\U0001F600'", "U+1F600"}},
        {"ab\u4E2D", "a\n", {" 2,", "U+000A", ""}},
        {"ab\u4E2D", "ab\u4E2D\xFF", {"0xFF", " 5", ""}},
        {"\n\t the cat", "\u00DC", {"", "", "vocabulary: aceht"}},
        {"0123456789 ABCDxyz{|}~", "\u00DC", {"", "", "vocabulary: 0123456789ABCDxyz{|}~"}},
        {"Zabc\u00E4\u00E5\u00E6\u00E7",
         "\u00DC",
         {"", "", "vocabulary: Zabc\u00E4\u00E5\u00E6\u00E7"}}};
    char wide[600], *end = wide;
    int32_t *ids;
    size_t count, unknown;
    for (int i = 0; i < COUNT(cases); i++) {
        const char *const *words = cases[i].words;
        const size_t length = strlen(cases[i].text);
        const Vocab *vocab = build(cases[i].known, strlen(cases[i].known));
        assert_false(
            vocab_encode(vocab, guarded(cases[i].text, length), length, &ids, &count, NULL, &err));
        expect_error(err, words[0], words[1], words[2]);
        if (begins(words[2], "vocab")) assert_string_equal(strstr(err.text, "vocab"), words[2]);
        assert_null(ids);
    }
    for (uint32_t code = 0x4E00; end < wide + sizeof wide - UTF8_MAX; code += 2)
        end += utf8_encode(code, end);
    const Vocab *vocab = build(wide, (size_t)(end - wide));
    assert_false(vocab_encode(vocab, "a", 1, &ids, &count, NULL, &err));
    assert_string_equal(strstr(err.text, " ..."), " ...");
    assert_in_range(strlen(strstr(err.text, "vocabulary")), 96 * 3, 96 * 3 + 20);
    assert_false(vocab_encode(vocab, guarded("x\xFF", 2), 2, &ids, &count, &unknown, &err));
    expect_error(err, "0xFF", " 1", "UTF-8"); /* also where characters may be unknown */
    assert_null(ids);
}

/* ---- the bytes of a text ---- */

#define MARK "\xEF\xBB\xBF"

/* A byte order mark at the beginning is dropped, CR LF and CR are newlines, unless the vocabulary
 * has these characters. */
TEST(characters) {
    static const struct {
        const char *known, *text, *read;
    } cases[] = {{"", "a\r\nb\n", "a\nb\n"},
                 {"", "\r\r\n\n\ra\r", "\n\n\n\na\n"},
                 {"", MARK "a", "a"},
                 {"", MARK MARK "a" MARK, MARK "a" MARK},
                 {"", MARK, ""},
                 {"", MARK "\r\n", "\n"},
                 {"", "\xEF\xBB", NULL},
                 {"\r", MARK "a\r\nb", "a\r\nb"},
                 {MARK, MARK "a\r\nb", MARK "a\nb"}};
    for (int i = 0; i < COUNT(cases); i++) {
        const Vocab *known = split(cases[i].known, strlen(cases[i].known));
        const size_t length = strlen(cases[i].text);
        Characters characters = characters_of(known, guarded(cases[i].text, length), length);
        char read[64];
        size_t count = 0;
        for (uint32_t code; characters_next(&characters, &code);)
            count += (size_t)utf8_encode(code, read + count);
        assert_int_equal(characters.at < length, !cases[i].read);
        if (!cases[i].read) continue;
        assert_int_equal(count, strlen(cases[i].read));
        assert_memory_equal(read, cases[i].read, count);
    }
    Characters zero = characters_of(&(Vocab){0}, "a\0b", 3), raw;
    uint32_t code;
    assert_true(characters_next(&zero, &code) && !characters_next(&zero, &code));
    assert_int_equal(zero.at, 1);
    raw = characters_of(build(NULL, 0), MARK "\r\n\0\xFF", 7);
    for (int i = 0; i < 7; i++) {
        assert_true(characters_next(&raw, &code));
        assert_int_equal(code, (unsigned char)(MARK "\r\n\0\xFF")[i]);
    }
    assert_false(characters_next(&raw, &code));
}

/* Texts in other encodings, and other bytes that are no text: iconv's name or NULL, and the first
 * place that is not UTF-8, where the message has the byte. Behind much ASCII, those without zero
 * bytes are recognized, too. */
TEST(encodings) {
    static const struct {
        const char *text;
        int length;
        const char *name;
        int line, offset;
    } cases[] = {
        /* German; French with quotes; Chinese, simple, traditional, and in four bytes */
        {"In allen Wipfeln sp\374rest du\nkaum einen Hauch; die V\366gelein\n", 59, "LATIN1", 1,
         19},
        {"\351t\351 cr\351\351\n", 9, "LATIN1", 1, 0},
        {"La for\352t cr\351\351e, l\222\351t\351 \223d\222ici\224\n", 30, "CP1252", 1, 6},
        {"plain\n\264\262\307\260\303\367\324\302\271\342\243\254\322\311\312\307\265\330\311\317"
         "\313\252\241\243\n\276\331\315\267\315\373\303\367\324\302\n",
         42, "GB18030", 2, 6},
        {"\305e\356^\315\373\303\367\324\302\243\254\265\315\356^\313\274\271\312\340l\241\243\n\337@"
         "\202\200\207\370\274\322\265\304\353\212\304X\305c\325f\324\222\n",
         46, "GB18030", 1, 0},
        {"\304\343\272\303\2249\3746\305\363\323\321\n", 13, "GB18030", 1, 0},
        /* with a mark and without; Chinese */
        {"\377\376a\000b\000\374\000", 8, "UTF-16", 1, 0},
        {"\376\377\000a\000b\000\374", 8, "UTF-16", 1, 0},
        {"a\000b\000 \000\t\000\n\000", 10, "UTF-16LE", 1, 1},
        {"\000a\000b\000 \000c\000\n", 10, "UTF-16BE", 1, 0},
        {"\212^MR\016f\010gIQ\014\377\221u/f0W\nN\034\227\0020\n\000>N4Y\033g\016f\010g\n\000", 38,
         "UTF-16LE", 1, 0},
        {"^\212RMf\016g\010QI\377\014u\221f/W0N\n\227\0340\002\000\nN>Y4g\033f\016g\010\000\n", 38,
         "UTF-16BE", 1, 1},
        /* Shift JIS; Big5; Russian in CP1251 and KOI8-R; German in CP437 */
        {"\220\341\215\221\202\314\222\267\202\242\203g\203\223\203l\203\213\202\360\224\262\202\257\202\351\202\306\n",
         29, NULL, 1, 0},
        {"\301|\300Y\261\346\251\372\244\353\241A\247C\300Y\253\344\254G\266m\241C\n\263o\255\323\260"
         "\352\256a\252\272\271q\270\243\273P\273\241\270\334\n",
         46, NULL, 1, 0},
        {"\314\356\360\356\347 \350 \361\356\353\355\366\345; \344\345\355\374 \367\363\344\345\361"
         "\355\373\351!\n",
         31, NULL, 1, 0},
        {"\355\317\322\317\332 \311 \323\317\314\316\303\305; \304\305\316\330 \336\325\304\305\323"
         "\316\331\312!\n",
         31, NULL, 1, 0},
        {"In allen Wipfeln sp\201rest du\nkaum einen Hauch; die V\224gelein\n", 59, NULL, 1, 19},
        /* UTF-8 cut short and with a wrong byte; a zero byte; a program */
        {"sp\303\274rest du\rkaum einen\r\nHauch\n\303", 31, NULL, 4, 30},
        {"\345\272\212\345\211\215\346\230\216\n\344\n\345\272\212\345\211\215\346\230\216\n", 21,
         NULL, 2, 10},
        {"zero \000 byte\n", 12, NULL, 1, 5},
        {"\177ELF\002\001\001\000\000\000 \n\000>\000\001\000\360\340", 19, NULL, 1, 7}};
    enum { MUCH = 100000 };
    static char text[MUCH + 64];
    for (int i = 0; i < COUNT(cases); i++) {
        const size_t length = (size_t)cases[i].length;
        const char *bytes = guarded(cases[i].text, length), *name = cases[i].name;
        Vocab vocab;
        assert_false(vocab_build(&vocab, bytes, length, false, &err));
        assert_null(vocab.codes);
        expect_error(err,
                     formatted("line %d: byte 0x%02X at offset %d is", cases[i].line,
                               (unsigned char)bytes[cases[i].offset], cases[i].offset),
                     name ? formatted("`iconv -f %s -t UTF-8`", name) : "text; ", "bytes");
        for (int j = 0; j < MUCH; j++) text[j] = "many a line\n"[j % 12];
        memcpy(text + MUCH, bytes, length);
        text[MUCH - 1] = '\n';
        const bool utf16 = name && strncmp(name, "UTF", 3) == 0;
        const char *found = encoding_of(text, MUCH + length, MUCH + (size_t)cases[i].offset);
        assert_string_equal(found ? found : "", name && !utf16 ? name : "");
    }
}

/* ---- corpus ---- */

static void free_corpus(void *corpus) {
    corpus_free(corpus);
    assert_true(((Corpus *)corpus)->ids == NULL && ((Corpus *)corpus)->vocab.codes == NULL);
}

/* corpus_load, until the end of the test. */
static Corpus *load(const char *path, bool bytes, double held_out, const Vocab *known) {
    Corpus *corpus = scrap(1, sizeof *corpus);
    assert_ok(corpus_load(corpus, path, bytes, held_out, known), err);
    assert_int_equal(corpus->vocab.bytes, bytes);
    at_end(free_corpus, corpus);
    return corpus;
}

/* The first part, rounded down, is for training. Lengths count characters, not bytes. */
TEST(corpus_split) {
    static const size_t lengths[] = {33, 57, 60, 63, 87, 300, 999, 12345, 200001};
    static const char *const characters[] = {"abcdefghijklmnopqrstuvwxyz",
                                             "\xE5\x9C\xB0\xE4\xB8\xAD"};
    static char text[200001];
    for (int i = 0; i < 12 * COUNT(lengths); i++) {
        const char *cycle = characters[i % 2];
        const bool bytes = i / 2 % 2, wide = i % 2 && !bytes;
        const int tenths = 1 + i / 4 % 3;
        const size_t size = lengths[i / 12], length = wide ? size / 3 : size;
        for (size_t j = 0; j < size; j++) text[j] = cycle[j % strlen(cycle)];
        const Corpus *corpus = load(scratch_put("text", text, size), bytes, tenths / 10.0, NULL);
        const size_t distinct = wide ? 2 : i % 2 ? 6 : min_size(size, 26);
        assert_int_equal(corpus->characters, length);
        assert_int_equal(corpus->trained_on, length * (size_t)(10 - tenths) / 10);
        assert_int_equal(corpus->distinct, distinct);
        assert_int_equal(corpus->vocab.size, bytes ? 256 : distinct);
        for (size_t j = 0; j < length; j++)
            assert_int_equal(corpus->ids[j], bytes  ? (unsigned char)text[j]
                                             : wide ? j % 2 == 0
                                                    : j % 26);
    }
}

static void expect_no_corpus(const char *path, bool bytes, double held_out, const char *word) {
    Corpus corpus;
    if (corpus_load(&corpus, path, bytes, held_out, NULL))
        fail_msg("%s is taken; no message has '%s'", path, word);
    expect_error(err, word);
    assert_true(corpus.ids == NULL && corpus.vocab.codes == NULL && corpus.characters == 0);
}

/* Each part has two characters: of 11, two are held out, of 10 only one; of 20, two are left. */
TEST(corpus_errors) {
    static const struct {
        const char *bytes;
        size_t length;
        bool raw;
        double held_out;
        const char *word; /* NULL: none */
    } cases[] = {{"", 0, false, 0.1, ""},
                 {"", 0, true, 0.1, ""},
                 {"caf\xE9 au lait, encore", 20, false, 0.1, " 3"},
                 {"plain text at first\xE4\xB8", 21, false, 0.1, " 19"},
                 {"abcdefghijklmnopqrst", 20, false, 0.95, " 1 "},
                 {"abcdefghijklmnopqrst", 20, true, 1e-6, " 1 "},
                 {"abcdefghijklmnopqrst", 20, false, 0.89, NULL},
                 {"abcdefghijk", 11, false, 0.1, NULL},
                 {"abc", 3, false, 0.1, " 2 "},
                 {"a", 1, false, 0.1, ""}};
    for (int i = 0; i < COUNT(cases); i++) {
        const char *path = scratch_put("text", cases[i].bytes, cases[i].length);
        if (cases[i].word)
            expect_no_corpus(path, cases[i].raw, cases[i].held_out, cases[i].word);
        else
            load(path, cases[i].raw, cases[i].held_out, NULL);
    }
    expect_no_corpus(scratch("no-such-file"), false, 0.1, "");
    for (int raw = 0; raw < 2; raw++) expect_no_corpus(scratch("."), raw, 0.1, "");
}

/* Only passages of 50 characters count, wherever they are, and each character once. In a long text
 * a sample shows it. */
TEST(repeated) {
    enum { MOST = 1000000, TRAIN = MOST * 8 / 10 };
    static int32_t ids[MOST];
    static const struct {
        size_t length; /* of the copied passages */
        int count;
        double share;
    } cases[] = {{0, 0, 0}, {49, 100, 0}, {50, 100, 0.25}, {51, 3, 0.00765}, {20000, 1, 1}};
    for (int i = 0; i < COUNT(cases); i++) {
        Corpus corpus = {.ids = ids, .characters = 100000, .trained_on = 80000};
        double share = NAN;
        for (size_t j = 0; j < MOST; j++) ids[j] = (int32_t)(random_bits(9, j) >> 40);
        for (int k = 0; k < cases[i].count; k++)
            memcpy(ids + corpus.trained_on + (size_t)k * 200, ids + 7 + (size_t)k * 100,
                   cases[i].length * sizeof *ids);
        assert_ok(corpus_repeated(&corpus, &share, &err), err);
        assert_near(share, cases[i].share, 1e-9);
        corpus.characters = corpus.trained_on + 49; /* too short for a passage */
        assert_ok(corpus_repeated(&corpus, &share, &err), err);
        assert_near(share, 0, 0);
    }
    Corpus corpus = {.ids = ids, .characters = MOST, .trained_on = TRAIN};
    double share;
    memcpy(ids + TRAIN + 20000, ids + 1234, 60000 * sizeof *ids);
    assert_ok(corpus_repeated(&corpus, &share, &err), err);
    assert_near(share, 0.3, 0.02);
    memset(ids, 0, sizeof ids);
    assert_ok(corpus_repeated(&corpus, &share, &err), err);
    assert_near(share, 1, 0);
}

/* The longest passage of ids[count] that has ids[at] and stands in text[length]. */
static int32_t longest_with(const int32_t *text, size_t length, const int32_t *ids, size_t count,
                            size_t at) {
    size_t most = 0;
    for (size_t from = 0; from <= at; from++)
        for (size_t i = 0, n; i < length; i++) {
            for (n = 0; from + n < count && i + n < length && ids[from + n] == text[i + n];) n++;
            if (from + n > at && n > most) most = n;
        }
    return (int32_t)most;
}

/* Few letters, so that passages repeat, and a negative id that divides two texts. */
TEST(copied) {
    enum { TRAIN = 60, MOST = 40 };
    int32_t text[TRAIN + 9], ids[MOST], longest[MOST];
    Corpus corpus = {.vocab.size = 9, .ids = text, .characters = TRAIN + 9, .trained_on = TRAIN};
    for (uint64_t seed = 0; seed < 3000; seed++) {
        const int letters = 1 + (int)(seed % 4);
        const size_t count = seed % MOST;
        for (uint64_t i = 0; i < TRAIN + 9; i++)
            text[i] = (int32_t)(random_bits(seed, i) % (uint64_t)letters);
        for (uint64_t i = 0; i < count; i++)
            ids[i] = (int32_t)(random_bits(seed + 5000, i) % (uint64_t)(letters + 1));
        if (seed % 3 == 0 && count > 10) memcpy(ids + 2, text + 50, 8 * sizeof *ids);
        if (count > 7) ids[7] = -1;
        assert_ok(corpus_copied(&corpus, ids, count, longest, &err), err);
        for (size_t i = 0; i < count; i++)
            assert_int_equal(longest[i], longest_with(text, TRAIN, ids, count, i));
    }
    assert_int_equal(longest[7], 0);
}

/* A text that repeats itself, at a length that would take long if each repetition did. */
TEST(copied_loop) {
    enum { TRAIN = 100000, COUNT = 200000 };
    static int32_t text[TRAIN + 2], ids[COUNT], longest[COUNT];
    Corpus corpus = {.vocab.size = 2, .ids = text, .characters = TRAIN + 2, .trained_on = TRAIN};
    for (int i = 0; i < COUNT; i++) ids[i] = i % 2;
    assert_ok(corpus_copied(&corpus, ids, COUNT, longest, &err), err);
    for (int i = 0; i < COUNT; i++) assert_int_equal(longest[i], 1 - i % 2);
    memcpy(text, ids, sizeof text);
    assert_ok(corpus_copied(&corpus, ids, COUNT, longest, &err), err);
    for (int i = 0; i < COUNT; i++) assert_int_equal(longest[i], TRAIN);
}

/* ---- batches ---- */

enum { B = 64, T = 9, MAX = 200 };

/* Draws a batch from a text, and checks that a process draws its own part of it. */
static void draw(size_t length, uint64_t seed, uint64_t step, size_t begins[B]) {
    enum { FIRST = 5, COUNT = 7 };
    size_t part[COUNT];
    batch_windows(length, B, T, seed, step, 0, B, begins);
    batch_windows(length, B, T, seed, step, FIRST, COUNT, part);
    assert_memory_equal(part, begins + FIRST, sizeof part);
    for (int b = 0; b < B; b++) assert_in_range(begins[b], 0, length - 1 - T);
}

/* In each epoch windows start a whole number of windows apart, and each appears once. Across epochs
 * the offsets are uniform, and the order changes. The first texts are only just longer than a
 * window. */
TEST(batch_epochs) {
    enum { EPOCHS = 900, MOST = T + 5 };
    static const struct {
        int windows, offsets;
    } texts[] = {{1, 1},    {1, 2},    {1, 5},    {1, 8},     {1, T},
                 {1, MOST}, {2, MOST}, {3, MOST}, {10, MOST}, {19, MOST}};
    for (int i = 0; i < COUNT(texts); i++) {
        const int n = texts[i].windows, most = texts[i].offsets;
        int offsets[MOST] = {0}, same = 0;
        size_t begins[B] = {0};
        int32_t order[2][MAX] = {{0}};
        size_t length = (size_t)(n * T + most);
        for (int number = 0, epoch = 0; epoch < EPOCHS; number++) {
            if (number % B == 0) draw(length, 7, (uint64_t)(number / B), begins);
            order[epoch % 2][number % n] = (int32_t)begins[number % B];
            if (number % n < n - 1) continue;
            int32_t *of = order[epoch % 2], min = of[0];
            for (int j = 0; j < n; j++) {
                if (of[j] < min) min = of[j];
                assert_int_equal(of[j] % T, of[0] % T);
                for (int k = 0; k < j; k++) assert_int_not_equal(of[j], of[k]);
            }
            assert_in_range(min, 0, most - 1);
            offsets[min]++;
            same += epoch > 0 && (of[0] - min) / T == order[1 - epoch % 2][MAX - 1];
            of[MAX - 1] = (of[0] - min) / T; /* the first window drawn */
            epoch++;
        }
        double expected = (double)EPOCHS / most;
        for (int j = 0; j < most; j++) assert_near(offsets[j], expected, 5 * sqrt(expected));
        assert_near(same, (double)EPOCHS / n, 5 * sqrt((double)EPOCHS / n));
    }
}

TEST(batch_seed_and_step) {
    size_t first[B], again[B], other[B];
    draw(MAX, 7, 40, first);
    draw(MAX, 8, 40, other);
    assert_memory_not_equal(first, other, sizeof first);
    draw(MAX, 7, 41, other);
    assert_memory_not_equal(first, other, sizeof first);
    draw(MAX, 7, 40, again);
    assert_memory_equal(first, again, sizeof first);
}

/* The corpus of texts that are joined, until the end of the test. */
static Corpus *join(const char *const texts[], const size_t *lengths, int count, bool bytes,
                    double share, char *joined, size_t *length) {
    Corpus *corpus = scrap(1, sizeof *corpus);
    Vocab vocab;
    int which;
    assert_ok(corpus_join(texts, lengths, count, bytes, &share, joined, length, &which, &err), err);
    assert_ok(vocab_build(&vocab, joined, *length, bytes, &err), err);
    assert_ok(corpus_make(corpus, &vocab, joined, *length, share, &err), err);
    at_end(free_corpus, corpus);
    vocab_free(&vocab);
    return corpus;
}

/* Reads as much of a text as joined[*at] begins with. Returns the number of characters. */
static size_t take(const char *joined, size_t *at, const char *text, size_t length, size_t *taken) {
    size_t characters = 0;
    for (; *taken < length && joined[*at] == text[*taken]; ++*at, ++*taken)
        characters += ((unsigned char)text[*taken] & 0xC0) != 0x80;
    return characters;
}

/* The beginnings of all texts, to a character of their share, then their ends: the part to train
 * on, and the held-out part. */
TEST(join) {
    enum { TEXTS = 5, MOST = 4000 };
    static char texts[TEXTS][MOST], joined[TEXTS * MOST + 2 * TEXTS];
    static const double shares[] = {0.1, 0.25, 0.5};
    for (uint64_t seed = 0; seed < 30; seed++) {
        const char *given[TEXTS];
        size_t lengths[TEXTS], characters[TEXTS], taken[TEXTS] = {0}, length, at = 0, all = 0;
        const bool bytes = seed % 2;
        for (int i = 0; i < TEXTS; i++) { /* of letters that the others lack */
            size_t end = 0;
            characters[i] = i == 2 ? 0 : (size_t)random_bits(seed, (uint64_t)i) % (MOST / 3);
            for (size_t c = 0; c < characters[i]; c++) {
                const bool greek = !bytes && random_bits(seed + 100, c) % 2;
                end += (size_t)utf8_encode((greek ? 0x3B1 : 'a') + (uint32_t)i, texts[i] + end);
            }
            given[i] = texts[i];
            lengths[i] = end;
            all += characters[i];
        }
        const Corpus *corpus =
            join(given, lengths, TEXTS, bytes, shares[seed % 3], joined, &length);
        const size_t newline = bytes ? 0 : 1, own = corpus->trained_on - newline * TEXTS;
        size_t trained = newline * TEXTS;
        for (int i = 0; i < 2 * TEXTS; i++) {
            const int t = i % TEXTS;
            const size_t part = take(joined, &at, texts[t], lengths[t], &taken[t]);
            if (i < TEXTS) {
                assert_near((double)part, (double)(own * characters[t]) / (double)all, 1);
                trained += part;
            }
            if (newline && at < length) assert_int_equal(joined[at++], '\n');
        }
        assert_int_equal(trained, corpus->trained_on);
        assert_int_equal(at, length);
        assert_memory_equal(taken, lengths, sizeof taken);
    }
}

/* With marks and CR, the same characters are in the same order. */
TEST(join_line_ends) {
    char joined[64];
    static const char *const same[][2] = {{"a\nb\n\n\nd\n\n", "\ne\n"},
                                          {MARK "a\r\nb\r\n\r\n\r\nd\r\n\r\n", MARK "\r\ne\r\n"},
                                          {MARK "a\rb\r\r\rd\r\r", "\ne\n"}};
    for (double share = 0.1; share < 0.9; share += 0.05)
        for (int i = 0; i < COUNT(same); i++) {
            const size_t bytes[] = {strlen(same[i][0]), strlen(same[i][1])};
            char read[2][64];
            size_t size, count = 0;
            int none;
            assert_ok(corpus_join(same[i], bytes, 2, false, &share, joined, &size, &none, &err),
                      err);
            Characters characters = characters_of(&(Vocab){0}, joined, size);
            for (uint32_t code; characters_next(&characters, &code);)
                read[i > 0][count++] = (char)code;
            assert_int_equal(count, 15);
            if (i > 0) assert_memory_equal(read[1], read[0], count);
        }
    const char *bad[] = {"fine", "f\xffine"};
    size_t lengths[] = {4, 6}, length;
    int which;
    double share = 0.1;
    assert_false(corpus_join(bad, lengths, 2, false, &share, joined, &length, &which, &err));
    assert_int_equal(which, 1);
    expect_error(err, "0xFF", "1");
}

/* The last text is held out, to the character, whatever its length. */
TEST(join_held_out) {
    static const char *const ends[] = {"ab", MARK "ab\r", "\u03B1b\r\n", ""};
    static const size_t trained_on[] = {7, 8, 8, 5}; /* with the newlines after both */
    static char joined[40000], last[12000];
    memset(last, 'x', sizeof last);
    memcpy(last, "\nx", 2);
    for (size_t length = 2; length < sizeof last; length += 1 + length / 7)
        for (int i = 0; i < 2 * COUNT(ends); i++) {
            const bool bytes = i % 2;
            const char *texts[] = {"one", ends[i / 2], last};
            const size_t lengths[] = {3, strlen(ends[i / 2]), length};
            size_t size;
            const Corpus *corpus = join(texts, lengths, 3, bytes, (double)NAN, joined, &size);
            assert_int_equal(corpus->characters - corpus->trained_on, length);
            assert_int_equal(corpus->vocab.codes[corpus->ids[corpus->trained_on]], '\n');
            if (bytes)
                assert_int_equal(corpus->trained_on, lengths[0] + lengths[1]);
            else
                assert_int_equal(corpus->trained_on, trained_on[i / 2]);
        }
    const char *few[] = {"ab", "x"}, *none[] = {"", "xy"};
    const size_t lengths[] = {2, 1}, others[] = {0, 2};
    for (int i = 0; i < 2; i++) {
        double share = NAN;
        size_t size;
        int which;
        assert_false(corpus_join(i ? none : few, i ? others : lengths, 2, false, &share, joined,
                                 &size, &which, &err));
        assert_int_equal(which, !i);
        expect_error(err, "too short", i ? "1" : "3");
    }
}

/* ---- data/fetch, where it needs no network ---- */

static int fetch(const char *name, const char *path) {
    const char *quote = *path ? "'" : ""; /* else there is no argument */
    return run_shell(formatted("PATH='%s':$PATH data/fetch %s %s%s%s >/dev/null 2>&1",
                               scratch("offline"), name, quote, path, quote));
}

TEST(fetch) {
    static const char *const fetched[] = {"shakespeare", "kjv", "chinese"};
    char *text;
    size_t length;
    skip_without(SHELL_TOOLS);
    assert_ok(file_read("data/sample.txt", &text, &length, &err), err);
    for (int again = 0; again < 2; again++) {
        assert_int_equal(fetch("sample", scratch("fetched")), 0);
        scratch_expect("fetched", text, length);
    }
    scratch_put("fetched", "mine", 4); /* another text stays */
    assert_int_equal(fetch("sample", scratch("fetched")), 1);
    scratch_expect("fetched", "mine", 4);
    memory_free(text);
    assert_int_equal(fetch("sample", scratch("no/such/folder")), 1);
    assert_int_equal(fetch("library", scratch("other")), 2);
    assert_int_equal(fetch("sample", ""), 2);
    assert_false(scratch_has("other"));

    /* without a network, with a file that is there and without one */
    static const char *const tools[] = {"curl", "wget", "apt-get"},
                             script[] = "#!/bin/sh\nexit 1\n";
    make_folder(scratch("offline"));
    for (int i = 0; i < COUNT(tools); i++)
        scratch_put(formatted("offline/%s", tools[i]), script, strlen(script));
    assert_int_equal(run_shell(formatted("chmod +x '%s'/*", scratch("offline"))), 0);
    for (int there = 1; there >= 0; there--) {
        for (int i = 0; i < COUNT(fetched); i++)
            assert_int_equal(fetch(fetched[i], scratch("fetched")), !there);
        if (there) scratch_expect("fetched", "mine", 4);
        assert_int_equal(scratch_has("fetched"), there);
        remove(scratch("fetched"));
    }
    assert_int_equal(fetch("any", scratch("fetched")), 0);
    assert_int_equal(fetch("any", scratch("fetched")), 0);
}

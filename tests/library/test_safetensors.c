/* test_safetensors.c - the safetensors reader on headers made by hand: every spelling that JSON
 * allows, and a table of files that must be an error with a message. */
#include "tests/support.h"
#include "library/safetensors.h"

enum { PREFIX = 8 };

static bool read_bytes(SafeTensors *file, const char *bytes, size_t length) {
    File from = {.path = "name", .length = length, .descriptor = -1, .bytes = (char *)bytes};
    err = (Error){0};
    return safetensors_open(file, &from, &err) && safetensors_fetch(file, &from, &err);
}

/* Writes a file with this header (' means ") and `data` bytes: 0, 1, 2, ... Returns its length. */
static size_t compose(char *bytes, const char *header, size_t data) {
    const size_t length = strlen(header);
    memcpy(bytes, &(uint64_t){length}, PREFIX);
    memcpy(bytes + PREFIX, quoted(header), length);
    for (size_t i = 0; i < data; i++) bytes[PREFIX + length + i] = (char)i;
    return PREFIX + length + data;
}

static bool read_header(SafeTensors *file, const char *header, size_t data) {
    char bytes[2048];
    return read_bytes(file, bytes, compose(bytes, header, data));
}

static void assert_refusal(const SafeTensors *file, const char *subject) {
    expect_case(subject, err, "name: ");
    assert_null(file->tensors);
    assert_null(file->metadata);
}

/* ---- good headers ---- */

/* Properties in any order, white space where it is allowed, every escape, names and values beyond
 * ASCII. */
static const char spelled[] =
    "{\t'\\u0061\\/\\u4E2d\\uD83d\\ude00':{'shape':[],'dtype':'F64','data_offsets':[0,8]},"
    "'':{'shape':[3,0],'dtype':'I64','data_offsets':[8,8]},"
    "'__metada\\u0074a__' : { 'key\\t' : '\\\"\\\\\\/\\b\\f\\n\\r\\t\\u0000\\u007f\\u00e9\\u0800"
    "\\uffff\\udbff\\udfff \x7F\xC3\xA9\xE4\xB8\xAD\xF0\x9F\x90\xA6', 'other':'' },"
    "'eight':{'data_offsets':[8,16],'dtype':'\\u00558','shape':[1,1,2,1,2,1,1,2]},"
    "'last' : {'data_offsets' :[ 16,\n20] ,\r'shape': [ 1 , 2 ], 'dtype':'BF16'} }\n\t \r ";
enum { SPELLED_DATA = 20 };
static const char spelled_value[] = "\"\\/\b\f\n\r\t\0\x7F\xC3\xA9\xE0\xA0\x80\xEF\xBF\xBF"
                                    "\xF4\x8F\xBF\xBF \x7F\xC3\xA9\xE4\xB8\xAD\xF0\x9F\x90\xA6";

TEST(spellings) {
    SafeTensors file;
    const struct {
        const char *name, *type;
        int rank, first;
        size_t bytes, shape[SAFETENSORS_RANK];
    } expected[] = {{"a/\xE4\xB8\xAD\xF0\x9F\x98\x80", "F64", 0, 0, 8, {0}},
                    {"", "I64", 2, -1, 0, {3, 0}},
                    {"eight", "U8", 8, 8, 8, {1, 1, 2, 1, 2, 1, 1, 2}},
                    {"last", "BF16", 2, 16, 4, {1, 2}}};
    assert_ok(read_header(&file, spelled, SPELLED_DATA), err);
    assert_int_equal(file.tensor_count, COUNT(expected));
    for (int i = 0; i < COUNT(expected); i++) {
        const SafeTensor *tensor = &file.tensors[i];
        assert_string_equal(tensor->name, expected[i].name);
        assert_string_equal(tensor->type, expected[i].type);
        assert_int_equal(tensor->rank, expected[i].rank);
        assert_int_equal(tensor->bytes, expected[i].bytes);
        for (int j = 0; j < tensor->rank; j++)
            assert_int_equal(tensor->shape[j], expected[i].shape[j]);
        if (tensor->bytes) assert_int_equal(*(const char *)tensor->data, expected[i].first);
    }
    assert_int_equal(file.metadata_count, 2);
    assert_string_equal(file.metadata[0].key, "key\t");
    assert_int_equal(file.metadata[0].length, sizeof spelled_value - 1);
    assert_memory_equal(file.metadata[0].value, spelled_value, sizeof spelled_value);
    assert_string_equal(file.metadata[1].key, "other");
    assert_int_equal(file.metadata[1].length, 0);
    safetensors_free(&file);

    static const char *const empty[] = {"{}", "{'__metadata__':{}}", "{ } "};
    for (int i = 0; i < COUNT(empty); i++) {
        assert_ok(read_header(&file, empty[i], 0), err);
        assert_int_equal(file.tensor_count + file.metadata_count, 0);
        safetensors_free(&file);
    }
}

TEST(types) {
    static const char types[][8] = {"BOOL", "U8",  "I8",  "F8_E5M2", "F8_E4M3", "I16", "U16", "F16",
                                    "BF16", "I32", "U32", "F32",     "F64",     "I64", "U64"};
    static const size_t bytes[] = {1, 1, 1, 1, 1, 2, 2, 2, 2, 4, 4, 4, 8, 8, 8};
    for (int i = 0; i < COUNT(types); i++)
        for (size_t size = 0; size <= 9; size++) {
            SafeTensors file;
            const char *header = formatted(
                "{'a':{'dtype':'%s','shape':[1],'data_offsets':[0,%zu]}}", types[i], size);
            bool read = read_header(&file, header, size);
            safetensors_free(&file);
            assert_int_equal(read, size == bytes[i]);
        }
}

/* More entries of metadata and tensors than the first capacity, each in its place. */
TEST(many) {
    enum { MANY = 300 };
    SafeTensors file;
    char header[1 << 15], bytes[1 << 16];
    int at = snprintf(header, sizeof header, "{'__metadata__':{");
    for (int i = 0; i < MANY; i++)
        at += snprintf(header + at, sizeof header - (size_t)at, "%s'n%d':'%d'", i ? "," : "", i, i);
    at += snprintf(header + at, sizeof header - (size_t)at, "}");
    for (int i = 0; i < MANY; i++)
        at += snprintf(header + at, sizeof header - (size_t)at,
                       ",'t%d':{'dtype':'U8','shape':[1],'data_offsets':[%d,%d]}", MANY - 1 - i, i,
                       i + 1);
    snprintf(header + at, sizeof header - (size_t)at, "}");
    assert_ok(read_bytes(&file, bytes, compose(bytes, header, MANY)), err);
    assert_int_equal(file.tensor_count, MANY);
    assert_int_equal(file.metadata_count, MANY);
    for (int i = 0; i < MANY; i++) {
        assert_int_equal(atoi(file.metadata[i].value), i);
        assert_int_equal(atoi(file.tensors[i].name + 1), MANY - 1 - i);
        assert_int_equal(*(const char *)file.tensors[i].data, (char)i);
    }
    safetensors_free(&file);
}

/* ---- hostile headers ---- */

#define F32_1                 "'dtype':'F32','shape':[1]"
#define ONE                   "'a':{" F32_1 ",'data_offsets':[0,4]}"
#define TWO                   "'b':{" F32_1 ",'data_offsets':[4,8]}"
#define PLACED(offsets)       "{" ONE ",'b':{" F32_1 ",'data_offsets':" offsets "}}"
#define SIZED(shape, offsets) "{'a':{'dtype':'F32','shape':" shape ",'data_offsets':" offsets "}}"
#define TYPED(type)           "{'a':{'dtype':" type ",'shape':[1],'data_offsets':[0,4]}}"
#define META(notes)           "{'__metadata__':" notes "}"

/* clang-format off */
static const struct {
    const char *header;
    size_t data;
} hostile[] = {
    /* not one object of objects */
    {"", 0}, {"  ", 0}, {"[]", 0}, {"null", 0}, {"'a'", 0}, {"{", 0}, {"{a:{}}", 0}, {"{,}", 0}, {"{}}", 0},
    {"{}{}", 0}, {"{} //", 0}, {"{}\x01", 0}, {"{1:2}", 0}, {"\xEF\xBB\xBF{}", 0}, {META("{'a' '1'}"), 0},
    {META("{'a','1'}"), 0}, {META("{'a':'1',}"), 0}, {META("{'a':'1'"), 0}, {META("{'a':'1' 'b':'2'}"), 0}, {"{'a':[]}", 0}, {"{'a':{}}", 0}, {"{" ONE "}}", 4},
    {TYPED("32"), 4},
    {"{" ONE ",'a\\u0000':{" F32_1 ",'data_offsets':[4,8]}}", 8}, {TYPED("'F32\\u0000'"), 4},
    {META("{'a\\u0000':''}"), 0},
    /* numbers */
    {SIZED("[18446744073709551616]", "[0,4]"), 4}, {SIZED("[1]", "[0,99999999999999999999]"), 4},
    {SIZED("[-1]", "[0,4]"), 4}, {SIZED("['1']", "[0,4]"), 4}, {SIZED("[[1]]", "[0,4]"), 4},
    {SIZED("[1.0]", "[0,4]"), 4}, {SIZED("[1e0]", "[0,4]"), 4}, {SIZED("1", "[0,4]"), 4},
    {SIZED("[01]", "[0,4]"), 4}, {SIZED("[+1]", "[0,4]"), 4}, {SIZED("[0x1]", "[0,4]"), 4}, {SIZED("[1,]", "[0,4]"), 4},
    {SIZED("[,1]", "[0,4]"), 4}, {SIZED("[1 1]", "[0,4]"), 4}, {SIZED("[1}", "[0,4]"), 4}, {SIZED("[1", "[0,4]"), 4},
    {SIZED("[]", "[0,04]"), 4}, {SIZED("null", "[0,4]"), 4}, {SIZED("{}", "[0,4]"), 4}, {SIZED("[1]", "{'a':0,'b':4}"), 4},
    {SIZED("[1,1,1,1,1,1,1,1,1]", "[0,4]"), 4}, {SIZED("[1]", "[0,2,4]"), 4},
    {SIZED("[1]", "[]"), 4}, {SIZED("[1]", "[4]"), 4}, {SIZED("[2]", "[0]"), 4},
    /* keys */
    {"{'a':{'x':1," F32_1 ",'data_offsets':[0,4]}}", 4},
    {"{'a':{'Dtype':'F32','shape':[1],'data_offsets':[0,4]}}", 4},
    {"{'a':{" F32_1 ",'data_offsets':[0,4],'dtype':'F32'}}", 4},
    {"{'a':{" F32_1 ",'data_offsets':[0,4],'shape':[1]}}", 4},
    {"{'a':{" F32_1 ",'data_offsets':[0,4],'data_offsets':[0,4]}}", 4}, {"{'a':{" F32_1 "}}", 4},
    {"{'a':{'dtype':'F32','data_offsets':[0,4]}}", 4},
    {"{'a':{'shape':[1],'data_offsets':[0,4]}}", 4},
    {"{" ONE ",'\\u0061':{" F32_1 ",'data_offsets':[4,8]}}", 8},
    {"{'__metadata__':{}," ONE ",'__metadata__':{}}", 4}, {META("[]"), 0}, {META("null"), 0},
    {META("'a'"), 0}, {META("{'a':1}"), 0}, {META("{'a':null}"), 0}, {META("{'a':{}}"), 0},
    {META("{'a':'1','b':'2','\\u0061':'3'}"), 0},
    /* offsets and sizes */
    {PLACED("[2,6]"), 6}, {PLACED("[0,4]"), 4}, {PLACED("[8,12]"), 12}, {"{" TWO "}", 8},
    {"{" ONE ",'b':{'dtype':'F32','shape':[0],'data_offsets':[2,2]}}", 4}, {"{" ONE "}", 5},
    {"{}", 4}, {"{" ONE "}", 3}, {"{" ONE "," TWO "}", 4}, {SIZED("[1]", "[4,0]"), 4},
    {SIZED("[1]", "[18446744073709551615,3]"), 4}, {SIZED("[1]", "[0,18446744073709551615]"), 4},
    {SIZED("[2]", "[0,8]"), 4}, {SIZED("[2]", "[0,4]"), 4}, {SIZED("[0]", "[0,4]"), 4},
    {SIZED("[]", "[0,0]"), 0}, {TYPED("''"), 4}, {TYPED("'F33'"), 4}, {TYPED("'f32'"), 4},
    {SIZED("[4611686018427387905]", "[0,4]"), 4}, /* 4 + 2^64 bytes */
    {SIZED("[4294967296,4294967296]", "[0,0]"), 0}, {SIZED("[4,18446744073709551615]", "[0,4]"), 4},
};
/* clang-format on */

TEST(hostile_headers) {
    SafeTensors file;
    for (int i = 0; i < COUNT(hostile); i++) {
        if (read_header(&file, hostile[i].header, hostile[i].data))
            fail_msg("accepted: %s", hostile[i].header);
        assert_refusal(&file, hostile[i].header);
    }
}

/* A value of the metadata that is no string of JSON, within a header, and at its end. */
TEST(strings) {
    const char *bad =
        "'a|'a\\|'\n'|'\t'|'\x1F'|'\xC3'|'\xFF'|'\xE4\xB8|'\\x'|'\\0'|'\\U0041'|'\\\n'|"
        "'\\\xC3\xA9'|'\\u'|'\\u00|'\\u12g4'|'\\u-123'|'\\ude00'|'\\ud800|'\\ud800'|"
        "'\\ud800\\|'\\ud800\\ude0|'\\ud800\\ue000'|'\\ud800\\u0041'|"
        "'\\ud800\\ud800'|'\\ud800\\n1234'|'\\ud800xx1234'";
    SafeTensors file;
    for (const char *value; (value = next_part(&bad));)
        for (int end = 0; end < 2; end++) {
            const char *header = formatted("{'__metadata__':{'a':%s%s", value, end ? "" : "}}");
            if (read_header(&file, header, 0)) fail_msg("accepted: %s", header);
            assert_refusal(&file, header);
        }
}

/* Lengths of a header that the file has not. */
TEST(lengths) {
    static const uint64_t lengths[] = {
        3, 1u << 26, UINT32_MAX, INT64_MAX, (uint64_t)INT64_MAX + 1, UINT64_MAX - 7, UINT64_MAX};
    SafeTensors file;
    char bytes[PREFIX + 2] = "\0\0\0\0\0\0\0\0{}";
    for (int i = 0; i < COUNT(lengths); i++) {
        memcpy(bytes, &lengths[i], PREFIX);
        assert_false(read_bytes(&file, bytes, sizeof bytes));
        assert_refusal(&file, "");
    }
}

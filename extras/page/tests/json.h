/* json.h - reads JSON in tests. */
#ifndef TRIL_EXTRAS_PAGE_TESTS_JSON_H
#define TRIL_EXTRAS_PAGE_TESTS_JSON_H

#include "tests/support.h"

/* Returns the end of the JSON value at `at`; fails the test if there is none. */
static inline const char *json_end(const char *at) {
    const char first = *at, *const begin = at;
    if (first == '"') {
        for (at++; *at != '"'; at += *at == '\\' ? 2 : 1)
            if ((unsigned char)*at < 0x20 || (*at == '\\' && !strchr("\"\\/bfnrtu", at[1])))
                fail_msg("not JSON: %.40s", begin);
        return at + 1;
    }
    if (first == '{' || first == '[') {
        const char last = first == '{' ? '}' : ']';
        for (at++; *at != last;) {
            if (first == '{') {
                assert_int_equal(*at, '"');
                at = json_end(at);
                assert_int_equal(*at++, ':');
            }
            at = json_end(at);
            if (*at != last && *at++ != ',') fail_msg("not JSON: %.40s", at);
            at += *at == '\n';
        }
        return at + 1;
    }
    if (strncmp(at, "null", 4) == 0) return at + 4;
    at += *at == '-';
    const size_t digits = strspn(at, "0123456789");
    if (digits == 0 || (digits > 1 && *at == '0')) fail_msg("not JSON: %.40s", begin);
    char *end;
    strtod(begin, &end);
    return end;
}

/* Returns the value of a key of an object, or NULL. */
static inline const char *json_member(const char *object, const char *key) {
    for (const char *at = object + 1; *at == '"';) {
        const char *const value = json_end(at) + 1;
        if (strncmp(at + 1, key, strlen(key)) == 0 && at[1 + strlen(key)] == '"') return value;
        at = json_end(value);
        at += *at == ',';
        at += *at == '\n';
    }
    return NULL;
}

#endif

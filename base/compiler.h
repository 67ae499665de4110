/* compiler.h - the extensions of C that a compiler has.
 *
 * GNU_C means the extensions of gcc 11 and clang 14: vectors, builtins, assembly. Without them the
 * kernels are plain C, one number at a time. (clang 13 compiles AMX's tiles to code that fails.
 * Apple counts otherwise.) */
#ifndef TRIL_BASE_COMPILER_H
#define TRIL_BASE_COMPILER_H

#if defined __has_builtin && !defined PLAIN_C && \
    (__GNUC__ >= 11 || __clang_major__ >= 14 || defined __apple_build_version__)
#define GNU_C
#endif

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>

#endif

/* compiler.h - stands in for extensions of C and parts of C11 that a compiler lacks.
 *
 * GNU_C means the extensions of gcc 11 and clang 14: vectors, builtins, assembly. Without them the
 * kernels are plain C, one number at a time. (clang 13 compiles AMX's tiles to code that fails.
 * Apple counts otherwise.) ONE_THREAD means that nothing is atomic. */
#ifndef TRIL_BASE_COMPILER_H
#define TRIL_BASE_COMPILER_H

#if defined __has_builtin && !defined PLAIN_C && \
    (__GNUC__ >= 11 || __clang_major__ >= 14 || defined __apple_build_version__)
#define GNU_C
#endif
#if !defined __GNUC__
#define __attribute__(list)
#define __builtin_prefetch(...) ((void)(__VA_ARGS__))
#endif

#include <stdbool.h>
#include <stddef.h>
#if __STDC_VERSION__ >= 201112L && !defined __STDC_NO_ATOMICS__
#include <stdatomic.h>
#else
#define ONE_THREAD
#define _Atomic volatile
#define _Thread_local
typedef volatile int atomic_int;
typedef volatile unsigned atomic_uint;
typedef volatile size_t atomic_size_t;
#define atomic_load(x)                         (*(x))
#define atomic_load_explicit(x, order)         (*(x))
#define atomic_store_explicit(x, value, order) (*(x) = (value))
#define atomic_fetch_add(x, n)                 ((*(x) += (n)) - (n))
#define atomic_fetch_add_explicit(x, n, order) atomic_fetch_add(x, n)
#define atomic_compare_exchange_strong(x, expected, value) \
    (*(x) == *(expected) ? (*(x) = (value), true) : (*(expected) = *(x), false))
#endif

#endif

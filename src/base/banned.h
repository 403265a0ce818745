/* banned.h - calls that are errors in this project; forced into every source by meson.build
 *
 * Each has a safe sibling: snprintf or strbuf, parse_u64() and its like, the *_r functions,
 * posix_spawn. */
#pragma once

/* The declarations must come before the poison, and macros of the same name must go (clang with
 * _FORTIFY_SOURCE has some). */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#undef sprintf
#undef vsprintf

#pragma GCC poison strcpy strcat sprintf vsprintf atoi atol atoll
#pragma GCC poison gmtime localtime ctime asctime gets tmpnam mktemp tempnam
/* These two are members and parameters of other libraries' headers: only calls are caught. */
#define system(x) banned_call_system(x)
#define rand() banned_call_rand()

/* loadlib.h - a library that is loaded when the configuration asks for it
 *
 * A library stays loaded as long as the process lives: it may have threads of its own. */
#pragma once

#include <stddef.h>

#include "base/err.h"

struct loadlib_symbol {
    const char *name;
    void *to; /* address of a pointer to a function */
};

/* what: the configuration that needs the library, as sentences name it ("jobcomp/kafka"); NULL: the
 * caller says it.
 * file: its name for the loader ("librdkafka.so.1").  package: Debian's, or NULL.
 * flags: of dlopen(3), beside RTLD_NOW.
 * -ENOENT: there is no such library; -ENOSYS: a function is missing, and nothing was set. */
int loadlib(const char *what, const char *file, const char *package, int flags,
            const struct loadlib_symbol *symbols, size_t n, struct err *err);

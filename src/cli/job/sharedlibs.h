/* sharedlibs.h - the shared libraries that a program needs, found as the calling user
 *
 * The program's own loader is asked (`LOADER --list PROGRAM`): nothing of the program itself
 * runs. */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "base/err.h"

struct sharedlib {
    char *name; /* as the program asks for it: "libz.so.1"; owned */
    char *path; /* owned */
};

struct sharedlibs {
    struct sharedlib *items; /* owned */
    size_t n;
};

/* exclude: absolute folders separated by commas whose libraries are left out; NULL, "" or
 * "NONE": none.  A program without a loader (a script, one linked statically) has none.  A
 * library that is not found fails with the loader's line.  Errors: -ENOENT, -ENOEXEC the loader
 * failed, -EFBIG, -ENOMEM and those of the file; err has the sentence. */
int sharedlibs_find(const char *program, const char *exclude, struct sharedlibs *ret,
                    struct err *err);
void sharedlibs_done(struct sharedlibs *l);

/* The loader a program names (PT_INTERP), by the beginning of its file: `len` bytes.  *ret is a
 * string within data. -ENOENT: it names none. */
int sharedlibs_loader(const uint8_t *data, size_t len, const char **ret);
/* The libraries in what a loader prints.  Errors: -ENOENT one is not found, -EFBIG too many,
 * -ENOMEM. */
int sharedlibs_parse(const char *text, const char *exclude, struct sharedlibs *ret,
                     struct err *err);

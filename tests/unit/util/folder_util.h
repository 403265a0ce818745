/* folder_util.h - a folder of a test's own; after cmocka.h */
#pragma once

#include <ftw.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#define FOLDER_DEPTH 16

static inline int folder_drop(const char *path, const struct stat *st, int kind, struct FTW *at)
{
    (void)st, (void)at;
    return kind == FTW_DP ? rmdir(path) : unlink(path);
}

/* A fresh one below TMPDIR; its path into path. */
static inline void folder_make(char *path, size_t size, const char *name)
{
    const char *base = getenv("TMPDIR");

    (void)snprintf(path, size, "%s/penstock-%s-XXXXXX", base ? base : "/tmp", name);
    assert_non_null(mkdtemp(path));
}

/* With all that is in it.  0: it is gone. */
static inline int folder_unlink(const char *path)
{
    return nftw(path, folder_drop, FOLDER_DEPTH, FTW_DEPTH | FTW_PHYS);
}

static inline void folder_remove(const char *path)
{
    assert_int_equal(folder_unlink(path), 0);
}

/* tailaside.c - see tailaside.h.  Folders are as journal_away_open() names them: they have files
 * alone, and their names tell their time. */
#include "stream/tailaside.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/log.h"
#include "journal/files.h"

#define STAMP_BYTES 16u /* 20261129T170000Z */

struct folder {
    char name[AWAY_NAME_BYTES];
    uint32_t number; /* within its second */
    uint64_t bytes;
};

struct folders {
    struct folder *v;
    size_t n, cap;
};

/* Of what kind is this, and which of its second? */
static bool read_name(const char *name, const char *prefix, uint32_t *ret_number)
{
    size_t n = strlen(prefix);
    const char *rest;

    if (strncmp(name, prefix, n) != 0 || name[n] != '-' || strlen(name) >= AWAY_NAME_BYTES ||
        strlen(name + n + 1) < STAMP_BYTES)
        return false;
    rest = name + n + 1 + STAMP_BYTES;
    *ret_number = *rest == '-' ? (uint32_t)strtoul(rest + 1, NULL, 10) : 0;
    return *rest == '\0' || *rest == '-';
}

static int open_folder(int dir_fd, const char *name, DIR **ret)
{
    int fd = openat(dir_fd, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    int r = fd < 0 ? -errno : 0;

    if (r == 0 && !(*ret = fdopendir(fd))) {
        r = -errno;
        (void)close(fd);
    }
    return r;
}

static uint64_t count_bytes(int dir_fd, const char *name)
{
    const struct dirent *e;
    uint64_t bytes = 0;
    DIR *d = NULL;

    if (open_folder(dir_fd, name, &d) < 0)
        return 0;
    while ((e = readdir(d))) {
        struct stat st;

        if (fstatat(dirfd(d), e->d_name, &st, AT_SYMLINK_NOFOLLOW) == 0 && S_ISREG(st.st_mode))
            bytes += (uint64_t)st.st_blocks * 512;
    }
    (void)closedir(d); /* was read */
    return bytes;
}

static int remove_folder(int dir_fd, const char *name)
{
    const struct dirent *e;
    DIR *d = NULL;
    int r = open_folder(dir_fd, name, &d);

    if (r < 0)
        return r;
    while ((e = readdir(d)))
        if (strcmp(e->d_name, ".") != 0 && strcmp(e->d_name, "..") != 0)
            (void)unlinkat(dirfd(d), e->d_name, 0); /* the folder stays then, and says so */
    (void)closedir(d);
    return unlinkat(dir_fd, name, AT_REMOVEDIR) < 0 ? -errno : 0;
}

static int add_folder(struct folders *f, int dir_fd, const char *name, uint32_t number)
{
    if (f->n == f->cap) {
        size_t cap = f->cap ? 2 * f->cap : 16;
        struct folder *v = reallocarray(f->v, cap, sizeof(*v));

        if (!v)
            return -ENOMEM;
        f->v = v;
        f->cap = cap;
    }
    f->v[f->n] = (struct folder){ .number = number, .bytes = count_bytes(dir_fd, name) };
    memcpy(f->v[f->n++].name, name, strlen(name) + 1); /* fits: read_name() */
    return 0;
}

/* The newest first. */
static int compare_folders(const void *x, const void *y)
{
    const struct folder *a = x, *b = y;
    size_t n = strcspn(a->name, "-") + 1 + STAMP_BYTES; /* of one kind: they begin alike */
    int c = strncmp(b->name, a->name, n);

    return c ? c : (b->number > a->number) - (b->number < a->number);
}

static void trim_kind(int dir_fd, const char *prefix, struct aside *ret)
{
    struct folders f = { .n = 0 };
    const struct dirent *e;
    uint64_t bytes = 0;
    DIR *d = NULL;
    int r = open_folder(dir_fd, ".", &d);

    while (r == 0 && (e = readdir(d))) {
        uint32_t number;

        if (read_name(e->d_name, prefix, &number))
            r = add_folder(&f, dir_fd, e->d_name, number);
    }
    if (d)
        (void)closedir(d); /* was read */
    if (f.n)
        qsort(f.v, f.n, sizeof(*f.v), compare_folders);
    for (size_t i = 0; i < f.n; i++) {
        bytes += f.v[i].bytes;
        if (i && (i >= ASIDE_FOLDERS_MAX || bytes > ASIDE_BYTES_MAX) &&
            remove_folder(dir_fd, f.v[i].name) == 0) {
            log_info("journal/%s is removed: %u newer ones are kept", f.v[i].name, (unsigned)i);
            bytes -= f.v[i].bytes;
            continue;
        }
        ret->folders++;
        ret->bytes += f.v[i].bytes;
    }
    free(f.v);
}

void aside_trim(int dir_fd, struct aside *ret)
{
    *ret = (struct aside){ .folders = 0 };
    trim_kind(dir_fd, ASIDE_CUT, ret);
    trim_kind(dir_fd, ASIDE_REPLACED, ret);
}

/* manifest.c - MANIFEST: what a backup holds; see manifest.h */
#include "penstock/past/manifest.h"

#include <ctype.h>
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/text/hextext.h"
#include "base/timefmt.h"

#define HEAD "penstock-backup 1"

void manifest_done(struct manifest *m)
{
    free(m->files);
    *m = (struct manifest){ .n = 0 };
}

static bool is_word(const char *p, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (!isalnum((unsigned char)p[i]) && !(i && strchr("._-", p[i])))
            return false;
    return n > 0;
}

bool manifest_path_good(const char *path)
{
    size_t words = 0;

    if (strlen(path) >= MANIFEST_PATH_BYTES ||
        (strncmp(path, "state/", 6) != 0 && strncmp(path, "keys/", 5) != 0))
        return false;
    for (const char *p = path; *p; words++) {
        size_t n = strcspn(p, "/");

        if (!is_word(p, n) || (p[n] == '/' && !p[n + 1]))
            return false;
        p += n + (p[n] == '/');
    }
    return words == 2 || words == 3;
}

int manifest_add(struct manifest *m, const struct manifest_file *file)
{
    struct manifest_file *more;

    if (m->n == MANIFEST_FILES_MAX)
        return -E2BIG;
    more = realloc(m->files, (m->n + 1) * sizeof(*more));
    if (!more)
        return -ENOMEM;
    m->files = more;
    m->files[m->n++] = *file;
    return 0;
}

void manifest_write(const struct manifest *m, struct strbuf *out)
{
    strbuf_addf(out, HEAD "\ncluster %s\nrecord %" PRIu64 "\ntime %" PRId64 "\n", m->cluster,
                m->record, m->time_us);
    for (size_t i = 0; i < m->n; i++) {
        const struct manifest_file *f = &m->files[i];
        char name[2 * DIGEST_SIZE + 1];

        hextext_write(f->digest.bytes, DIGEST_SIZE, name);
        strbuf_addf(out, "file %04o %" PRIu64 " %s %s\n", f->mode, f->size, name, f->path);
    }
    strbuf_addf(out, "end %zu\n", m->n);
}

/* ---- reading --------------------------------------------------------------------------------- */

static int hex_value(char c)
{
    return c >= '0' && c <= '9' ? c - '0' : c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

static bool parse_digest(const char *text, struct digest *ret)
{
    if (strlen(text) != (size_t)2 * DIGEST_SIZE)
        return false;
    for (size_t i = 0; i < DIGEST_SIZE; i++) {
        int high = hex_value(text[2 * i]), low = hex_value(text[2 * i + 1]);

        if (high < 0 || low < 0)
            return false;
        ret->bytes[i] = (uint8_t)(high << 4 | low);
    }
    return true;
}

static bool is_known(const struct manifest *m, const char *path)
{
    for (size_t i = 0; i < m->n; i++)
        if (strcmp(m->files[i].path, path) == 0)
            return true;
    return false;
}

/* Behind `file `: MODE SIZE SHA256 PATH. */
static int parse_file(char *rest, struct manifest *m)
{
    struct manifest_file f = { .mode = 0 };
    char *words[4], *save = NULL;
    uint64_t size;

    for (size_t i = 0; i < ARRAY_SIZE(words); i++)
        if (!(words[i] = strtok_r(i ? NULL : rest, " ", &save)))
            return -EINVAL;
    if (strcmp(words[0], "0600") == 0)
        f.mode = 0600;
    else if (strcmp(words[0], "0644") == 0)
        f.mode = 0644;
    if (!f.mode || strtok_r(NULL, " ", &save) || parse_u64(words[1], 0, INT64_MAX, &size) < 0 ||
        !parse_digest(words[2], &f.digest) || !manifest_path_good(words[3]) ||
        is_known(m, words[3]))
        return -EINVAL;
    f.size = size;
    (void)snprintf(f.path, sizeof(f.path), "%s", words[3]);
    return manifest_add(m, &f);
}

/* 1: the last line, 0: another one. */
static int parse_line(char *line, size_t row, struct manifest *m)
{
    uint64_t n;

    if (row == 1)
        return strcmp(line, HEAD) == 0 ? 0 : -EINVAL;
    if (strncmp(line, "cluster ", 8) == 0 && row == 2) {
        if (strlen(line + 8) >= sizeof(m->cluster) || !is_word(line + 8, strlen(line + 8)))
            return -EINVAL;
        (void)snprintf(m->cluster, sizeof(m->cluster), "%s", line + 8);
        return 0;
    }
    if (strncmp(line, "record ", 7) == 0 && row == 3)
        return parse_u64(line + 7, 1, UINT64_MAX, &m->record);
    if (strncmp(line, "time ", 5) == 0 && row == 4) {
        if (parse_u64(line + 5, 1, INT64_MAX, &n) < 0)
            return -EINVAL;
        m->time_us = (int64_t)n;
        return 0;
    }
    if (strncmp(line, "file ", 5) == 0 && row > 4)
        return parse_file(line + 5, m);
    if (strncmp(line, "end ", 4) == 0 && row > 4)
        return parse_u64(line + 4, 0, MANIFEST_FILES_MAX, &n) == 0 && n == m->n ? 1 : -EINVAL;
    return -EINVAL;
}

int manifest_parse(const char *text, size_t len, struct manifest *ret, struct err *err)
{
    _cleanup_val_(manifest_done) struct manifest m = { .n = 0 };
    _cleanup_free_ char *copy = NULL;
    size_t row = 0;
    char *p;
    int r = 0;

    if (len > MANIFEST_BYTES_MAX)
        return err_set(err, -E2BIG, MANIFEST_NAME " is longer than %u bytes", MANIFEST_BYTES_MAX);
    copy = strndup(text, len);
    if (!copy)
        return err_nomem(err);
    p = copy;
    while (r == 0) {
        char *end = strchr(p, '\n');

        if (!end)
            return err_set(err, -EINVAL, MANIFEST_NAME " ends behind line %zu, without `end`", row);
        *end = '\0';
        r = parse_line(p, ++row, &m);
        p = end + 1;
    }
    if (r < 0 || p != copy + len)
        return err_set(err, r == -ENOMEM || r == -E2BIG ? r : -EINVAL,
                       MANIFEST_NAME " line %zu: this is no backup that this release reads",
                       r < 0 ? row : row + 1);
    *ret = m;
    m = (struct manifest){ .n = 0 };
    return 0;
}

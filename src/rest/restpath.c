/* restpath.c - paths and query words of a request; see restpath.h */
#include "rest/restpath.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/cleanup.h"
#include "base/words.h"

static const char *const plugin_words[] = { "slurm", "slurmdb", "util", "penstock" };

static int hex_value(char c)
{
    if (c >= '0' && c <= '9')
        return c - '0';
    if (c >= 'a' && c <= 'f')
        return c - 'a' + 10;
    return c >= 'A' && c <= 'F' ? c - 'A' + 10 : -1;
}

/* The byte at *at, an escape undone.  -EINVAL. */
static int take_byte(const char *text, size_t len, size_t *at, bool query)
{
    int high, low;

    if (text[*at] != '%') {
        char c = text[(*at)++];

        return query && c == '+' ? ' ' : (unsigned char)c;
    }
    if (len - *at < 3)
        return -EINVAL;
    high = hex_value(text[*at + 1]);
    low = hex_value(text[*at + 2]);
    *at += 3;
    return high < 0 || low < 0 || high + low == 0 ? -EINVAL : high << 4 | low;
}

int restpath_unescape(const char *text, size_t len, bool query, char **ret)
{
    _cleanup_free_ char *out = malloc(len + 1);
    size_t n = 0;

    if (!out)
        return -ENOMEM;
    for (size_t at = 0; at < len;) {
        int c = take_byte(text, len, &at, query);

        if (c <= 0)
            return -EINVAL;
        out[n++] = (char)c;
    }
    out[n] = '\0';
    *ret = TAKE_PTR(out);
    return 0;
}

bool restpath_in_list(const char *list, const char *flag)
{
    size_t len = strlen(flag);

    for (const char *p = list; p; p = strchr(p, ',')) {
        p += *p == ',';
        if (strncasecmp(p, flag, len) == 0 && (p[len] == ',' || !p[len]))
            return true;
    }
    return false;
}

/* 45 of "v0.0.45"; 0: not a version of ours. */
static unsigned version_of(const char *part)
{
    unsigned n = 0;

    if (strncmp(part, "v0.0.", 5) != 0 || strlen(part) != 7)
        return 0;
    for (const char *p = part + 5; *p; p++) {
        if (*p < '0' || *p > '9')
            return 0;
        n = n * 10 + (unsigned)(*p - '0');
    }
    return n >= REST_OLDEST && n <= REST_NEWEST ? n : 0;
}

struct parts {
    char *part[REST_PARTS_MAX];
    size_t n;
};

static void parts_done(struct parts *p)
{
    for (size_t i = 0; i < p->n; i++)
        free(p->part[i]);
}

static int split_path(const char *path, struct parts *ret)
{
    for (path += strspn(path, "/"); *path; path += strspn(path, "/")) {
        size_t len = strcspn(path, "/");
        int r;

        if (ret->n == REST_PARTS_MAX)
            return -ENOENT;
        if (len > REST_WORD_MAX)
            return -EINVAL;
        r = restpath_unescape(path, len, false, &ret->part[ret->n]);
        if (r < 0)
            return r;
        ret->n++;
        path += len;
    }
    return 0;
}

/* Do the parts from the third on fit the row's path?  *ret_word is what stands for {}. */
static bool parts_match(const struct parts *p, const char *pattern, const char **ret_word)
{
    size_t i = 2;

    for (; *pattern; i++) {
        size_t len = strcspn(pattern, "/");

        if (i >= p->n)
            return false;
        if (len == 2 && memcmp(pattern, "{}", 2) == 0)
            *ret_word = p->part[i];
        else if (strlen(p->part[i]) != len || memcmp(p->part[i], pattern, len) != 0)
            return false;
        pattern += len;
        pattern += *pattern == '/';
    }
    return i == p->n;
}

static const struct rest_row *find_in(const struct rest_row *row, const char *method,
                                      const struct parts *p, const struct rest_path *want,
                                      const char **ret_word)
{
    for (; row->method; row++) {
        *ret_word = NULL;
        if (row->plugin == want->plugin && row->since <= want->version &&
            strcmp(row->method, method) == 0 && parts_match(p, row->path, ret_word))
            return row;
    }
    return NULL;
}

static bool plugin_of(const char *part, enum rest_plugin *ret)
{
    for (size_t i = 0; i < ARRAY_SIZE(plugin_words); i++)
        if (strcmp(part, plugin_words[i]) == 0) {
            *ret = (enum rest_plugin)i;
            return true;
        }
    return false;
}

int restpath_find(const struct rest_row *const *rows, const char *method, const char *path,
                  struct rest_path *ret)
{
    _cleanup_val_(parts_done) struct parts p = { 0 };
    const char *word = NULL;
    int r = split_path(path, &p);

    if (r < 0)
        return r;
    if (p.n < 3 || !plugin_of(p.part[0], &ret->plugin))
        return -ENOENT;
    if (ret->plugin == REST_PENSTOCK)
        ret->version = strcmp(p.part[1], "v1") == 0 ? REST_NEWEST : 0;
    else
        ret->version = version_of(p.part[1]);
    if (!ret->version)
        return -ENOENT;
    /* A path of words alone goes before one with a word of the caller's: rows stand so. */
    for (ret->row = NULL; *rows && !ret->row; rows++)
        ret->row = find_in(*rows, method, &p, ret, &word);
    if (!ret->row)
        return -ENOENT;
    ret->has_word = word != NULL;
    if (word)
        memcpy(ret->word, word, strlen(word) + 1);
    return 0;
}

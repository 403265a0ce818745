/* conf_source.c - the texts a configuration is read from: files, or texts in memory.
 *
 * Owns the list of sources in struct conf; a text lives as long as the configuration, since
 * values point into it.  Limits: CONF_MAX_FILE per file, CONF_MAX_TOTAL and CONF_MAX_SOURCES
 * together. */
#include "conf/conf_priv.h"

#include <errno.h>
#include <fcntl.h>
#include <fnmatch.h>
#include <glob.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/cleanup.h"
#include "base/readfile.h"
#include "base/strbuf.h"

/* Read a configuration file.  It may be a pipe: slurmctld -f <(make-conf). */
static int read_file(const char *path, char **ret_text, size_t *ret_len)
{
    _cleanup_close_ int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY);

    return fd < 0 ? -errno : readfile_fd(fd, CONF_MAX_FILE, ret_text, ret_len);
}

static int read_text(const struct conf_loader *l, const char *name, char **ret_text,
                     size_t *ret_len)
{
    for (size_t i = 0; i < l->ntexts; i++) {
        const struct conf_text *t = &l->texts[i];
        char *copy;

        if (strcmp(t->name, name) != 0)
            continue;
        if (t->len > CONF_MAX_FILE)
            return -EFBIG;
        copy = malloc(t->len + 1);
        if (!copy)
            return -ENOMEM;
        if (t->len) /* an empty file of a bundle has no text */
            memcpy(copy, t->text, t->len);
        copy[t->len] = '\0';
        *ret_text = copy;
        *ret_len = t->len;
        return 0;
    }
    return -ENOENT;
}

int conf_source_read(struct conf_loader *l, const char *path, struct conf_source *ret)
{
    _cleanup_free_ char *text = NULL, *name = NULL;
    struct conf_source *sources;
    size_t len = 0;
    int r;

    if (l->c->nsources >= CONF_MAX_SOURCES)
        return -E2BIG;
    r = l->texts ? read_text(l, path, &text, &len) : read_file(path, &text, &len);
    if (r < 0)
        return r;
    if (memchr(text, '\0', len))
        return -EILSEQ;
    if (l->total + len > CONF_MAX_TOTAL)
        return -E2BIG;
    name = strdup(path);
    sources = reallocarray(l->c->sources, l->c->nsources + 1, sizeof(*sources));
    if (sources)
        l->c->sources = sources;
    if (!name || !sources)
        return -ENOMEM;
    l->total += len;
    *ret = (struct conf_source){ .name = TAKE_PTR(name), .text = TAKE_PTR(text), .len = len };
    ret->absolute = l->absolute;
    if (l->scope == CONF_FULL)
        ret->hash = conf_hash(ret->text);
    sources[l->c->nsources++] = *ret;
    return 0;
}

static bool is_pattern(const char *text)
{
    return strpbrk(text, "*?[") != NULL;
}

static int include_texts(struct conf_loader *l, const char *pattern, conf_include_fn *fn)
{
    int r = 0;

    if (!is_pattern(pattern))
        return fn(l, pattern);
    for (size_t i = 1; i < l->ntexts && r == 0; i++) {
        if (fnmatch(pattern, l->texts[i].name, FNM_PATHNAME) == 0)
            r = fn(l, l->texts[i].name);
    }
    return r;
}

const char *conf_source_error(int r)
{
    switch (r) {
    case -EILSEQ:
        return "it holds a NUL byte";
    case -EFBIG:
        return "it is too large";
    case -ELOOP:
        return "it includes itself";
    case -E2BIG:
        return "the files are too many or too large together";
    default:
        return strerror(-r);
    }
}

int conf_source_optional(struct conf_loader *l, const char *path, struct conf_source *ret)
{
    int r;

    l->absolute = false;
    r = conf_source_read(l, path, ret);

    if (r == 0)
        return 1;
    if (r == -ENOENT || r == -ENOMEM)
        return r == -ENOENT ? 0 : r;
    conf_error(l, path, 0, "cannot be read: %s", conf_source_error(r));
    return 0;
}

/* Call fn for each file that matches the glob pattern `path`. */
static int include_glob(struct conf_loader *l, const char *path, conf_include_fn *fn)
{
    glob_t found;
    int r = glob(path, 0, NULL, &found);

    if (r == GLOB_NOMATCH)
        return 0;
    if (r != 0)
        return r == GLOB_NOSPACE ? -ENOMEM : -EIO;
    for (size_t i = 0; i < found.gl_pathc && r == 0; i++)
        r = fn(l, found.gl_pathv[i]);
    globfree(&found);
    return r;
}

int conf_source_include(struct conf_loader *l, const char *pattern, conf_include_fn *fn)
{
    _cleanup_val_(strbuf_done) struct strbuf path = STRBUF_INIT;
    bool many = is_pattern(pattern);

    for (const char *p = l->c->dir; pattern[0] != '/' && *p; p++) {
        if (many && !l->texts && strchr("*?[\\", *p))
            strbuf_addc(&path, '\\'); /* letters of the folder's own name are no wildcards */
        strbuf_addc(&path, *p);
        if (p[1] == '\0' && *p != '/')
            strbuf_addc(&path, '/');
    }
    strbuf_add(&path, pattern);
    if (path.failed)
        return -ENOMEM;
    l->absolute = pattern[0] == '/';
    if (l->texts)
        return include_texts(l, strbuf_str(&path), fn);
    return many ? include_glob(l, strbuf_str(&path), fn) : fn(l, strbuf_str(&path));
}

/* conf_shared.c - the files that hosts without a configuration need; see conf_shared.h
 *
 * slurm.conf and its includes are those that the load has read: they are read again, since the
 * load wrote into their texts, and compared with a hash of what it saw. */
#include "conf/conf_shared.h"

#include <ctype.h>
#include <errno.h>
#include <glob.h>
#include <stdlib.h>
#include <string.h>

#include "base/compare/order.h"
#include "base/readfile.h"
#include "conf/conf_priv.h"

#define INCLUDE_DEPTH 8 /* of plugstack.conf */

struct gather {
    const struct conf *c;
    struct conf_shared s;
};

void conf_shared_done(struct conf_shared *s)
{
    for (size_t i = 0; i < s->n; i++) {
        free(s->files[i].name);
        free(s->files[i].data);
    }
    free(s->files);
    *s = (struct conf_shared){ 0 };
}

static bool word_ok(const char *word, size_t len)
{
    if (len == 0 || word[0] == '.')
        return false;
    for (size_t i = 0; i < len; i++)
        if (!isgraph((unsigned char)word[i]))
            return false;
    return true;
}

/* Keys, and what says whom to trust: no configuration that was sent may bring one. */
static bool is_secret_name(const char *name)
{
    static const char *const names[] = { "slurm.key",        "slurm.jwks",
                                         "slurmctld.pub",    "ca_cert.pem",
                                         "slurmd_cert.pem",  "ctld_cert_key.pem",
                                         "dbd_cert_key.pem", "slurmd_cert_key.pem" };

    for (size_t i = 0; i < ARRAY_SIZE(names); i++)
        if (strcmp(name, names[i]) == 0)
            return true;
    return false;
}

bool conf_shared_name_ok(const char *name)
{
    size_t len = strlen(name);

    if (len > CONF_SHARED_NAME || is_secret_name(name))
        return false;
    for (const char *p = name;; p++) {
        size_t n = strcspn(p, "/");

        if (!word_ok(p, n))
            return false;
        p += n;
        if (!*p)
            return true;
    }
}

static bool has_file(const struct conf_shared *s, const char *name)
{
    for (size_t i = 0; i < s->n; i++)
        if (strcmp(s->files[i].name, name) == 0)
            return true;
    return false;
}

/* Add a file; data is taken. */
static int add_file(struct gather *g, const char *name, enum conf_share share, char *data,
                    size_t len, struct err *err)
{
    _cleanup_free_ char *owned = data;
    struct conf_shared *s = &g->s;
    struct conf_shared_file *more;

    if (!conf_shared_name_ok(name))
        return err_set(err, -EINVAL, "%.255s: nodes cannot get a file of this name", name);
    if (s->n >= CONF_SHARED_FILES)
        return err_set(err, -EFBIG, "the configuration has more than %u files for nodes",
                       CONF_SHARED_FILES);
    if (len > CONF_SHARED_TOTAL - s->total)
        return err_set(err, -EFBIG, "%s: the files for nodes are larger than %u bytes together",
                       name, CONF_SHARED_TOTAL);
    more = reallocarray(s->files, s->n + 1, sizeof(*more));
    if (!more)
        return err_nomem(err);
    s->files = more;
    more[s->n] = (struct conf_shared_file){ .name = strdup(name), .len = len, .share = share };
    if (!more[s->n].name)
        return err_nomem(err);
    more[s->n++].data = TAKE_PTR(owned);
    s->total += len;
    return 0;
}

/* The path of a file beside slurm.conf.  NULL without memory. */
static char *path_of(const struct gather *g, const char *name)
{
    char *path;

    return asprintf(&path, "%s/%s", g->c->dir, name) < 0 ? NULL : path;
}

/* A file beside slurm.conf, once.  -ENOENT when it is not there. */
static int read_beside(struct gather *g, const char *name, enum conf_share share, struct err *err)
{
    _cleanup_free_ char *path = path_of(g, name);
    char *data;
    size_t len;
    int r;

    if (has_file(&g->s, name))
        return 0;
    if (!path)
        return err_nomem(err);
    r = readfile(path, CONF_SHARED_TOTAL, &data, &len);
    if (r < 0)
        return err_set(err, r, "%s: %s", path, strerror(-r));
    return add_file(g, name, share, data, len, err);
}

/* Files beside slurm.conf whose name fits the pattern; a name that is no pattern must exist. */
static int read_pattern(struct gather *g, const char *pattern, enum conf_share share,
                        struct err *err)
{
    _cleanup_free_ char *path = path_of(g, pattern);
    size_t skip = strlen(g->c->dir) + 1;
    glob_t found;
    int r;

    if (!strpbrk(pattern, "*?["))
        return read_beside(g, pattern, share, err);
    r = path ? glob(path, 0, NULL, &found) : GLOB_NOSPACE;
    if (r == GLOB_NOMATCH)
        return 0;
    if (r != 0)
        return err_set(err, r == GLOB_NOSPACE ? -ENOMEM : -EIO, "%s: cannot be searched for",
                       pattern);
    for (size_t i = 0; i < found.gl_pathc && r == 0; i++)
        r = read_beside(g, found.gl_pathv[i] + skip, share, err);
    globfree(&found);
    return r;
}

/* ---- slurm.conf and what it includes --------------------------------------------------------- */

static enum conf_share share_of(const char *name)
{
    static const char *const node[] = { "acct_gather.conf", "cgroup.conf", "gres.conf",
                                        "job_container.conf" };

    for (size_t i = 0; i < ARRAY_SIZE(node); i++)
        if (strcmp(name, node[i]) == 0)
            return CONF_SHARE_NODE;
    return CONF_SHARE_ALL;
}

static int read_source(struct gather *g, size_t i, struct err *err)
{
    const struct conf_source *src = &g->c->sources[i];
    size_t dir = strcmp(g->c->dir, "/") == 0 ? 0 : strlen(g->c->dir);
    const char *name = src->name + dir + 1;
    char *data;
    size_t len;
    int r;

    if (i == 0)
        name = "slurm.conf";
    else if (src->absolute || strncmp(src->name, g->c->dir, dir) != 0 || src->name[dir] != '/')
        return err_set(err, -EINVAL,
                       "Include %.255s: nodes that get their configuration find no absolute path; "
                       "write it relative to the folder of slurm.conf",
                       src->name);
    if (has_file(&g->s, name))
        return 0;
    r = readfile(src->name, CONF_SHARED_TOTAL, &data, &len);
    if (r < 0)
        return err_set(err, r, "%s: %s", src->name, strerror(-r));
    if (conf_hash(data) != src->hash) {
        free(data);
        return err_set(err, -ESTALE, "%s: changed while the configuration was read", src->name);
    }
    return add_file(g, name, share_of(name), data, len, err);
}

/* ---- plugstack.conf -------------------------------------------------------------------------- */

/* The pattern of a line `include PATTERN`, as a copy; NULL: another line. */
static char *include_pattern(const char *line, size_t len)
{
    const char *end = line + len;

    while (line < end && isblank((unsigned char)*line))
        line++;
    if (end - line < 8 || memcmp(line, "include", 7) != 0 || !isblank((unsigned char)line[7]))
        return NULL;
    for (line += 8; line < end && (isblank((unsigned char)*line) || *line == '"');)
        line++;
    return strndup(line, strcspn(line, "\" \t\r\n#"));
}

/* Files that file `at` includes, and what they include.  An absolute path is the node's own. */
static int follow_plugstack(struct gather *g, size_t at, int depth, struct err *err)
{
    int r = 0;

    for (size_t pos = 0; pos < g->s.files[at].len && r == 0;) {
        const char *line = g->s.files[at].data + pos;
        size_t len = strcspn(line, "\n"), before = g->s.n;
        _cleanup_free_ char *pattern = include_pattern(line, len);

        pos += len + 1;
        if (!pattern || !pattern[0] || pattern[0] == '/')
            continue;
        r = read_pattern(g, pattern, CONF_SHARE_ALL, err);
        for (size_t i = before; r == 0 && depth < INCLUDE_DEPTH && i < g->s.n; i++)
            r = follow_plugstack(g, i, depth + 1, err);
    }
    return r;
}

static int read_plugstack(struct gather *g, struct err *err)
{
    const char *name = conf_str(g->c, CONF_PLUG_STACK_CONFIG);
    bool own = name && name[0];
    size_t at = g->s.n;
    int r;

    if (own && strchr(name, '/'))
        return 0; /* the node's own file */
    r = read_beside(g, own ? name : "plugstack.conf", CONF_SHARE_ALL, err);
    if (r == -ENOENT && !own)
        return 0;
    return r < 0 || g->s.n == at ? r : follow_plugstack(g, at, 0, err);
}

/* ---- the whole ------------------------------------------------------------------------------- */

static int read_others(struct gather *g, struct err *err)
{
    static const struct {
        const char *name;
        enum conf_share share;
    } others[] = {
        { "cli_filter.lua", CONF_SHARE_ALL }, { "helpers.conf", CONF_SHARE_NODE },
        { "mpi.conf", CONF_SHARE_NODE },      { "namespace.yaml", CONF_SHARE_NODE },
        { "scrun.lua", CONF_SHARE_ALL },      { "topology.conf", CONF_SHARE_ALL },
        { "topology.yaml", CONF_SHARE_ALL },
    };

    for (size_t i = 0; i < ARRAY_SIZE(others); i++) {
        struct err why = { .text = "" };
        int r = read_beside(g, others[i].name, others[i].share, &why);

        if (r < 0 && r != -ENOENT)
            return err_set(err, r, "%s", why.text);
    }
    return read_plugstack(g, err);
}

static int read_scripts(struct gather *g, struct err *err)
{
    static const struct {
        enum conf_key key;
        enum conf_share share;
    } scripts[] = {
        { CONF_PROLOG, CONF_SHARE_NODE_SCRIPT },
        { CONF_EPILOG, CONF_SHARE_NODE_SCRIPT },
        { CONF_TASK_PROLOG, CONF_SHARE_TASK_SCRIPT },
        { CONF_TASK_EPILOG, CONF_SHARE_TASK_SCRIPT },
    };
    const char *name;
    int r = 0;

    for (size_t k = 0; k < ARRAY_SIZE(scripts); k++) {
        bool many = scripts[k].share == CONF_SHARE_NODE_SCRIPT;

        for (size_t i = 0; r == 0 && (many || i == 0); i++) {
            name = many ? conf_str_nth(g->c, scripts[k].key, i) : conf_str(g->c, scripts[k].key);
            if (!name)
                break;
            if (name[0] && !strchr(name, '/'))
                r = read_pattern(g, name, scripts[k].share, err);
        }
    }
    return r;
}

int conf_shared_read(const struct conf *c, struct conf_shared *ret, struct err *err)
{
    struct gather g = { .c = c };
    int r = 0;

    for (size_t i = 0; i < c->nsources && r == 0; i++)
        r = read_source(&g, i, err);
    if (r == 0)
        r = read_others(&g, err);
    if (r == 0)
        r = read_scripts(&g, err);
    if (r < 0) {
        conf_shared_done(&g.s);
        return r;
    }
    *ret = g.s;
    return 0;
}

bool conf_shared_hosts(const struct conf *c)
{
    size_t n = conf_nodes(c);
    const char **hosts = calloc(n + 1, sizeof(*hosts));
    bool shared = false;

    if (!hosts)
        return false;
    for (size_t i = 0; i < n; i++)
        hosts[i] = conf_node(c, i)->hostname;
    qsort(hosts, n, sizeof(*hosts), order_text);
    for (size_t i = 1; i < n && !shared; i++)
        shared = strcmp(hosts[i - 1], hosts[i]) == 0;
    free(hosts);
    return shared;
}

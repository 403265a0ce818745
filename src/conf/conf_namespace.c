/* conf_namespace.c - job_container.conf: private folders of jobs.
 *
 * Read beside slurm.conf when NamespaceType asks for it.  Lines are kept as they are; what they
 * mean for a node is put together when that is asked. */
#include "conf/conf_priv.h"

#include <errno.h>
#include <string.h>
#include <strings.h>

#include "base/hostlist.h"
#include "conf/lex/conf_lex.h"

static bool wants_namespace(const struct conf *c)
{
    const char *type = conf_str(c, CONF_NAMESPACE_TYPE),
               *old = conf_str(c, CONF_JOB_CONTAINER_TYPE);

    return type ? strcasecmp(type, "namespace/tmpfs") == 0
                : old && strcasecmp(old, "job_container/tmpfs") == 0;
}

static void check_paths(struct conf_loader *l, const struct conf_row *row)
{
    const char *base = row->vals[XK_BASE_PATH].text, *dirs = row->vals[XK_DIRS].text;

    if (row->vals[XK_BASE_PATH].set && base[0] != '/' && strcasecmp(base, "none") != 0)
        conf_error(l, row->file, row->line, "BasePath=%.64s is not an absolute path", base);
    for (const char *p = dirs; row->vals[XK_DIRS].set && *p;) {
        size_t len = strcspn(p, ",");

        if (*p != '/' || len == 1)
            conf_error(l, row->file, row->line, "Dirs=%.*s is not the absolute path of a folder",
                       (int)MIN(len, (size_t)64), p);
        else if (row->vals[XK_BASE_PATH].set && strlen(base) == len && strncmp(base, p, len) == 0)
            conf_error(l, row->file, row->line, "BasePath=%.64s must not be one of Dirs", base);
        p += len + (p[len] == ',');
    }
}

static void check_nodes(struct conf_loader *l, const struct conf_row *row)
{
    _cleanup_(hostlist_free) struct hostlist *hl = NULL;
    const struct conf_val *v = &row->vals[XK_NODE_NAME];
    struct err err = { .text = "" };

    if (v->set && hostlist_parse(v->text, &hl, &err) < 0)
        conf_error(l, row->file, row->line, "NodeName=%.64s: %s", v->text, err.text);
}

static int namespace_file(struct conf_loader *l, const char *path)
{
    struct conf_source src;
    struct conf_lex lx;
    char *line;
    unsigned number;
    int r = conf_source_optional(l, path, &src);

    if (r <= 0)
        return r; /* a controller does without; a node says so */
    r = 0;
    conf_lex_init(&lx, src.text, src.len);
    while (r == 0 && conf_lex_line(&lx, &line, &number)) {
        struct conf_val vals[XK_MAX_] = { 0 };
        struct conf_row row = { .file = src.name, .line = number, .vals = vals };

        conf_row_parse(l, CONF_TBL_NAMESPACE, &row, line);
        conf_row_audit(l, CONF_TBL_NAMESPACE, vals);
        check_paths(l, &row);
        check_nodes(l, &row);
        r = conf_rows_add(&l->c->namespaces, CONF_TBL_NAMESPACE, &row, CONF_MAX_ROWS);
        if (r == -E2BIG)
            conf_error(l, src.name, number, "more than %u lines", CONF_MAX_ROWS);
    }
    return r == -E2BIG ? 0 : r;
}

bool conf_namespace_yaml(const struct conf *c)
{
    const char *type = conf_str(c, CONF_NAMESPACE_TYPE);

    return type && strcasecmp(type, "namespace/linux") == 0;
}

int conf_namespace_load(struct conf_loader *l)
{
    static const char *const flags[] = { "Contain", "RunInJob", "X11" };
    const char *v;
    size_t len;
    bool contain = false;

    if (!wants_namespace(l->c) && !conf_namespace_yaml(l->c))
        return 0;
    for (size_t i = 0; i < ARRAY_SIZE(flags); i++)
        contain = contain || conf_option(l->c, CONF_PROLOG_FLAGS, flags[i], &v, &len);
    if (!contain)
        conf_error(l, conf_path(l->c), 0, "NamespaceType needs PrologFlags=Contain");
    return wants_namespace(l->c) ? conf_source_include(l, "job_container.conf", namespace_file) : 0;
}

static bool is_about(const struct conf_val *vals, const char *node)
{
    _cleanup_(hostlist_free) struct hostlist *hl = NULL;

    return !vals[XK_NODE_NAME].set || (hostlist_parse(vals[XK_NODE_NAME].text, &hl, NULL) == 0 &&
                                       hostlist_find(hl, node) >= 0);
}

int conf_namespace(const struct conf *c, const char *node_name, struct conf_namespace *ret)
{
    struct conf_val vals[XK_MAX_] = { 0 };

    if (!wants_namespace(c))
        return 0;
    for (size_t i = 0; i < c->namespaces.n; i++) {
        const struct conf_val *line = c->namespaces.items[i].vals;

        for (int k = 0; is_about(line, node_name) && k < XK_MAX_; k++)
            if (line[k].set)
                vals[k] = line[k];
    }
    if (!vals[XK_BASE_PATH].set)
        return -ENOENT;
    if (strcasecmp(vals[XK_BASE_PATH].text, "none") == 0)
        return 0;
#define TEXT(key) conf_val_text(CONF_TBL_NAMESPACE, XK_##key, &vals[XK_##key])
#define NUM(key) conf_val_num(CONF_TBL_NAMESPACE, XK_##key, &vals[XK_##key])
    *ret = (struct conf_namespace){
        .base_path = TEXT(BASE_PATH),
        .dirs = TEXT(DIRS),
        .init_script = TEXT(INIT_SCRIPT),
        .clone_script = TEXT(CLONE_NS_SCRIPT),
        .clone_epilog = TEXT(CLONE_NS_EPILOG),
        .clone_script_wait_s = (uint32_t)NUM(CLONE_NS_SCRIPT_WAIT),
        .clone_epilog_wait_s = (uint32_t)NUM(CLONE_NS_EPILOG_WAIT),
        .auto_base_path = NUM(AUTO_BASE_PATH) != 0,
        .shared = NUM(SHARED) != 0,
    };
#undef TEXT
#undef NUM
    return 1;
}

/* conf_helpers.c - helpers.conf: programs that say and change the features of nodes.
 *
 * Read beside slurm.conf when NodeFeaturesPlugins asks for it.  Lines are kept as they are. */
#include "conf/conf_priv.h"

#include <ctype.h>
#include <errno.h>
#include <string.h>
#include <strings.h>

#include "base/hostlist.h"
#include "base/wordlist.h"
#include "conf/lex/conf_lex.h"

#define PLUGIN "node_features/helpers"

bool conf_helpers_on(const struct conf *c)
{
    const char *plugins = conf_str(c, CONF_NODE_FEATURES_PLUGINS);

    return plugins && wordlist_has_nocase(plugins, PLUGIN);
}

/* A name that a constraint can hold: "nps4", "mig.1g-10gb". */
static bool is_feature(const char *p, size_t len)
{
    for (size_t i = 0; i < len; i++)
        if (!isalnum((unsigned char)p[i]) && !(p[i] == '_' || (i && (p[i] == '.' || p[i] == '-'))))
            return false;
    return len > 0;
}

static void check_features(struct conf_loader *l, const struct conf_row *row, int key)
{
    const struct conf_val *v = &row->vals[key];

    for (const char *p = v->text; v->set; p++) {
        size_t len = strcspn(p, ",");

        if (!is_feature(p, len))
            conf_error(l, row->file, row->line, "%s: \"%.*s\" is no name of a feature",
                       conf_tables[CONF_TBL_HELPER].rows[key].name, (int)MIN(len, (size_t)64), p);
        p += len;
        if (!*p)
            break;
    }
}

static void check_line(struct conf_loader *l, const struct conf_row *row)
{
    const struct conf_val *v = row->vals;
    _cleanup_(hostlist_free) struct hostlist *hl = NULL;
    struct err err = { .text = "" };

    if (v[HK_FEATURE].set != v[HK_HELPER].set)
        conf_error(l, row->file, row->line, "Feature and Helper need each other");
    if (v[HK_NODE_NAME].set && !v[HK_FEATURE].set)
        conf_error(l, row->file, row->line, "NodeName needs Feature and Helper");
    if (v[HK_NODE_NAME].set && hostlist_parse(v[HK_NODE_NAME].text, &hl, &err) < 0)
        conf_error(l, row->file, row->line, "NodeName=%.64s: %s", v[HK_NODE_NAME].text, err.text);
    check_features(l, row, HK_FEATURE);
    check_features(l, row, HK_MUTUALLY_EXCLUSIVE);
}

static int helpers_file(struct conf_loader *l, const char *path)
{
    struct conf_source src;
    struct conf_lex lx;
    char *line;
    unsigned number;
    int r = conf_source_optional(l, path, &src);

    if (r == 0)
        conf_warn(l, path, 0, "there is no such file: no feature of a node can be changed");
    if (r <= 0)
        return r;
    r = 0;
    conf_lex_init(&lx, src.text, src.len);
    while (r == 0 && conf_lex_line(&lx, &line, &number)) {
        struct conf_val vals[HK_MAX_] = { 0 };
        struct conf_row row = { .file = src.name, .line = number, .vals = vals };

        conf_row_parse(l, CONF_TBL_HELPER, &row, line);
        conf_row_audit(l, CONF_TBL_HELPER, vals);
        check_line(l, &row);
        r = conf_rows_add(&l->c->helpers, CONF_TBL_HELPER, &row, CONF_MAX_ROWS);
        if (r == -E2BIG)
            conf_error(l, src.name, number, "more than %u lines", CONF_MAX_ROWS);
    }
    return r == -E2BIG ? 0 : r;
}

int conf_helpers_load(struct conf_loader *l)
{
    const struct conf_val *v = &l->c->vals[CONF_NODE_FEATURES_PLUGINS];

    if (!v->set || !*v->text)
        return 0;
    if (strcasecmp(v->text, PLUGIN) == 0)
        return conf_source_include(l, "helpers.conf", helpers_file);
    conf_error(l, v->file, v->line, "NodeFeaturesPlugins=%.64s is not available; there is: " PLUGIN,
               v->text);
    return 0;
}

bool conf_helper(const struct conf *c, size_t i, struct conf_helper *ret)
{
    for (size_t k = 0; k < c->helpers.n; k++) {
        const struct conf_val *v = c->helpers.items[k].vals;

        if (!v[HK_HELPER].set || !v[HK_FEATURE].set || i-- > 0)
            continue;
        *ret = (struct conf_helper){ .nodes = v[HK_NODE_NAME].set ? v[HK_NODE_NAME].text : NULL,
                                     .features = v[HK_FEATURE].text,
                                     .path = v[HK_HELPER].text };
        return true;
    }
    return false;
}

/* The last line that has the key; NULL: none. */
static const struct conf_val *last_of(const struct conf *c, int key)
{
    const struct conf_val *v = NULL;

    for (size_t i = 0; i < c->helpers.n; i++)
        if (c->helpers.items[i].vals[key].set)
            v = &c->helpers.items[i].vals[key];
    return v;
}

static uint32_t number_of(const struct conf *c, int key)
{
    static const struct conf_val none;
    const struct conf_val *v = last_of(c, key);

    return (uint32_t)conf_val_num(CONF_TBL_HELPER, key, v ? v : &none);
}

const char *conf_helpers_users(const struct conf *c)
{
    const struct conf_val *v = last_of(c, HK_ALLOW_USER_BOOT);

    return v ? v->text : NULL;
}

uint32_t conf_helpers_boot_s(const struct conf *c)
{
    return number_of(c, HK_BOOT_TIME);
}

uint32_t conf_helpers_exec_s(const struct conf *c)
{
    return number_of(c, HK_EXEC_TIME);
}

bool conf_features_exclude(const struct conf *c, const char *a, size_t alen, const char *b,
                           size_t blen)
{
    if (alen == blen && memcmp(a, b, alen) == 0)
        return false;
    for (size_t i = 0; i < c->helpers.n; i++) {
        const struct conf_val *v = &c->helpers.items[i].vals[HK_MUTUALLY_EXCLUSIVE];

        if (v->set && wordlist_has_n(v->text, a, alen) && wordlist_has_n(v->text, b, blen))
            return true;
    }
    return false;
}

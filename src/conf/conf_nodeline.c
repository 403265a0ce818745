/* conf_nodeline.c - one NodeName line that comes from no file: an operator or a node wrote it
 *
 * The line may name several nodes.  The cluster's configuration is only read: it says which generic
 * resources there are and which port a node has that names none. */
#include "conf/conf_nodeline.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/cleanup.h"
#include "base/safetext.h"
#include "conf/lex/conf_lex.h"
#include "conf/conf_priv.h"

#define WHERE "node line"

static bool gres_are_declared(const struct conf *cluster, const char *gres)
{
    for (const char *p = gres; p && *p; p += strcspn(p, ","), p += *p == ',')
        if (!conf_gres_declared(cluster, p, strcspn(p, ":,")))
            return false;
    return true;
}

/* What a file's end brings to its nodes. */
static void finish_nodes(struct conf_loader *l, const struct conf *cluster)
{
    for (size_t i = 0; i < l->c->nnodes; i++) {
        struct conf_node *n = &l->c->nodes[i];

        if (n->port == 0)
            n->port = (uint16_t)conf_num(cluster, CONF_SLURMD_PORT);
        if (strlen(n->name) > CONF_NODE_NAME_MAX)
            conf_error(l, WHERE, 0, "the name of a node has more than %u characters",
                       CONF_NODE_NAME_MAX);
        if (!gres_are_declared(cluster, n->gres))
            conf_error(l, WHERE, 0, "Gres=%.64s is not in GresTypes", n->gres);
    }
}

/* A state that no line may have is told apart from a line that cannot be read. */
static bool is_unknown_state(const char *key, const char *value)
{
    return strcasecmp(key, "State") == 0 &&
           !conf_word_find(CONF_TBL_NODE, NK_STATE, value, strlen(value));
}

static int parse_pairs(struct conf_loader *l, char *text, bool *ret_bad_state)
{
    struct conf_val vals[NK_MAX_] = { 0 };
    struct conf_row row = { .file = WHERE, .line = 0, .vals = vals };
    struct err err = { .text = "" };
    char *key, *value;
    int r = conf_lex_pair(&text, &key, &value, &err);

    if (r == 0 ||
        (r > 0 && (strcasecmp(key, "NodeName") != 0 || strcasecmp(value, "DEFAULT") == 0)))
        conf_error(l, WHERE, 0, "NodeName= and a name must come first");
    for (; r > 0 && !l->nerrors; r = conf_lex_pair(&text, &key, &value, &err)) {
        if (is_unknown_state(key, value))
            *ret_bad_state = true;
        else
            conf_row_pair(l, CONF_TBL_NODE, &row, key, value);
    }
    if (r < 0)
        conf_error(l, WHERE, 0, "%s", err.text);
    return l->nerrors ? 0 : conf_node_line(l, &row);
}

int conf_parse_nodeline(const struct conf *cluster, const char *line, struct conf **ret_nodes,
                        struct err *err)
{
    _cleanup_(conf_free) struct conf *c = calloc(1, sizeof(*c));
    struct conf_loader l = { .c = c, .scope = CONF_FULL, .err = err };
    bool bad_state = false;
    char *text;
    int r;

    if (!c)
        return err_nomem(err);
    if (strnlen(line, CONF_NODELINE_MAX + 1) > CONF_NODELINE_MAX)
        return err_set(err, -E2BIG, "a node line has more than %u bytes", CONF_NODELINE_MAX);
    if (!safetext_is_line(line))
        return err_set(err, -EINVAL, "a node line has control characters");
    text = conf_pool_strdup(&c->pool, line); /* its values stay in this copy */
    if (!text)
        return err_nomem(err);
    r = parse_pairs(&l, text, &bad_state);
    if (r == 0 && !l.nerrors)
        finish_nodes(&l, cluster);
    if (r == -ENOMEM)
        return err_nomem(err);
    if (r < 0 || l.nerrors || c->nnodes == 0)
        return err && err->text[0] ? -EINVAL : err_set(err, -EINVAL, "the line describes no node");
    if (bad_state)
        return err_set(err, -EDOM, "no node can begin in this state");
    *ret_nodes = TAKE_PTR(c);
    return 0;
}

/* How many pairs of text have the key, and how many pairs there are; -EINVAL. */
static int count_pairs(const char *text, const char *key, size_t *ret_all)
{
    _cleanup_free_ char *copy = strdup(text);
    char *cursor = copy, *k, *value;
    int r, n = 0;

    *ret_all = 0;
    if (!copy)
        return -ENOMEM;
    while ((r = conf_lex_pair(&cursor, &k, &value, NULL)) > 0) {
        n += strcasecmp(k, key) == 0;
        (*ret_all)++;
    }
    return r < 0 ? -EINVAL : n;
}

bool conf_nodeline_names(const char *text, const char *key)
{
    size_t all;

    return count_pairs(text, key, &all) > 0;
}

bool conf_nodeline_only(const char *text, const char *key)
{
    size_t all;
    int n = count_pairs(text, key, &all);

    return n > 0 && (size_t)n == all;
}

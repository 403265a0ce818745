/* conf_load.c - reading slurm.conf and what belongs to it.
 *
 * One pass over the lines; single keys are stored at once, NodeName lines make nodes at once.
 * Lines about partitions, node sets and DownNodes are resolved at the end, so their order is
 * free.  Every problem is noted and reading goes on.  A command (CONF_CLIENT) leaves the lines
 * about nodes and partitions unread, opens no second file but includes, and asks no name
 * service. */
#include "conf/conf_priv.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

#include "base/bitmap.h"
#include "base/cleanup.h"
#include "base/digest.h"
#include "base/bind/cpuspec.h"
#include "base/strbuf.h"
#include "conf/conf_olderlate.h"
#include "conf/lex/conf_lex.h"
#include "version.h"

static const struct {
    const char *name;
    enum conf_table_id table;
} line_kinds[] = {
    { "NodeName", CONF_TBL_NODE },     { "PartitionName", CONF_TBL_PART },
    { "NodeSet", CONF_TBL_NODESET },   { "DownNodes", CONF_TBL_DOWN },
    { "PowerAction", CONF_TBL_POWER },
};

/* The lines that a command skips: the same words in lower case. */
static const char *const skipped[] = { "nodename", "partitionname", "nodeset", "downnodes",
                                       "poweraction" };
_Static_assert(ARRAY_SIZE(line_kinds) == ARRAY_SIZE(skipped), "one word per kind of line");

const char *conf_own_path(void)
{
    const char *path = getenv("SLURM_CONF");

    return path && *path ? path : PENSTOCK_SYSCONFDIR "/slurm.conf";
}

const char *conf_default_path(void)
{
    const char *path = getenv("SLURM_CONF");
    bool kept = !(path && *path) && access(PENSTOCK_SYSCONFDIR "/slurm.conf", F_OK) < 0 &&
                access(CONF_KEPT_PATH, F_OK) == 0;

    return kept ? CONF_KEPT_PATH : conf_own_path();
}

static int nodeset_line(struct conf_loader *l, const struct conf_row *row)
{
    const struct conf_val *v = row->vals;
    int r;

    if (!v[SK_NODE_SET].set)
        return 0;
    for (size_t i = 0; i < l->nodesets.n; i++) {
        const struct conf_row *other = &l->nodesets.items[i];

        if (strcmp(other->vals[SK_NODE_SET].text, v[SK_NODE_SET].text) == 0) {
            conf_error(l, row->file, row->line, "node set %.64s is defined already in line %u",
                       v[SK_NODE_SET].text, other->line);
            return 0;
        }
    }
    if (strcasecmp(v[SK_NODE_SET].text, "ALL") == 0 || strpbrk(v[SK_NODE_SET].text, ",[]{}"))
        conf_error(l, row->file, row->line, "\"%.64s\" is not a node set name",
                   v[SK_NODE_SET].text);
    if (!v[SK_FEATURE].set && !v[SK_NODES].set)
        conf_error(l, row->file, row->line, "node set %.64s has neither Feature nor Nodes",
                   v[SK_NODE_SET].text);
    r = conf_rows_add(&l->nodesets, CONF_TBL_NODESET, row, CONF_MAX_PARTS);
    if (r == -E2BIG)
        conf_error(l, row->file, row->line, "more than %u node sets", CONF_MAX_PARTS);
    return r == -E2BIG ? 0 : r;
}

static int down_line(struct conf_loader *l, const struct conf_row *row)
{
    int r = 0;

    if (row->vals[DK_DOWN_NODES].set)
        r = conf_rows_add(&l->downs, CONF_TBL_DOWN, row, CONF_MAX_ROWS);
    if (r == -E2BIG)
        conf_error(l, row->file, row->line, "more than %u DownNodes lines", CONF_MAX_ROWS);
    return r == -E2BIG ? 0 : r;
}

/* A NodeName, PartitionName, NodeSet, DownNodes or PowerAction line.  All pairs from (key,
 * value) to the end of the line describe the same thing. */
static int thing_line(struct conf_loader *l, enum conf_table_id table, const struct conf_row *place,
                      const char *key, const char *value, char *rest)
{
    struct conf_val vals[CONST_MAX((int)PK_MAX_, (int)NK_MAX_)] = { 0 }; /* the largest tables */
    struct conf_row row = { .file = place->file, .line = place->line, .vals = vals };

    conf_row_pair(l, table, &row, key, value);
    conf_row_parse(l, table, &row, rest);
    switch (table) {
    case CONF_TBL_NODE:
        return conf_node_line(l, &row);
    case CONF_TBL_PART:
        return conf_part_line(l, &row);
    case CONF_TBL_NODESET:
        return nodeset_line(l, &row);
    case CONF_TBL_DOWN:
        return down_line(l, &row);
    default:
        return conf_power_line(l, &row);
    }
}

/* "name" or "name(addr)". */
static int split_host(struct conf_loader *l, struct conf_multi *m)
{
    const char *text = m->val.text, *open = strchr(text, '(');
    size_t len = strlen(text), name_len = open ? (size_t)(open - text) : len;

    if (name_len == 0 || (open && (text[len - 1] != ')' || open + 2 >= text + len)) ||
        strpbrk(text, ", []")) {
        conf_error(l, m->val.file, m->val.line,
                   "SlurmctldHost=%.64s is not of the form name or name(address)", text);
        return -EINVAL;
    }
    if (!open)
        return 0;
    m->addr = conf_pool_strndup(&l->c->pool, open + 1, len - name_len - 2);
    m->val.text = conf_pool_strndup(&l->c->pool, text, name_len);
    return m->addr && m->val.text ? 0 : -ENOMEM;
}

static int add_multi(struct conf_loader *l, enum conf_key key, const struct conf_row *row,
                     const char *value)
{
    struct conf *c = l->c;
    struct conf_multi m = {
        .key = key, .val = { .text = value, .file = row->file, .line = row->line, .set = true }
    };
    int r = conf_tables[CONF_TBL_KEY].rows[key].type == CONF_T_HOST ? split_host(l, &m) : 0;

    if (r < 0)
        return r == -ENOMEM ? r : 0;
    if (conf_grow(&c->multi, &c->multi_cap, c->nmulti, sizeof(*c->multi)) < 0)
        return -ENOMEM;
    c->multi[c->nmulti++] = m;
    if (!c->vals[key].set)
        c->vals[key] = m.val;
    return 0;
}

static int add_host(struct conf_loader *l, const struct conf_row *row, const char *value)
{
    return add_multi(l, CONF_SLURMCTLD_HOST, row, value);
}

static int global_pair(struct conf_loader *l, struct conf_row *row, const char *key,
                       const char *value)
{
    int i = conf_key_find(CONF_TBL_KEY, key);
    enum conf_type type = i >= 0 ? conf_tables[CONF_TBL_KEY].rows[i].type : CONF_T_TEXT;

    if (type == CONF_T_MULTI || type == CONF_T_HOST)
        return add_multi(l, (enum conf_key)i, row, value);
    conf_row_pair(l, CONF_TBL_KEY, row, key, value);
    return 0;
}

static int slurm_line(struct conf_loader *l, const char *file, unsigned line, char *rest)
{
    struct conf_row globals = { .file = file, .line = line, .vals = l->c->vals };
    struct err err = { .text = "" };
    char *key, *value;
    int r;

    while ((r = conf_lex_pair(&rest, &key, &value, &err)) > 0) {
        for (size_t i = 0; i < ARRAY_SIZE(line_kinds); i++) {
            if (strcasecmp(key, line_kinds[i].name) != 0)
                continue;
            if (l->scope == CONF_CLIENT)
                return 0;
            return thing_line(l, line_kinds[i].table, &globals, key, value, rest);
        }
        r = global_pair(l, &globals, key, value);
        if (r < 0)
            return r;
    }
    if (r < 0)
        conf_error(l, file, line, "%s", err.text);
    return 0;
}

static int slurm_file(struct conf_loader *l, const char *path);

/* The path of an Include with %c replaced; place notes what is wrong. */
static int include_line(struct conf_loader *l, const char *file, unsigned line, char *rest)
{
    _cleanup_val_(strbuf_done) struct strbuf pattern = STRBUF_INIT;
    const char *cluster = conf_str(l->c, CONF_CLUSTER_NAME);
    char *end, *p = rest + strspn(rest, " \t\r");
    int r;

    if (*p == '"')
        p++;
    end = p + strcspn(p, "\" \t\r#");
    if (end == p) {
        conf_error(l, file, line, "Include names no file");
        return 0;
    }
    for (; p < end; p++) {
        bool is_cluster = p[0] == '%' && p + 1 < end && p[1] == 'c';

        if (is_cluster && !cluster) {
            conf_error(l, file, line, "Include uses %%c before ClusterName is set");
            return 0;
        }
        if (is_cluster)
            strbuf_add(&pattern, cluster);
        else
            strbuf_addc(&pattern, *p);
        p += is_cluster;
    }
    if (pattern.failed)
        return -ENOMEM;
    if (l->depth >= CONF_MAX_INCLUDE_DEPTH) {
        conf_error(l, file, line, "Include goes deeper than %d files", CONF_MAX_INCLUDE_DEPTH);
        return 0;
    }
    l->depth++;
    r = conf_source_include(l, strbuf_str(&pattern), slurm_file);
    l->depth--;
    if (r < 0 && r != -ENOMEM)
        conf_error(l, file, line, "cannot read %.128s: %s", strbuf_str(&pattern),
                   conf_source_error(r));
    return r == -ENOMEM ? r : 0;
}

static bool is_include(const char *line)
{
    return strncasecmp(line, "include", 7) == 0 && (line[7] == ' ' || line[7] == '\t') &&
           line[8 + strspn(line + 8, " \t")] != '=';
}

/* Words of a line, each with a space behind, up to its comment. */
static uint64_t hash_line(uint64_t hash, const char *line)
{
    bool quoted = false, word = false;
    char before = '\0';

    for (const char *p = line; *p && (*p != '#' || quoted || before == '\\'); before = *p++) {
        if (*p == '"')
            quoted = !quoted && before == '=';
        if (quoted || !strchr(" \t\r", *p)) {
            hash = fnv_bytes(p, 1, hash);
            word = true;
        } else if (word) {
            hash = fnv_bytes(" ", 1, hash);
            word = false;
        }
    }
    return fnv_bytes(word ? " \n" : "\n", word ? 2 : 1, hash);
}

uint64_t conf_says_hash(const struct conf *c)
{
    return c->hash;
}

static int slurm_file(struct conf_loader *l, const char *path)
{
    struct conf_source src;
    struct conf_lex lx;
    char *line;
    unsigned number;
    int r;

    for (unsigned i = 0; i < l->depth; i++) {
        if (strcmp(l->reading[i], path) == 0)
            return -ELOOP;
    }
    r = conf_source_read(l, path, &src);
    if (r < 0)
        return r;
    l->reading[l->depth] = src.name;
    conf_lex_init(&lx, src.text, src.len);
    for (;;) {
        if (l->scope == CONF_CLIENT && conf_lex_peek(&lx, skipped, ARRAY_SIZE(skipped))) {
            conf_lex_skip(&lx);
            continue;
        }
        if (!conf_lex_line(&lx, &line, &number))
            return 0;
        if (strnlen(line, CONF_MAX_LINE + 1) > CONF_MAX_LINE)
            conf_error(l, src.name, number, "the line is longer than %u bytes", CONF_MAX_LINE);
        else if (is_include(line))
            r = include_line(l, src.name, number, line + 8);
        else {
            l->c->hash = hash_line(l->c->hash, line);
            r = slurm_line(l, src.name, number, line);
        }
        if (r < 0)
            return r;
    }
}

/* Values that need no name service and no other file. */
static int finish_common(struct conf_loader *l)
{
    struct conf *c = l->c;
    const struct conf_val *user = &c->vals[CONF_SLURM_USER];
    uint64_t known = UINT64_C(1) << 32; /* mark of a uid that needs no look-up */
    const char *value;
    size_t len;

    if (!user->set || strcmp(user->text, "root") == 0)
        c->slurm_uid = known;
    else if (user->text[0] >= '0' && user->text[0] <= '9')
        c->slurm_uid = known | user->num;
    if (conf_option(c, CONF_ACCOUNTING_STORAGE_ENFORCE, "wckeys", NULL, NULL) ||
        conf_option(c, CONF_ACCOUNTING_STORAGE_ENFORCE, "all", NULL, NULL))
        c->vals[CONF_TRACK_WCKEY] = (struct conf_val){ .text = "yes", .num = 1, .set = true };
    if (conf_option(c, CONF_AUTH_INFO, "socket", &value, &len) && len > 0) {
        c->munge_socket = strndup(value, len);
        if (!c->munge_socket)
            return -ENOMEM;
    }
    if (conf_option(c, CONF_AUTH_INFO, "keyfile", &value, &len) && len > 0) {
        c->key_file = strndup(value, len);
        return c->key_file ? 0 : -ENOMEM;
    }
    return conf_key_path(c->dir, &c->key_file);
}

/* spec_cores_first: CoreSpecCount means other cores than it would, so the node's line says which.
 * Everybody who goes by a node's CPUs goes by CpuSpecList where there is one. */
static int name_spec_cpus(struct conf *c, struct conf_node *n)
{
    _cleanup_(bitmap_free) struct bitmap *cpus = NULL;
    _cleanup_free_ char *text = NULL;
    uint32_t threads = MAX(n->cpus / (n->sockets * n->cores_per_socket), 1u);
    int r = bitmap_new(n->cpus, &cpus);

    for (uint32_t i = 0; r == 0 && i < n->core_spec; i++) {
        uint32_t first = cpuspec_first_core(n->sockets, n->cores_per_socket, i) * threads;

        if (first + threads <= n->cpus)
            bitmap_set_range(cpus, first, threads);
    }
    r = r < 0 ? r : bitmap_format(cpus, &text);
    if (r < 0)
        return r;
    n->cpu_spec_list = conf_pool_strdup(&c->pool, text);
    return n->cpu_spec_list ? 0 : -ENOMEM;
}

static int place_spec_cores(struct conf *c)
{
    bool first = conf_option(c, CONF_SCHEDULER_PARAMETERS, "spec_cores_first", NULL, NULL);
    int r = 0;

    for (size_t i = 0; first && r == 0 && i < c->nnodes; i++) {
        struct conf_node *n = &c->nodes[i];

        if (n->core_spec && !n->cpu_spec_list &&
            n->core_spec < (uint64_t)n->sockets * n->cores_per_socket)
            r = name_spec_cpus(c, n);
    }
    return r;
}

static int finish_full(struct conf_loader *l)
{
    struct conf *c = l->c;
    int r = conf_down_apply(l);

    if (r == 0)
        r = place_spec_cores(c);

    if (r == 0)
        r = conf_parts_resolve(l);
    for (size_t i = 0; i < c->nnodes; i++) {
        if (c->nodes[i].port == 0)
            c->nodes[i].port = (uint16_t)conf_num(c, CONF_SLURMD_PORT);
    }
    if (r == 0)
        r = conf_gres_load(l);
    if (r == 0)
        r = conf_cgroup_load(l);
    if (r == 0)
        r = conf_namespace_load(l);
    if (r == 0)
        r = conf_gather_load(l);
    if (r == 0)
        r = conf_helpers_load(l);
    if (r == 0)
        r = conf_oci_load(l);
    if (r == 0)
        conf_check(l);
    return r;
}

static int set_paths(struct conf *c, const char *path)
{
    const char *slash = strrchr(path, '/');

    c->path = strdup(path);
    c->dir = slash ? strndup(path, slash == path ? 1 : (size_t)(slash - path)) : strdup("");
    return c->path && c->dir ? 0 : -ENOMEM;
}

static int load_all(struct conf_loader *l, const char *path, struct conf **ret_conf)
{
    _cleanup_(conf_free) struct conf *c = calloc(1, sizeof(*c));
    int r;

    if (!c)
        return -ENOMEM;
    l->c = c;
    r = set_paths(c, path);
    if (r < 0)
        return r;
    r = slurm_file(l, path);
    if (r < 0 && r != -ENOMEM && c->nsources == 0) {
        conf_error(l, path, 0, "cannot be read: %s", conf_source_error(r));
        return r == -ENOENT ? r : -EINVAL;
    }
    if (r == 0)
        r = conf_olderlate(l, add_host);
    if (r == 0)
        r = finish_common(l);
    if (r == 0 && l->scope == CONF_FULL)
        r = finish_full(l);
    if (r < 0)
        return r;
    if (l->nerrors)
        return -EINVAL;
    conf_cgroup_fill(c);
    *ret_conf = TAKE_PTR(c);
    return 0;
}

/* A copy in the pool.  -ENOMEM. */
static int keep_set_text(struct conf *c, const struct conf_val *v, const char **ret)
{
    *ret = v->set ? conf_pool_strdup(&c->pool, v->text) : NULL;
    return v->set && !*ret ? -ENOMEM : 0;
}

static int keep_nodeset(struct conf_loader *l, struct conf *c, const struct conf_val *vals,
                        struct conf_nodeset *set)
{
    _cleanup_(bitmap_free) struct bitmap *bm = NULL;
    _cleanup_free_ const char **names = calloc(c->nnodes + 1, sizeof(*names));
    _cleanup_free_ char *list = NULL;
    size_t n = 0;
    int r = names ? conf_nodeexpr(l, &vals[SK_NODE_SET], "NodeSet", &bm) : -ENOMEM;

    for (uint32_t k = 0; r == 0 && k < c->nnodes; k++)
        if (bitmap_test(bm, k))
            names[n++] = c->nodes[k].name;
    if (r == 0)
        r = hostlist_fold_names(names, n, &list);
    if (r == 0)
        r = keep_set_text(c, &vals[SK_NODE_SET], &set->name);
    if (r == 0)
        r = keep_set_text(c, &vals[SK_FEATURE], &set->feature);
    if (r == 0)
        r = keep_set_text(c, &vals[SK_NODES], &set->nodes_config);
    if (r < 0)
        return r;
    set->list = conf_pool_strdup(&c->pool, list);
    return set->list ? 0 : -ENOMEM;
}

/* What the NodeSet lines mean, for later changes of partitions. */
static int keep_nodesets(struct conf_loader *l, struct conf *c)
{
    int r = 0;

    c->nodesets = calloc(l->nodesets.n + 1, sizeof(*c->nodesets));
    if (!c->nodesets)
        return -ENOMEM;
    for (size_t i = 0; r == 0 && i < l->nodesets.n; i++) {
        r = keep_nodeset(l, c, l->nodesets.items[i].vals, &c->nodesets[i]);
        c->nnodesets += r == 0;
    }
    return r;
}

static int run_load(struct conf_loader *l, const char *path, struct conf **ret_conf)
{
    int r = load_all(l, path, ret_conf);

    if (r == 0 && l->scope == CONF_FULL) {
        l->c = *ret_conf;
        r = keep_nodesets(l, *ret_conf);
    }
    conf_rows_done(&l->parts);
    conf_rows_done(&l->nodesets);
    conf_rows_done(&l->downs);
    if (r == -ENOMEM)
        return err_nomem_of(l->err, path);
    return r;
}

int conf_load(const char *path, enum conf_scope scope, struct conf **ret_conf,
              struct conf_problems *problems, struct err *err)
{
    struct conf_loader l = { .scope = scope, .problems = problems, .err = err };
    _cleanup_free_ char *cwd = NULL, *absolute = NULL;

    if (problems)
        *problems = (struct conf_problems){ 0 };
    if (!path)
        path = conf_default_path();
    if (path[0] != '/') { /* daemons change their folder */
        cwd = getcwd(NULL, 0);
        if (!cwd)
            return err_set(err, -errno, "%s: no current folder", path);
        if (asprintf(&absolute, "%s/%s", cwd, path) < 0) {
            absolute = NULL;
            return -ENOMEM;
        }
        path = absolute;
    }
    return run_load(&l, path, ret_conf);
}

int conf_load_text(const struct conf_text *files, size_t n, enum conf_scope scope,
                   struct conf **ret_conf, struct conf_problems *problems, struct err *err)
{
    struct conf_loader l = {
        .scope = scope, .problems = problems, .err = err, .texts = files, .ntexts = n
    };

    if (problems)
        *problems = (struct conf_problems){ 0 };
    if (n == 0)
        return err_set(err, -EINVAL, "no configuration text");
    return run_load(&l, files[0].name, ret_conf);
}

struct conf *conf_free(struct conf *c)
{
    int saved = errno;

    if (!c)
        return NULL;
    for (size_t i = 0; i < c->nsources; i++) {
        free(c->sources[i].name);
        free(c->sources[i].text);
    }
    free(c->sources);
    free(c->path);
    free(c->dir);
    free(c->key_file);
    conf_rows_done(&c->namespaces);
    conf_rows_done(&c->helpers);
    free(c->munge_socket);
    free(c->multi);
    free(c->nodes);
    free(c->node_table);
    free(c->parts);
    free(c->nodesets);
    free(c->gres);
    conf_powers_free(c);
    c->pool = conf_pool_free(c->pool);
    free(c);
    errno = saved;
    return NULL;
}

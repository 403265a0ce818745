/* conf_part.c - PartitionName lines.
 *
 * Lines are kept as rows until everything is read, since nodes, node sets and the keys that give
 * defaults may follow; conf_parts_resolve() then makes the partitions in file order. */
#include "conf/conf_priv.h"
#include "conf/conf_tres.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/bind/cpubind.h"
#include "base/cleanup.h"
#include "base/timefmt.h"

/* Values of PartitionState in the schema, which stands a floor above. */
static const struct {
    const char *word;
    unsigned state;
} states[] = { { "INACTIVE", 0 }, { "DOWN", 1 }, { "DRAIN", 2 }, { "UP", 3 } };

int conf_part_line(struct conf_loader *l, const struct conf_row *line)
{
    struct conf_row row = *line;
    struct conf_val defaults[PK_MAX_];
    bool is_default = row.vals[PK_PARTITION_NAME].set &&
                      strcasecmp(row.vals[PK_PARTITION_NAME].text, "DEFAULT") == 0;
    int r;

    conf_row_alias(&row, PK_SHARED, PK_OVER_SUBSCRIBE);
    conf_row_audit(l, CONF_TBL_PART, row.vals);
    memcpy(defaults, l->part_default, sizeof(defaults));
    conf_row_exclude(&row, defaults, PK_DEF_MEM_PER_CPU, PK_DEF_MEM_PER_NODE);
    conf_row_exclude(&row, defaults, PK_MAX_MEM_PER_CPU, PK_MAX_MEM_PER_NODE);
    conf_row_merge(&row, CONF_TBL_PART, defaults);
    if (is_default) {
        row.vals[PK_PARTITION_NAME] = (struct conf_val){ 0 };
        memcpy(l->part_default, row.vals, sizeof(l->part_default));
        return 0;
    }
    if (!row.vals[PK_PARTITION_NAME].set)
        return 0; /* its bad name was noted */
    if (!row.vals[PK_PARTITION_NAME].text[0] ||
        strpbrk(row.vals[PK_PARTITION_NAME].text, "=, \t")) {
        conf_error(l, row.file, row.line, "PartitionName=\"%.64s\" is not a name",
                   row.vals[PK_PARTITION_NAME].text);
        return 0;
    }
    r = conf_rows_add(&l->parts, CONF_TBL_PART, &row, CONF_MAX_PARTS);
    if (r == -E2BIG) {
        conf_error(l, row.file, row.line, "more than %u partitions", CONF_MAX_PARTS);
        return 0;
    }
    return r;
}

struct build {
    struct conf_loader *l;
    const struct conf_row *row;
    struct conf_part *p;
    bool oom;
};

static const struct conf_val *get_val(const struct build *b, enum conf_part_key key)
{
    return &b->row->vals[key];
}

static uint64_t get_num(const struct build *b, enum conf_part_key key)
{
    return conf_val_num(CONF_TBL_PART, (int)key, get_val(b, key));
}

static uint32_t get_num32(const struct build *b, enum conf_part_key key)
{
    return (uint32_t)get_num(b, key);
}

static char *keep_text(struct build *b, const char *text)
{
    char *copy = conf_pool_strdup(&b->l->c->pool, text);

    b->oom |= !copy;
    return copy;
}

/* A text; NULL when not written, empty, or equal to `word` for "no restriction". */
static char *text_but(struct build *b, enum conf_part_key key, const char *word)
{
    const struct conf_val *v = get_val(b, key);

    if (!v->set || v->text[0] == '\0' || (word && strcasecmp(v->text, word) == 0))
        return NULL;
    return keep_text(b, v->text);
}

static void set_oversubscribe(struct build *b)
{
    static const char *const words[] = { "YES", "FORCE" };
    const struct conf_val *v = get_val(b, PK_OVER_SUBSCRIBE);
    const char *text = v->set ? v->text : "NO";
    char out[32];

    b->p->oversubscribe = keep_text(b, "NO");
    if (strcasecmp(text, "NO") == 0)
        return;
    if (strcasecmp(text, "EXCLUSIVE") == 0) {
        b->p->exclusive = keep_text(b, "NODE");
        return;
    }
    for (size_t i = 0; i < ARRAY_SIZE(words); i++) {
        size_t len = strlen(words[i]);
        uint64_t n = 4;

        if (strncasecmp(text, words[i], len) != 0 || (text[len] && text[len] != ':'))
            continue;
        if (text[len] && parse_u64(text + len + 1, 1, UINT16_MAX, &n) < 0)
            break;
        (void)snprintf(out, sizeof(out), "%s:%ju", words[i], (uintmax_t)n); /* fits */
        b->p->oversubscribe = keep_text(b, out);
        return;
    }
    conf_error(b->l, v->file, v->line, "OverSubscribe=%.64s is not NO, YES[:N] or FORCE[:N]", text);
}

static void set_sharing(struct build *b)
{
    const struct conf_val *v = get_val(b, PK_EXCLUSIVE);

    b->p->exclusive = keep_text(b, "NO");
    set_oversubscribe(b);
    if (get_num(b, PK_EXCLUSIVE_USER))
        b->p->exclusive = keep_text(b, "USER");
    if (get_num(b, PK_EXCLUSIVE_TOPO))
        b->p->exclusive = keep_text(b, "TOPO");
    if (v->set)
        b->p->exclusive =
            keep_text(b, conf_word_find(CONF_TBL_PART, PK_EXCLUSIVE, v->text, strlen(v->text)));
}

static void set_times(struct build *b)
{
    struct conf_part *p = b->p;
    const struct conf_val *v = get_val(b, PK_DEFAULT_TIME);

    p->max_time_min = get_num32(b, PK_MAX_TIME);
    p->default_time_min = CONF_UNLIMITED;
    if (v->set && v->num != CONF_NUM_NONE) {
        p->has_default_time = true;
        p->default_time_min = (uint32_t)v->num;
        if (p->default_time_min > p->max_time_min) {
            conf_warn(b->l, v->file, v->line, "DefaultTime=%.32s exceeds MaxTime, which is used",
                      v->text);
            p->default_time_min = p->max_time_min;
        }
    }
    p->has_over_time_limit = get_val(b, PK_OVER_TIME_LIMIT)->set;
    p->over_time_limit_min = get_num32(b, PK_OVER_TIME_LIMIT);
}

static void set_memory(struct build *b)
{
    static const enum conf_part_key pairs[][2] = { { PK_DEF_MEM_PER_CPU, PK_DEF_MEM_PER_NODE },
                                                   { PK_MAX_MEM_PER_CPU, PK_MAX_MEM_PER_NODE } };
    struct conf_part *p = b->p;

    for (size_t i = 0; i < ARRAY_SIZE(pairs); i++) {
        const struct conf_keydef *rows = conf_tables[CONF_TBL_PART].rows;

        if (get_val(b, pairs[i][0])->set && get_val(b, pairs[i][1])->set)
            conf_error(b->l, b->row->file, b->row->line, "%s and %s exclude each other",
                       rows[pairs[i][0]].name, rows[pairs[i][1]].name);
    }
    p->def_mem_per_cpu_mib = get_num(b, PK_DEF_MEM_PER_CPU);
    p->def_mem_per_node_mib = get_num(b, PK_DEF_MEM_PER_NODE);
    p->max_mem_per_cpu_mib = get_num(b, PK_MAX_MEM_PER_CPU);
    p->max_mem_per_node_mib = get_num(b, PK_MAX_MEM_PER_NODE);
}

static void set_numbers(struct build *b)
{
    struct conf_part *p = b->p;
    bool both = get_val(b, PK_PRIORITY)->set;

    p->max_nodes = get_num32(b, PK_MAX_NODES);
    p->min_nodes = get_num32(b, PK_MIN_NODES);
    p->max_cpus_per_node = get_num32(b, PK_MAX_CPUS_PER_NODE);
    p->max_cpus_per_socket = get_num32(b, PK_MAX_CPUS_PER_SOCKET);
    p->grace_time_s = get_num32(b, PK_GRACE_TIME);
    p->has_suspend_time = get_val(b, PK_SUSPEND_TIME)->set;
    p->suspend_time_s = get_num32(b, PK_SUSPEND_TIME);
    p->has_suspend_timeout = get_val(b, PK_SUSPEND_TIMEOUT)->set;
    p->suspend_timeout_s = get_num32(b, PK_SUSPEND_TIMEOUT);
    p->has_resume_timeout = get_val(b, PK_RESUME_TIMEOUT)->set;
    p->resume_timeout_s = get_num32(b, PK_RESUME_TIMEOUT);
    p->priority_tier =
        get_num32(b, both && !get_val(b, PK_PRIORITY_TIER)->set ? PK_PRIORITY : PK_PRIORITY_TIER);
    p->priority_job_factor = get_num32(
        b, both && !get_val(b, PK_PRIORITY_JOB_FACTOR)->set ? PK_PRIORITY : PK_PRIORITY_JOB_FACTOR);
    if (p->min_nodes > p->max_nodes)
        conf_error(b->l, b->row->file, b->row->line, "MinNodes=%u exceeds MaxNodes=%u",
                   p->min_nodes, p->max_nodes);
}

static void set_flags(struct build *b)
{
    struct conf_part *p = b->p;

    p->is_default = get_num(b, PK_DEFAULT);
    p->hidden = get_num(b, PK_HIDDEN);
    p->root_only = get_num(b, PK_ROOT_ONLY);
    p->req_resv = get_num(b, PK_REQ_RESV);
    p->lln = get_num(b, PK_LLN);
    p->power_down_on_idle = get_num(b, PK_POWER_DOWN_ON_IDLE);
    p->disable_root_jobs = get_val(b, PK_DISABLE_ROOT_JOBS)->set
                               ? get_num(b, PK_DISABLE_ROOT_JOBS) != 0
                               : conf_bool(b->l->c, CONF_DISABLE_ROOT_JOBS);
}

static void set_texts(struct build *b)
{
    struct conf_part *p = b->p;

    p->allow_groups = text_but(b, PK_ALLOW_GROUPS, "ALL");
    p->allow_accounts = text_but(b, PK_ALLOW_ACCOUNTS, "ALL");
    p->allow_qos = text_but(b, PK_ALLOW_QOS, "ALL");
    p->alloc_nodes = text_but(b, PK_ALLOC_NODES, "ALL");
    p->deny_accounts = text_but(b, PK_DENY_ACCOUNTS, "NONE");
    p->deny_qos = text_but(b, PK_DENY_QOS, "NONE");
    p->alternate = text_but(b, PK_ALTERNATE, NULL);
    if (get_val(b, PK_CPU_BIND)->set)
        p->cpu_bind = cpubind_of_key(get_val(b, PK_CPU_BIND)->text);
    p->preempt_mode = text_but(b, PK_PREEMPT_MODE, NULL);
    p->qos = text_but(b, PK_QOS, "N/A");
    p->select_type_parameters = text_but(b, PK_SELECT_TYPE_PARAMETERS, "NONE");
    p->topology = text_but(b, PK_TOPOLOGY, NULL);
    p->tres_billing_weights = text_but(b, PK_TRES_BILLING_WEIGHTS, NULL);
    conf_tres_weights(b->l, get_val(b, PK_TRES_BILLING_WEIGHTS));
    for (char *c = p->preempt_mode; c && *c; c++)
        *c = (char)(*c >= 'a' && *c <= 'z' ? *c - 32 : *c);
}

static void set_job_defaults(struct build *b)
{
    bool cpu = get_val(b, PK_DEF_CPU_PER_GPU)->set, mem = get_val(b, PK_DEF_MEM_PER_GPU)->set;
    char out[96], cpus[40] = "", mems[40] = "";

    if (!cpu && !mem)
        return;
    if (cpu)
        (void)snprintf(cpus, sizeof(cpus), "DefCpuPerGPU=%ju",
                       (uintmax_t)get_num(b, PK_DEF_CPU_PER_GPU)); /* fits */
    if (mem)
        (void)snprintf(mems, sizeof(mems), "DefMemPerGPU=%ju",
                       (uintmax_t)get_num(b, PK_DEF_MEM_PER_GPU));                 /* fits */
    (void)snprintf(out, sizeof(out), "%s%s%s", cpus, cpu && mem ? "," : "", mems); /* fits */
    b->p->job_defaults = keep_text(b, out);
}

/* The names of the nodes in bm, folded, in the pool. */
static char *fold_nodes(struct build *b, const struct bitmap *bm)
{
    const struct conf *c = b->l->c;
    _cleanup_free_ const char **names = NULL;
    _cleanup_free_ char *text = NULL;
    size_t n = 0;

    names = calloc((size_t)bitmap_count(bm) + 1, sizeof(*names));
    if (!names) {
        b->oom = true;
        return NULL;
    }
    BITMAP_FOREACH (bm, i)
        names[n++] = c->nodes[i].name;
    if (hostlist_fold_names(names, n, &text) < 0) {
        b->oom = true;
        return NULL;
    }
    return keep_text(b, text);
}

static void set_nodes(struct build *b)
{
    const struct conf_val *v = get_val(b, PK_NODES);
    _cleanup_(bitmap_free) struct bitmap *bm = NULL;
    char what[96];
    int r;

    b->p->nodes_config = keep_text(b, v->set ? v->text : "");
    if (!v->set || v->text[0] == '\0') {
        b->p->nodes = keep_text(b, "");
        return;
    }
    (void)snprintf(what, sizeof(what), "partition %.64s", b->p->name); /* cut when too long */
    r = conf_nodeexpr(b->l, v, what, &bm);
    if (r == 0)
        b->p->nodes = fold_nodes(b, bm);
    else
        b->oom |= r == -ENOMEM;
}

static bool is_part_name(const char *name)
{
    return name[0] && !strpbrk(name, ", \t*\"[]{}") && strlen(name) < 64;
}

static int build_part(struct conf_loader *l, const struct conf_row *row, struct conf_part *p)
{
    struct build b = { .l = l, .row = row, .p = p };
    const struct conf_val *v = get_val(&b, PK_STATE);

    *p = (struct conf_part){ .file = row->file, .line = row->line };
    p->name = keep_text(&b, row->vals[PK_PARTITION_NAME].text);
    if (!p->name)
        return -ENOMEM;
    if (!is_part_name(p->name))
        conf_error(l, row->file, row->line, "PartitionName=\"%.64s\" is not a name", p->name);
    p->state = 3;
    for (size_t i = 0; v->set && i < ARRAY_SIZE(states); i++) {
        if (strcasecmp(states[i].word, v->text) == 0)
            p->state = states[i].state;
    }
    set_flags(&b);
    set_numbers(&b);
    set_times(&b);
    set_memory(&b);
    set_sharing(&b);
    set_texts(&b);
    set_job_defaults(&b);
    set_nodes(&b);
    return b.oom ? -ENOMEM : 0;
}

static struct conf_part *find_part(const struct conf *c, const char *name, size_t before)
{
    for (size_t i = 0; i < before; i++) {
        if (strcmp(c->parts[i].name, name) == 0)
            return &c->parts[i];
    }
    return NULL;
}

/* What only all partitions together show. */
static void check_parts(struct conf_loader *l)
{
    struct conf *c = l->c;
    struct conf_part *chosen = NULL;

    for (size_t i = 0; i < c->nparts; i++) {
        struct conf_part *p = &c->parts[i];
        const char *file = l->parts.items[i].file;
        const struct conf_part *twin = find_part(c, p->name, i);

        if (twin)
            conf_error(l, file, p->line, "partition %.64s is defined already in line %u", p->name,
                       twin->line);
        if (p->alternate && !find_part(c, p->alternate, c->nparts))
            conf_error(l, file, p->line, "Alternate=%.64s is not a partition", p->alternate);
        if (!p->is_default)
            continue;
        if (chosen) {
            conf_warn(l, file, p->line, "%.64s takes the place of default partition %.64s", p->name,
                      chosen->name);
            chosen->is_default = false;
        }
        chosen = p;
    }
}

int conf_parts_resolve(struct conf_loader *l)
{
    struct conf *c = l->c;

    c->parts = calloc(l->parts.n + 1, sizeof(*c->parts));
    if (!c->parts)
        return -ENOMEM;
    for (size_t i = 0; i < l->parts.n; i++) {
        int r = build_part(l, &l->parts.items[i], &c->parts[i]);

        if (r < 0)
            return r;
        c->nparts++;
    }
    check_parts(l);
    return 0;
}

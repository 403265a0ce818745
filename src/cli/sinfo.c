/* sinfo.c - list partitions and nodes
 *
 * Reads all partitions and nodes (their number is that of the cluster, not of its jobs), gathers
 * nodes that look alike into rows and prints them in order. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/bitmap.h"
#include "base/cleanup.h"
#include "base/digest.h"
#include "base/hostlist.h"
#include "base/timefmt.h"
#include "cli/base/argwords.h"
#include "cli/base/cli.h"
#include "cli/format/fmt_sinfo.h"
#include "cli/format/json_job.h"
#include "cli/base/opts.h"
#include "cli/query/out_nodes.h"
#include "cli/base/fedview.h"
#include "cli/base/iterate.h"
#include "cli/query/out_query.h"
#include "cli/query/out_tres.h"
#include "cli/format/out_resv.h"
#include "wire/ops.h"

#define FMT_DEFAULT "%#P %.5a %.10l %.6D %.6t %N"
#define FMT_SUMMARY "%#P %.5a %.10l %.16F %N"
#define FMT_LONG "%#P %.5a %.10l %.10s %.4r %.8h %.10g %.6D %.11T %.11i %N"
#define FMT_NODES "%#N %.6D %.#P %6t"
#define FMT_NODES_LONG "%#N %.6D %.#P %.11T %4c %.8z %.6m %.8d %.6w %.8f %20E"
#define FMT_REASONS "%20E %9u %19H %N"
#define FMT_REASONS_LONG "%20E %12U %19H %6t %N"
/* With the cluster: what --federation shows. */
#define FMT_FED_DEFAULT "%#P %8V %.5a %.10l %.6D %.6t %N"
#define FMT_FED_SUMMARY "%#P %8V %.5a %.10l %.16F %N"
#define FMT_FED_LONG "%#P %8V %.5a %.10l %.10s %.4r %.8h %.10g %.6D %.11T %.11i %N"
#define FMT_FED_NODES "%#N %8V %.6D %.#P %6t"
#define FMT_FED_NODES_LONG "%#N %8V %.6D %.#P %.11T %4c %.8z %.6m %.8d %.6w %.8f %20E"
#define FMT_FED_REASONS "%20E %9u %19H %8V %N"
#define FMT_FED_REASONS_LONG "%20E %12U %19H %8V %6t %N"
#define FIT_MIN 9u /* least width of '#' columns */

struct sinfo {
    struct cli cli;
    struct json_option json;
    const char *format, *format_long, *sort, *cluster_words;
    bool all, dead, responding, exact, future, long_format, per_node, noconvert, noheader,
        summarize, reasons, reservations, format_given, partition_given, all_given;
    uint32_t iterate_s;
    char **partitions;
    size_t n_partitions;
    struct hostlist *names; /* --nodes */
    struct sinfo_filter states;
    bool states_given;

    struct fmt fmt;
    struct fmt_sort order;
    struct strbuf out;
    struct json js;
    struct fedview view;
    struct clusters clusters; /* of -M or --federation */
    bool federated;
    struct cluster_nodes *data; /* one, or one of each cluster of the federation */
    size_t n_data;
    struct row_table {
        struct sinfo_row *rows;
        char **keys;
        struct bitmap **members; /* ranks of a row's nodes; NULL while it has one */
        size_t n, cap;
        uint32_t *index; /* by hash of the key: row + 1, 0 = empty */
        size_t n_index;
    } table;
};

static int take_states(void *at, const struct opt *opt, const char *arg, struct err *err)
{
    char bad[64];

    (void)opt, (void)err;
    if (sinfo_filter_parse(at, arg, bad, sizeof(bad)) < 0) {
        cli_error("Bad state string: \"%s\"", bad);
        cli_error("valid states: %s", names_node_filter_list());
        return CLI_EXIT_FAILED;
    }
    return 0;
}

static int take_nodes(void *at, const struct opt *opt, const char *arg, struct err *err)
{
    struct hostlist **names = at;

    *names = hostlist_free(*names);
    if (hostlist_parse(arg, names, NULL) < 0)
        return err_set(err, CLI_EXIT_FAILED, "'%s' invalid entry for --%s", arg, opt->name);
    return 0;
}

static int take_iterate(void *at, const struct opt *opt, const char *arg, struct err *err)
{
    if (opt_take_count(at, opt, arg, err) == 0)
        return 0;
    return err_set(err, CLI_EXIT_FAILED, "Error: invalid entry for --%s=%s", opt->name, arg);
}

static int take_format(void *at, const struct opt *opt, const char *arg, struct err *err)
{
    struct sinfo *s = at;

    (void)opt, (void)err;
    s->format = arg;
    s->format_long = NULL;
    s->format_given = true;
    return 0;
}

/* The last list counts; an empty one is no partition. */
static int take_partitions(void *at, const struct opt *opt, const char *arg, struct err *err)
{
    struct sinfo *s = at;

    (void)opt, (void)err;
    argwords_free(s->partitions, s->n_partitions);
    s->partitions = NULL;
    s->n_partitions = 0;
    argwords_add(&s->partitions, &s->n_partitions, arg);
    s->partition_given = true;
    return 0;
}

#define OPT_INTO struct sinfo
static const struct opt rows[] = {
    OPT("all", 'a', OPT_NONE, OPT_AND(OPT_FLAG(all), OPT_GIVEN(all_given)), "@ALL", NULL, NULL,
        "also hidden partitions"),
    OPT("clusters", 'M', OPT_REQ, OPT_TEXT(cluster_words), "SLURM_CLUSTERS", NULL, "names",
        "ask this cluster"),
    OPT("dead", 'd', OPT_NONE, OPT_FLAG(dead), NULL, NULL, NULL, "only nodes that do not respond"),
    OPT("exact", 'e', OPT_NONE, OPT_FLAG(exact), NULL, NULL, NULL,
        "do not gather nodes of different size"),
    FEDVIEW_FEDERATION,
    OPT("format", 'o', OPT_REQ, OPT_TAKE_ALL(take_format), "@FORMAT", NULL, "format",
        "columns as %[.][width]letter"),
    OPT("Format", 'O', OPT_REQ,
        OPT_AND(OPT_TEXT(format_long), OPT_BUT(format), OPT_GIVEN(format_given)), NULL, NULL,
        "names", "columns as name[:[.][width][suffix]],..."),
    OPT("future", 'F', OPT_NONE, OPT_FLAG(future), NULL, NULL, NULL, "also nodes in state FUTURE"),
    OPT("hide", 0, OPT_NONE, OPT_UNFLAG(all), NULL, NULL, NULL, "leave out hidden partitions"),
    OPT("iterate", 'i', OPT_REQ, OPT_TAKE(iterate_s, take_iterate), NULL, NULL, "seconds",
        "list again and again"),
    OPT("json", 0, OPT_OPT, OPT_TAKE(json, json_take_json), NULL, NULL, "version", "print JSON"),
    OPT("list-reasons", 'R', OPT_NONE, OPT_FLAG(reasons), NULL, NULL, NULL,
        "why nodes are unavailable"),
    FEDVIEW_LOCAL,
    OPT("long", 'l', OPT_NONE, OPT_FLAG(long_format), NULL, NULL, NULL, "more columns"),
    OPT("noconvert", 0, OPT_NONE, OPT_FLAG(noconvert), NULL, NULL, NULL, "keep the units of sizes"),
    OPT("Node", 'N', OPT_NONE, OPT_FLAG(per_node), NULL, NULL, NULL,
        "one line for each node and partition"),
    OPT("nodes", 'n', OPT_REQ, OPT_TAKE(names, take_nodes), NULL, NULL, "nodes", "these nodes"),
    OPT("noheader", 'h', OPT_NONE, OPT_FLAG(noheader), NULL, NULL, NULL, "no line of headings"),
    OPT("partition", 'p', OPT_REQ, OPT_TAKE_ALL(take_partitions), "@PARTITION", NULL, "names",
        "these partitions"),
    OPT("reservation", 'T', OPT_NONE, OPT_FLAG(reservations), NULL, NULL, NULL,
        "list reservations"),
    OPT("responding", 'r', OPT_NONE, OPT_FLAG(responding), NULL, NULL, NULL,
        "only nodes that respond"),
    OPT("sort", 'S', OPT_REQ, OPT_TEXT(sort), "@SORT", NULL, "letters",
        "order: letters of --format, - before one reverses"),
    OPT("states", 't', OPT_REQ, OPT_AND(OPT_TAKE(states, take_states), OPT_GIVEN(states_given)),
        NULL, NULL, "states", "nodes in these states; , is or, + is and, ~ is not"),
    OPT("summarize", 's', OPT_NONE, OPT_FLAG(summarize), NULL, NULL, NULL,
        "one line for each partition"),
    OPT("verbose", 'v', OPT_NONE, OPT_VERBOSE(cli), NULL, NULL, NULL, "say more"),
    OPT("yaml", 0, OPT_OPT, OPT_TAKE(json, json_take_yaml), NULL, NULL, "version", "print YAML"),
};

static void print_names(FILE *f)
{
    fmt_print_names(&sinfo_fields, "field", f);
}

static const struct opt_command command = {
    .name = "sinfo",
    .prefix = "SINFO",
    .prefix2 = "SLURM",
    .rows = rows,
    .n = ARRAY_SIZE(rows),
    .synopsis = "[OPTIONS]",
    .usage_status = CLI_EXIT_FAILED,
    .permute = true,
    .names = print_names,
};

/* "all" is no name, but stands for a column of every letter. */
static void bad_format(void *ctx, const char *spec)
{
    struct sinfo *s = ctx;

    cli_error("Invalid job format specification: %s", spec);
    if (strcasecmp(spec, "all") == 0)
        check_mem_or_die(fmt_parse_short(&s->fmt, &sinfo_fields, "%all", NULL, NULL));
}

static void bad_letter(void *ctx, const char *letter)
{
    (void)ctx;
    (void)fprintf(stderr, "Invalid node format specification: %s\n", letter);
}

static const char *federation_format(const struct sinfo *s)
{
    if (s->summarize)
        return FMT_FED_SUMMARY;
    if (s->per_node)
        return s->long_format ? FMT_FED_NODES_LONG : FMT_FED_NODES;
    if (s->reasons)
        return s->long_format ? FMT_FED_REASONS_LONG : FMT_FED_REASONS;
    return s->long_format ? FMT_FED_LONG : FMT_FED_DEFAULT;
}

static const char *default_format(const struct sinfo *s)
{
    if (s->federated)
        return federation_format(s);
    if (s->summarize)
        return FMT_SUMMARY;
    if (s->per_node)
        return s->long_format ? FMT_NODES_LONG : FMT_NODES;
    if (s->reasons)
        return s->long_format ? FMT_REASONS_LONG : FMT_REASONS;
    return s->long_format ? FMT_LONG : FMT_DEFAULT;
}

static void make_format(struct sinfo *s)
{
    int r;

    if (s->format_long)
        r = fmt_parse_long(&s->fmt, &sinfo_fields, s->format_long, bad_format, s);
    else
        r = fmt_parse_short(&s->fmt, &sinfo_fields, s->format ? s->format : default_format(s),
                            bad_letter, NULL);
    check_mem_or_die(r);
    for (size_t i = 0; i < s->fmt.n; i++)
        if (s->fmt.cols[i].fit && s->fmt.cols[i].width < FIT_MIN)
            s->fmt.cols[i].width = FIT_MIN;
}

/* Letters that are no key have no effect. */
static char *known_keys(const char *spec)
{
    char *known = xstrdup_or_die(spec), *to = known;

    for (const char *p = spec; *p; p++)
        if (strchr("+-#, ", *p) || fmt_by_letter(&sinfo_fields, *p))
            *to++ = *p;
    *to = '\0';
    return known;
}

/* "#P" is the order of the configuration, whatever the sign; "P" is that of the names. */
static void make_order(struct sinfo *s)
{
    _cleanup_free_ char *spec = known_keys(s->sort ? s->sort : s->per_node ? "N,#P" : "#P,-t");
    size_t key = 0;
    char bad;

    if (fmt_sort_parse(&s->order, &sinfo_fields, spec, &bad) < 0)
        cli_die(CLI_EXIT_FAILED, "Invalid sort specification: %c", bad);
    for (const char *p = spec; *p && key < s->order.n; p++) {
        if (p[0] == '#' && p[1] == 'P') {
            s->order.keys[key].field = &sinfo_partition_order;
            s->order.keys[key].descending = false;
        }
        key += strchr("+-#, ", *p) ? 0 : 1;
    }
}

/* ---- gathering ------------------------------------------------------------------------------- */

static bool node_wanted(const struct sinfo *s, const Pst__NodeRecord *n)
{
    struct names_node state = names_node_of(n);
    bool silent = n->state_flags & (1u << PST__NODE_FLAG__NODE_FLAG_NOT_RESPONDING);

    if (s->names && hostlist_find(s->names, n->name) < 0)
        return false;
    if (n->state == PST__NODE_STATE__NODE_FUTURE && !s->future)
        return false;
    if ((s->dead && !silent) || (s->responding && silent))
        return false;
    if (s->reasons && !n->reason && !s->states_given)
        return false;
    return sinfo_filter_match(&s->states, &state);
}

static bool partition_wanted(const struct sinfo *s, const struct cluster_nodes *data,
                             const Pst__PartitionRecord *p)
{
    for (size_t i = 0; i < s->n_partitions; i++)
        if (strcmp(s->partitions[i], p->name) == 0)
            return true;
    return !s->partition_given && cluster_nodes_shows(data, p, s->all);
}

static size_t row_slot(const struct row_table *t, const char *key)
{
    uint64_t h = fnv_text(key);

    return (h ^ h >> 29) & (t->n_index - 1);
}

static void grow_index(struct row_table *t)
{
    if ((t->n + 1) * 2 < t->n_index)
        return;
    t->n_index = t->n_index ? t->n_index * 2 : 1024;
    free(t->index);
    t->index = xmalloc_or_die(t->n_index * sizeof(*t->index));
    for (size_t i = 0; i < t->n; i++) {
        size_t at = row_slot(t, t->keys[i]);

        while (t->index[at])
            at = (at + 1) & (t->n_index - 1);
        t->index[at] = (uint32_t)i + 1;
    }
}

/* The same node may come through another partition, when no partition is shown. */
static bool has_node(const struct row_table *t, size_t i, const struct sinfo_row *row)
{
    return t->members[i] ? bitmap_test(t->members[i], (uint32_t)row->node_rank)
                         : t->rows[i].node == row->node;
}

/* One of n_nodes nodes of its cluster becomes part of row i. */
static void add_node(struct row_table *t, size_t i, const struct sinfo_row *row, size_t n_nodes)
{
    if (!t->members[i]) {
        check_mem_or_die(bitmap_new((uint32_t)n_nodes, &t->members[i]));
        if (t->rows[i].node)
            bitmap_set(t->members[i], (uint32_t)t->rows[i].node_rank);
    }
    bitmap_set(t->members[i], (uint32_t)row->node_rank);
    check_mem_or_die(sinfo_row_add(&t->rows[i], row));
}

static void gather_rows(struct sinfo *s, struct sinfo_row *row, const char *key, size_t n_nodes)
{
    struct row_table *t = &s->table;
    size_t at;

    grow_index(t);
    at = row_slot(t, key);
    for (; t->index[at]; at = (at + 1) & (t->n_index - 1)) {
        size_t i = t->index[at] - 1;

        if (strcmp(t->keys[i], key) != 0)
            continue;
        if (row->node && !has_node(t, i, row))
            add_node(t, i, row, n_nodes);
        return;
    }
    if (t->n == t->cap) {
        t->cap = t->cap ? t->cap * 2 : 256;
        t->rows = xrealloc_or_die(t->rows, t->cap, sizeof(*t->rows));
        t->keys = xrealloc_or_die(t->keys, t->cap, sizeof(*t->keys));
        t->members = xrealloc_or_die(t->members, t->cap, sizeof(struct bitmap *));
    }
    t->index[at] = (uint32_t)t->n + 1;
    t->keys[t->n] = xstrdup_or_die(key);
    t->members[t->n] = NULL;
    t->rows[t->n++] = *row;
}

/* A row of the p-th partition of the c-th cluster. */
static void begin_row(struct sinfo *s, size_t c, size_t p, const Pst__NodeRecord *node,
                      struct sinfo_row *row)
{
    const struct cluster_nodes *data = &s->data[c];
    size_t rank = p;

    for (size_t i = 0; i < c; i++) /* this cluster's partitions stand before the others' */
        rank += s->data[i].n_parts;
    sinfo_row_init(row, data->parts[p].record, (unsigned)rank, node);
    row->cluster = s->federated ? s->clusters.list[c].name : NULL;
    row->now_us = data->now_us;
}

/* Rows of several clusters stay apart. */
static void make_key(const struct sinfo *s, const struct sinfo_row *row, bool per_node,
                     struct strbuf *key)
{
    strbuf_reset(key);
    if (row->cluster)
        strbuf_addf(key, "%s\n", row->cluster);
    sinfo_key(&s->fmt, row, per_node, key);
}

static void gather_part(struct sinfo *s, size_t c, size_t p, struct strbuf *key)
{
    const struct cluster_part *part = &s->data[c].parts[p];
    struct sinfo_row row;
    bool any = false;

    for (size_t i = 0; i < part->n_nodes; i++) {
        const struct cluster_node *node = &s->data[c].nodes[part->nodes[i]];

        if (!node_wanted(s, node->record))
            continue;
        any = true;
        begin_row(s, c, p, node->record, &row);
        row.node_rank = part->nodes[i];
        row.exact = s->exact || s->json.wanted;
        make_key(s, &row, s->per_node, key);
        gather_rows(s, &row, strbuf_str(key), s->data[c].n_nodes);
    }
    if (any || s->per_node || s->reasons || !sinfo_shows_partition(&s->fmt))
        return;
    begin_row(s, c, p, NULL, &row);
    make_key(s, &row, false, key);
    gather_rows(s, &row, strbuf_str(key), s->data[c].n_nodes);
}

static void gather_all(struct sinfo *s)
{
    _cleanup_val_(strbuf_done) struct strbuf key = STRBUF_INIT;

    for (size_t c = 0; c < s->n_data; c++)
        for (size_t p = 0; p < s->data[c].n_parts; p++)
            if (partition_wanted(s, &s->data[c], s->data[c].parts[p].record))
                gather_part(s, c, p, &key);
}

static void forget_rows(struct row_table *t)
{
    for (size_t i = 0; i < t->n; i++) {
        sinfo_row_done(&t->rows[i]);
        free(t->keys[i]);
        t->members[i] = bitmap_free(t->members[i]);
    }
    free(t->rows);
    free(t->keys);
    free(t->members);
    free(t->index);
    memset(t, 0, sizeof(*t));
}

/* ---- output ---------------------------------------------------------------------------------- */

static void flush_out(struct sinfo *s)
{
    if (s->out.failed || fwrite(strbuf_str(&s->out), 1, s->out.len, stdout) != s->out.len ||
        fflush(stdout) != 0)
        exit(CLI_EXIT_FAILED);
    strbuf_reset(&s->out);
}

static void date_line(struct strbuf *out)
{
    char buf[64];
    time_t now = time(NULL);
    struct tm tm;

    if (localtime_r(&now, &tm) && strftime(buf, sizeof(buf), "%a %b %d %H:%M:%S %Y\n", &tm))
        strbuf_add(out, buf);
}

static void print_rows(struct sinfo *s)
{
    struct fmt_lines *lines = NULL;

    check_mem_or_die(fmt_lines_new(&s->order, &lines));
    for (size_t i = 0; i < s->table.n; i++)
        fmt_fit(&s->fmt, &s->table.rows[i], &s->out);
    if (s->iterate_s || (s->long_format && !s->format && !s->format_long))
        date_line(&s->out);
    if (!s->noheader)
        fmt_header(&s->fmt, &s->out);
    for (size_t i = 0; i < s->table.n; i++) {
        size_t start = s->out.len;

        fmt_row(&s->fmt, &s->table.rows[i], &s->out);
        check_mem_or_die(fmt_lines_add(lines, &s->out, start, &s->table.rows[i], i));
    }
    check_mem_or_die(fmt_lines_flush(lines, &s->out));
    fmt_lines_free(lines);
}

/* The partition of a row; its nodes are those of *ret_data. */
static const struct cluster_part *part_of_row(const struct sinfo *s, const struct sinfo_row *row,
                                              const struct cluster_nodes **ret_data)
{
    size_t c = 0, p = row->part_index;

    while (p >= s->data[c].n_parts) /* as begin_row() counts them */
        p -= s->data[c++].n_parts;
    *ret_data = &s->data[c];
    return &s->data[c].parts[p];
}

/* Places of the rows in the order that the table has, too.  The caller frees. */
static size_t *order_rows(const struct sinfo *s)
{
    _cleanup_val_(strbuf_done) struct strbuf numbers = STRBUF_INIT;
    size_t *order = xmalloc_or_die((s->table.n + 1) * sizeof(*order));
    struct fmt_lines *lines;
    char *p;

    check_mem_or_die(fmt_lines_new(&s->order, &lines));
    for (size_t i = 0; i < s->table.n; i++) {
        size_t start = numbers.len;

        strbuf_addf(&numbers, "%zu ", i);
        check_mem_or_die(fmt_lines_add(lines, &numbers, start, &s->table.rows[i], i));
    }
    check_mem_or_die(fmt_lines_flush(lines, &numbers));
    fmt_lines_free(lines);
    p = (char *)(uintptr_t)strbuf_str(&numbers); /* read only */
    for (size_t i = 0; i < s->table.n; i++)
        order[i] = strtoul(p, &p, 10); /* our own text */
    return order;
}

static void print_json(struct sinfo *s, int argc, char **argv)
{
    const struct conf *conf = cli_conf(&s->cli);
    struct tres_rules rules = tres_rules_of(conf);
    _cleanup_free_ size_t *order = order_rows(s);

    json_begin_option(&s->js, &s->out, &s->json);
    json_list(&s->js, "sinfo");
    for (size_t i = 0; i < s->table.n; i++) {
        const struct sinfo_row *row = &s->table.rows[order[i]];
        const struct cluster_nodes *data;
        const struct cluster_part *part = part_of_row(s, row, &data);
        _cleanup_free_ char *tres = NULL;

        check_mem_or_die(out_part_tres(data, part, &rules, &tres));
        json_sinfo(&s->js, row, tres);
        flush_out(s);
    }
    json_list_end(&s->js);
    s->js.warning = cli_standby_note(&s->cli);
    json_meta(&s->js, argc, argv, cli_cluster_name(&s->cli),
              conf_str(conf, CONF_ACCOUNTING_STORAGE_TYPE));
    json_end(&s->js);
}

/* What a cluster has, into the last of s->data. */
static int load_cluster(struct sinfo *s, struct client *client)
{
    struct pb_fieldset set = { 0 };

    fmt_needs(&s->fmt, &pst__node_record__descriptor, &set);
    if (s->reasons)
        query_need_names("reason", &pst__node_record__descriptor, &set);
    return cluster_nodes_load(client, s->json.wanted ? NULL : &set, &s->data[s->n_data - 1]);
}

/* An empty place, which is no cluster's yet. */
static void add_place(struct sinfo *s)
{
    s->data = xrealloc_or_die(s->data, s->n_data + 1, sizeof(*s->data));
    s->data[s->n_data++] = (struct cluster_nodes){ 0 };
}

static void load_own(struct sinfo *s)
{
    struct err err = { .text = "" };
    struct client *client = NULL;
    int r;

    add_place(s);
    if (cli_connect(&s->cli, &client, &err) < 0) {
        (void)fprintf(stderr, "slurm_load_partitions: %s\n", err.text);
        exit(s->iterate_s ? ITERATE_AGAIN : CLI_EXIT_FAILED);
    }
    r = load_cluster(s, client);
    if (r < 0) {
        (void)fprintf(stderr, "slurm_load_partitions: %s\n", client_strerror(client, r));
        exit(s->iterate_s ? ITERATE_AGAIN : CLI_EXIT_FAILED);
    }
    client_free(client);
}

/* A cluster that cannot be asked is told, and has no rows. */
static void load_federation(struct sinfo *s)
{
    for (size_t i = 0; i < s->clusters.n; i++) {
        struct client *client = NULL;
        int r;

        add_place(s);
        if (!fedview_connect(&s->cli, &s->clusters, i, &client))
            continue;
        r = load_cluster(s, client);
        if (r < 0)
            cli_error("cluster %s: %s", s->clusters.list[i].name, client_strerror(client, r));
        client_free(client);
    }
}

static void list_once(struct sinfo *s, int argc, char **argv)
{
    if (s->federated)
        load_federation(s);
    else
        load_own(s);
    gather_all(s);
    if (s->json.wanted)
        print_json(s, argc, argv);
    else
        print_rows(s);
    flush_out(s);
    forget_rows(&s->table);
    for (size_t i = 0; i < s->n_data; i++)
        cluster_nodes_done(&s->data[i]);
    s->n_data = 0;
}

static void list_reservations(struct sinfo *s)
{
    _cleanup_val_(strbuf_done) struct strbuf out = STRBUF_INIT;
    Pst__ResvSet *set = NULL;
    struct client *client = NULL;
    struct err err = { .text = "" };
    int r;

    if (cli_connect(&s->cli, &client, &err) < 0)
        cli_die(CLI_EXIT_FAILED, "slurm_load_reservations: %s", err.text);
    r = resv_load(client, &set);
    if (r < 0)
        cli_die(CLI_EXIT_FAILED, "slurm_load_reservations: %s", client_strerror(client, r));
    if (set->n_items)
        resv_table(&out, set, !s->noheader);
    else
        strbuf_add(&out, "No reservations in the system\n");
    (void)fputs(strbuf_str(&out), stdout);
    pst__resv_set__free_unpacked(set, NULL);
    client_free(client);
}

/* Each cluster of -M under its name; the federation as one. */
static void list_clusters(struct sinfo *s, int argc, char **argv)
{
    size_t n = s->federated || !s->clusters.n ? 1 : s->clusters.n;

    for (size_t i = 0; i < n; i++) {
        if (s->clusters.n && !s->federated)
            clusters_begin(&s->cli, &s->clusters, i,
                           !s->noheader && (s->reservations || !s->json.wanted));
        if (s->reservations)
            list_reservations(s);
        else
            list_once(s, argc, argv);
    }
}

int main(int argc, char **argv)
{
    struct sinfo s = { 0 };
    _cleanup_free_ char **words = xmalloc_or_die(((size_t)argc + 1) * sizeof(*words));
    bool of_variable, conflict; /* partitions of a variable, and all of another */
    int first, status;

    memcpy(words, argv, (size_t)argc * sizeof(*words)); /* before getopt reorders them */
    cli_init(&s.cli, "sinfo");
    s.cli.shows = true;
    opts_env(&command, &s);
    of_variable = s.partition_given;
    conflict = s.all && s.partition_given;
    s.format_given = s.partition_given = s.all_given = false;
    s.future = getenv("SCONTROL_FUTURE") != NULL;
    first = opts_parse(&command, argc, argv, &s);
    (void)first; /* what is no option is ignored, as programs know it */
    if (s.all_given && s.all && s.partition_given) {
        cli_error("Conflicting options, -a and -p, specified. Please choose one or the other.");
        exit(CLI_EXIT_FAILED);
    }
    if (conflict && !s.all_given && !s.partition_given) {
        cli_error("Conflicting options, SINFO_ALL and SINFO_PARTITION, specified. "
                  "Please choose one or the other.");
        exit(CLI_EXIT_FAILED);
    }
    if (s.all_given && of_variable && !s.partition_given) {
        argwords_free(s.partitions, s.n_partitions);
        s.partitions = NULL;
        s.n_partitions = 0;
        of_variable = false;
    }
    s.partition_given |= of_variable;
    if (s.format_given && s.long_format)
        cli_fatal("Options -o(--format) and -l(--long) are mutually exclusive. "
                  "Please remove one and retry.");
    if (!s.format_given && (s.summarize || s.per_node || s.reasons))
        s.format = NULL; /* of a variable: a layout of its own counts before it */
    s.cli.keeps_text = s.json.wanted;
    status = json_option_done(&s.json);
    if (status >= 0)
        exit(status);
    if (s.cluster_words)
        clusters_find_or_die(&s.cli, s.cluster_words, &s.clusters);
    else if (!s.reservations)
        s.federated = fedview_find(&s.cli, &s.view, &s.clusters);
    if (s.json.wanted)
        s.format = "%P%T%E%b%f%G%H%n%c%m%d%w%z%o%v";
    if (!s.reservations) {
        make_format(&s);
        make_order(&s);
        iterate_begin(s.iterate_s);
    }
    list_clusters(&s, argc, words);
    argwords_free(s.partitions, s.n_partitions);
    s.names = hostlist_free(s.names);
    fmt_done(&s.fmt);
    strbuf_done(&s.out);
    free(s.data);
    clusters_done(&s.cli, &s.clusters);
    cli_done(&s.cli);
    return 0;
}

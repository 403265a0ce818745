/* scontrol_hosts.c - show hostnames, hostlist and hostlistsorted: lists of names, folded and not */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/hostlist.h"
#include "base/wordlist.h"
#include "cli/query/out_nodes.h"
#include "cli/scontrol/scontrol.h"
#include "cli/scontrol/show_topology.h"

/* Names of a file, parted by white space and commas, joined by commas.  Caller frees. */
static char *read_names(FILE *f)
{
    _cleanup_val_(strbuf_done) struct strbuf sb = STRBUF_INIT;
    char buf[4096];
    char *text, *save;

    while (fgets(buf, sizeof(buf), f))
        for (char *word = strtok_r(buf, " \t\r\n", &save); word;
             word = strtok_r(NULL, " \t\r\n", &save))
            strbuf_addf(&sb, "%s%s", sb.len ? "," : "", word);
    check_mem_or_die(strbuf_detach(&sb, &text));
    return text;
}

/* Mistakes of a list are told as programs know them.  The exit status stays. */
static bool parse_names(const char *expr, struct hostlist **ret)
{
    struct err err = { .text = "" };

    if (hostlist_parse(expr, ret, &err) == 0)
        return true;
    if (strncmp(err.text, "Invalid range", 13) == 0 || strncmp(err.text, "Too many", 8) == 0)
        cli_error("_parse_single_range: %s", err.text);
    (void)fprintf(stderr, "Invalid hostlist: %s\n", expr);
    return false;
}

/* ---- functions: feature{NAME}, block{NAME}, switchwith{NODE} --------------------------------- */

#define FEATURE "feature{"

/* Put the nodes that have the feature now behind all; false: the controller does not say. */
static bool add_featured(struct scontrol *s, const char *name, struct hostlist *all)
{
    _cleanup_free_ char *feature = xstrdup_or_die(name + strlen(FEATURE));
    struct cluster_nodes t;

    feature[strlen(feature) - 1] = '\0';
    if (cluster_nodes_load(scontrol_client(s, "slurm_load_node"), NULL, &t) < 0)
        return false;
    for (size_t i = 0; i < t.n_nodes; i++) {
        const Pst__NodeRecord *n = t.nodes[i].record;
        const char *features = n->active_features ? n->active_features : n->features;

        if (features && wordlist_has(features, feature))
            check_mem_or_die(hostlist_push(all, n->name));
    }
    cluster_nodes_done(&t);
    return true;
}

static bool is_feature(const char *name)
{
    size_t len = strlen(name);

    return len > strlen(FEATURE) + 1 && strncmp(name, FEATURE, strlen(FEATURE)) == 0 &&
           name[len - 1] == '}';
}

/* Functions become the names of their nodes.  One that the controller does not know stays, and true
 * is returned: tell_unknown() is said behind what is printed. */
static bool expand_functions(struct scontrol *s, struct hostlist **names)
{
    _cleanup_(hostlist_free) struct hostlist *all = NULL;

    check_mem_or_die(hostlist_new(&all));
    for (size_t i = 0; i < hostlist_count(*names); i++) {
        const char *host = hostlist_nth(*names, i);

        if (!is_feature(host) || !add_featured(s, host, all))
            check_mem_or_die(hostlist_push(all, host));
    }
    scontrol_expand_units(s, &all);
    hostlist_free(*names);
    *names = TAKE_PTR(all);
    for (size_t i = 0; i < hostlist_count(*names); i++)
        if (strchr(hostlist_nth(*names, i), '{'))
            return true;
    return false;
}

static void tell_unknown(bool unknown)
{
    if (!unknown)
        return;
    (void)fflush(stdout);
    cli_error("hostlist_create_client: controller failed to expand hostlist function");
}

void scontrol_show_hostnames(struct scontrol *s, const char *name)
{
    _cleanup_(hostlist_free) struct hostlist *hl = NULL;
    const char *expr = name ? name : getenv("SLURM_NODELIST");
    bool unknown;

    if (!expr)
        expr = getenv("SLURM_JOB_NODELIST");
    if (!expr) {
        cli_error("host list is empty");
        return;
    }
    if (!parse_names(expr, &hl))
        return;
    unknown = expand_functions(s, &hl);
    for (size_t i = 0; i < hostlist_count(hl); i++)
        (void)printf("%s\n", hostlist_nth(hl, i));
    tell_unknown(unknown);
}

/* The list itself; a path with "/" at its begin is read, "-" is standard input.  NULL: told. */
static char *take_list(struct scontrol *s, const char *name)
{
    _cleanup_fclose_ FILE *f = NULL;

    if (!name) {
        s->print_help(stdout);
        scontrol_fail(s, "invalid encode argument");
        return NULL;
    }
    if (strcmp(name, "-") == 0)
        return read_names(stdin);
    if (name[0] != '/')
        return xstrdup_or_die(name);
    f = fopen(name, "re");
    if (!f) {
        scontrol_fail(s, "Can not open %s", name);
        return NULL;
    }
    return read_names(f);
}

static void show_folded(struct scontrol *s, const char *name, bool sorted)
{
    _cleanup_(hostlist_free) struct hostlist *hl = NULL;
    _cleanup_free_ char *list = take_list(s, name), *text = NULL;
    bool unknown;

    if (!list || !parse_names(list, &hl))
        return;
    unknown = expand_functions(s, &hl);
    if (sorted)
        hostlist_sort(hl);
    check_mem_or_die(hostlist_fold(hl, &text));
    (void)printf("%s\n", text);
    tell_unknown(unknown);
}

void scontrol_show_hostlist(struct scontrol *s, const char *name)
{
    show_folded(s, name, false);
}

void scontrol_show_hostlistsorted(struct scontrol *s, const char *name)
{
    show_folded(s, name, true);
}

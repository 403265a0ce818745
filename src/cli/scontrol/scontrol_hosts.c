/* scontrol_hosts.c - show hostnames, hostlist and hostlistsorted: lists of names, folded and not */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/hostlist.h"
#include "cli/scontrol/scontrol.h"

/* Lines of stdin joined by commas, for an expression of "-".  Caller frees. */
static char *read_names(void)
{
    _cleanup_val_(strbuf_done) struct strbuf sb = STRBUF_INIT;
    char buf[4096];
    char *text;

    while (fgets(buf, sizeof(buf), stdin)) {
        buf[strcspn(buf, "\r\n")] = '\0';
        if (*buf)
            strbuf_addf(&sb, "%s%s", sb.len ? "," : "", buf);
    }
    check_mem_or_die(strbuf_detach(&sb, &text));
    return text;
}

static bool parse_names(struct scontrol *s, const char *expr, struct hostlist **ret)
{
    struct err err = { .text = "" };
    _cleanup_free_ char *read = NULL;

    (void)s;
    if (strcmp(expr, "-") == 0)
        expr = read = read_names();
    if (hostlist_parse(expr, ret, &err) == 0)
        return true;
    cli_error("%s", err.text);
    (void)fprintf(stderr, "Invalid hostlist: %s\n", expr);
    return false; /* exit status stays, as scripts know it */
}

void scontrol_show_hostnames(struct scontrol *s, const char *name)
{
    _cleanup_(hostlist_free) struct hostlist *hl = NULL;
    const char *expr = name ? name : getenv("SLURM_JOB_NODELIST");

    if (!expr) {
        cli_error("host list is empty");
        return;
    }
    if (!parse_names(s, expr, &hl))
        return;
    for (size_t i = 0; i < hostlist_count(hl); i++)
        (void)printf("%s\n", hostlist_nth(hl, i));
}

static void show_folded(struct scontrol *s, const char *name, bool sorted)
{
    _cleanup_(hostlist_free) struct hostlist *hl = NULL;
    _cleanup_free_ char *text = NULL;

    if (!name) {
        scontrol_fail(s, "invalid host list");
        return;
    }
    if (!parse_names(s, name, &hl))
        return;
    if (sorted)
        hostlist_sort(hl);
    check_mem_or_die(hostlist_fold(hl, &text));
    (void)printf("%s\n", text);
}

void scontrol_show_hostlist(struct scontrol *s, const char *name)
{
    show_folded(s, name, false);
}

void scontrol_show_hostlistsorted(struct scontrol *s, const char *name)
{
    show_folded(s, name, true);
}

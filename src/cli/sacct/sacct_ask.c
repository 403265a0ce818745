/* sacct_ask.c - the request that the options amount to; see sacct_ask.h */
#include "cli/sacct/sacct_ask.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <time.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/timefmt.h"
#include "base/wordlist.h"
#include "cli/query/out_query.h"
#include "cli/query/out_sluid.h"
#include "wire/ops.h"

static int64_t midnight_us(int64_t now)
{
    time_t t = (time_t)(now / USEC_PER_SEC);
    struct tm tm;

    if (!localtime_r(&t, &tm))
        return 0;
    tm.tm_hour = tm.tm_min = tm.tm_sec = 0;
    tm.tm_isdst = -1;
    return (int64_t)mktime(&tm) * USEC_PER_SEC;
}

static void refuse_window(const struct sacct *s)
{
    char start[64], end[64];

    time_fmt_stamp(s->start_us, "Unknown", 0, start, sizeof(start));
    time_fmt_stamp(s->end_us, "Unknown", 0, end, sizeof(end));
    cli_die(CLI_EXIT_FAILED, "Start time (%s) requested is after end time (%s).", start, end);
}

void sacct_make_window(struct sacct *s, int64_t now)
{
    bool jobs = s->filter.ids.n > 0;

    s->have_start &= s->start_us != SACCT_NO_TIME;
    s->have_end &= s->end_us != SACCT_NO_TIME;
    if (!s->have_start) {
        if (jobs)
            s->start_us = 0;
        else
            s->start_us = s->filter.have_states ? now : midnight_us(now);
        if (s->filter.have_states && s->have_end && s->start_us > s->end_us)
            s->start_us = s->end_us;
    }
    if (!s->have_end) /* states asked for since a moment: what was so at that moment */
        s->end_us = s->filter.have_states && s->have_start ? s->start_us : now;
    if (s->end_us < s->start_us)
        refuse_window(s);
    s->request.has_start_us = s->start_us > 0;
    s->request.start_us = s->start_us;
    s->request.has_end_us = s->have_end || !jobs;
    s->request.end_us = s->end_us;
}

/* Runs that the controller still knows. */
static void find_sluids(struct sacct *s)
{
    struct client *ctld = NULL;

    if (!cli_acct_is_dbd(&s->cli)) {
        (void)sluids_find(s->client, &s->filter.ids);
    } else if (s->filter.ids.n && cli_connect_once(&s->cli, &ctld, NULL) == 0) {
        (void)sluids_find(ctld, &s->filter.ids);
        (void)client_free(ctld); /* always NULL */
    }
}

/* Of slurmdbd: this cluster's jobs, unless others or the federation's are asked for. */
static void make_clusters(struct sacct *s)
{
    Pst__AcctFilter *f = &s->request;

    if (!cli_acct_is_dbd(&s->cli) || (s->clusters && strcasecmp(s->clusters, "all") == 0))
        return;
    if (!s->clusters)
        fedview_add_names(&s->cli, &s->view, &f->clusters, &f->n_clusters);
    s->federated = f->n_clusters > 0;
    if (!f->n_clusters && (s->clusters || s->cluster))
        argwords_add(&f->clusters, &f->n_clusters, s->clusters ? s->clusters : s->cluster);
}

static int keep_qos(void *ctx, const ProtobufCMessage *record, const struct query_info *info)
{
    struct strbuf *names = ctx;
    const Pst__QosRecord *q = (const Pst__QosRecord *)record;

    (void)info;
    if (!q->deleted)
        strbuf_addf(names, "%s%s", names->len ? "," : "", q->name);
    return 0;
}

/* QOS that accounting does not know; a site that keeps none may ask for any. */
static void check_qos(struct sacct *s)
{
    _cleanup_val_(strbuf_done) struct strbuf names = STRBUF_INIT;
    Pst__AcctListRequest req = PST__ACCT_LIST_REQUEST__INIT;
    Pst__AcctCond where = PST__ACCT_COND__INIT;
    const Pst__JobFilter *f = &s->filter.request;

    req.has_entity = true;
    req.entity = PST__ACCT_ENTITY__ACCT_QOS;
    req.where = &where;
    if (query_run(s->client, OP_ACCT_LIST, &req.base, &pst__qos_record__descriptor, keep_qos,
                  &names, NULL) < 0 ||
        !names.len)
        return;
    for (size_t i = 0; i < f->n_qos; i++)
        if (!wordlist_has_nocase(strbuf_str(&names), f->qos[i])) {
            cli_error("You gave a bad qos '%s'. Valid QOS's are %s", f->qos[i], strbuf_str(&names));
            cli_fatal("problem processing qos list");
        }
}

/* Names of accounts and QOS are kept in lower case, but where nobody keeps them: both are asked. */
static void ask_lower_too(char ***list, size_t *n)
{
    const size_t given = *n;

    for (size_t i = 0; i < given; i++) {
        char *lower = xstrdup_or_die((*list)[i]);

        for (char *c = lower; *c; c++)
            *c = (char)tolower((unsigned char)*c);
        if (strcmp(lower, (*list)[i]) == 0) {
            free(lower);
            continue;
        }
        *list = xrealloc_or_die(*list, *n + 1, sizeof(**list));
        (*list)[(*n)++] = lower;
    }
}

void sacct_make_request(struct sacct *s)
{
    struct jobfilter *jf = &s->filter;

    find_sluids(s);
    make_clusters(s);
    sacct_make_window(s, now_us());
    for (size_t i = 0; i < s->filter.ids.n && s->whole_het == WHOLE_YES; i++)
        s->filter.ids.ids[i].has_het = false;
    jobfilter_ask_ids(jf);
    if (!jf->request.n_uids && !s->all_users && !jf->ids.n && getuid() != 0)
        filter_add_number(&jf->request.uids, &jf->request.n_uids, getuid());
    if (jf->have_states && !jf->states.all && !jf->states.flags)
        jobfilter_ask_states(jf);
    if (jobfilter_wants_earlier(jf))
        s->request.has_duplicates = s->request.duplicates = true;
    if (jf->request.n_qos)
        check_qos(s);
    ask_lower_too(&jf->request.accounts, &jf->request.n_accounts);
    ask_lower_too(&jf->request.qos, &jf->request.n_qos);
    jobfilter_lend(jf, &s->request);
}

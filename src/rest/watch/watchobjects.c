/* watchobjects.c - jobs as GET job/{id} shows them, beside their changes; see watchobjects.h */
#include "rest/watch/watchobjects.h"

#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "cli/format/json_job.h"
#include "cli/query/out_filter.h"
#include "cli/query/out_query.h"
#include "conf/conf.h"
#include "wire/ops.h"

struct filling {
    struct watch_item **items;
    size_t n;
    struct job_row row;
};

/* The object without what a list puts around it. */
static char *job_text(const struct job_row *row)
{
    _cleanup_val_(strbuf_done) struct strbuf sb = STRBUF_INIT;
    struct json js;
    size_t start;
    char *text = NULL;

    json_begin(&js, &sb, JSON_DENSE);
    json_list(&js, "jobs");
    start = sb.len;
    json_job(&js, row);
    if (!sb.failed)
        text = strndup(sb.buf + start, sb.len - start);
    json_list_end(&js);
    json_end(&js);
    return text;
}

static int on_job(void *ctx, const ProtobufCMessage *record, const struct query_info *info)
{
    struct filling *f = ctx;
    const Pst__JobRecord *j = (const Pst__JobRecord *)record;

    f->row.job = j;
    f->row.now_us = info->now_us;
    for (size_t i = 0; i < f->n; i++) {
        struct watch_item *item = f->items[i];

        if (item->facts.entity == PST__WATCH_ENTITY__WATCH_JOB && item->facts.id == j->job_id &&
            !item->object)
            item->object = job_text(&f->row); /* out of memory: it has none */
    }
    return 0;
}

void watchobjects_add(const struct watch_source *s, struct watch_item **items, size_t n)
{
    const struct rest_identity who = { s->token, s->name };
    const struct conf *conf = s->hub->conf;
    struct filling f = { .items = items,
                         .n = n,
                         .row = { .cluster = conf_str(conf, CONF_CLUSTER_NAME),
                                  .select_type = conf_str(conf, CONF_SELECT_TYPE_PARAMETERS) } };
    Pst__QueryRequest request = PST__QUERY_REQUEST__INIT;
    Pst__JobFilter filter = PST__JOB_FILTER__INIT;
    struct rest_link *link = NULL;
    struct query_info info = { 0 };
    struct err err = { .text = "" };

    for (size_t i = 0; i < n; i++)
        if (items[i]->facts.entity == PST__WATCH_ENTITY__WATCH_JOB)
            filter_add_number(&filter.job_ids, &filter.n_job_ids, items[i]->facts.id);
    if (filter.n_job_ids && rest_links_take(s->hub->links, REST_CTLD, &who, &link, &err) == 0) {
        request.jobs = &filter;
        if (query_run(rest_link_client(link), OP_QUERY_JOBS, &request.base,
                      &pst__job_record__descriptor, on_job, &f, &info) < 0)
            (void)rest_link_free(link); /* an answer may still be under way; always NULL */
        else
            rest_links_give(s->hub->links, link);
    }
    filter_done(&filter);
}

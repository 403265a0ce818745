/* sreport_resv.c - reservations and what was used of them; see sreport.h. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/strbuf.h"
#include "base/timefmt.h"
#include "acctop.pb-c.h"
#include "cli/query/out_query.h"
#include "cli/sreport/sreport.h"
#include "model/words/resvwords.h"
#include "wire/ops.h"

enum {
    F_CLUSTER,
    F_NAME,
    F_START,
    F_END,
    F_TRES,
    F_ALLOC,
    F_IDLE,
    F_COUNT,
    F_ASSOCS,
    F_FLAGS,
    F_NODES,
    F_TOTAL
};

struct resv_row {
    const struct sreport *s;
    const Pst__AcctResvRecord *v;
    const Pst__AcctResvUse *use;
};

static void put_flags(const Pst__AcctResvRecord *v, char *buf, size_t size)
{
    Pst__ReservationRecord rec = PST__RESERVATION_RECORD__INIT;

    rec.has_flags = true;
    rec.flags = v->flags;
    resv_flags_text(&rec, buf, size);
}

static void put_assocs(const Pst__AcctResvRecord *v, char *buf, size_t size)
{
    size_t at = 0;

    for (size_t i = 0; i < v->n_assoc_ids && at < size; i++)
        at +=
            (size_t)snprintf(buf + at, size - at, "%s%u", i ? "," : "", v->assoc_ids[i]); /* cut */
}

static void put_column(void *ctx, int id, char *buf, size_t size)
{
    const struct resv_row *r = ctx;
    uint64_t whole = r->use->alloc_s + r->use->idle_s;

    switch (id) {
    case F_CLUSTER:
    case F_NAME:
    case F_TRES:
        (void)snprintf(buf, size, "%s",
                       id == F_CLUSTER ? r->v->cluster
                       : id == F_NAME  ? r->v->name
                                       : r->use->tres);
        break;
    case F_NODES:
        (void)snprintf(buf, size, "%s", r->v->nodes ? r->v->nodes : "");
        break;
    case F_START:
    case F_END:
        time_fmt_stamp(id == F_START ? r->v->start_us : r->v->end_us, "", 0, buf, size);
        break;
    case F_COUNT:
        (void)snprintf(buf, size, "%llu", (unsigned long long)r->use->count);
        break;
    case F_ASSOCS:
        put_assocs(r->v, buf, size);
        break;
    case F_FLAGS:
        put_flags(r->v, buf, size);
        break;
    default:
        table_time(r->s,
                   id == F_ALLOC  ? r->use->alloc_s
                   : id == F_IDLE ? r->use->idle_s
                                  : whole,
                   whole, buf, size);
    }
}

struct report {
    struct sreport *s;
    struct table table;
};

/* A row for each TRES wanted. */
static int take_record(void *ctx, const ProtobufCMessage *record, const struct query_info *info)
{
    struct report *rep = ctx;
    const Pst__AcctResvRecord *v = (const Pst__AcctResvRecord *)record;

    (void)info;
    for (size_t i = 0; i < v->n_use; i++) {
        struct resv_row row = { rep->s, v, v->use[i] };

        if (!rep->s->tres || sreport_wants(rep->s, v->use[i]->tres))
            table_row(&rep->table, put_column, &row);
    }
    return 0;
}

void report_reservations(struct sreport *s, struct cond *c)
{
    int w = s->form >= FORM_SECS_PER ? 29 : 20;
    const struct column all[] = {
        { "Cluster", "Cluster", 9, F_CLUSTER },
        { "Name", "Name", 9, F_NAME },
        { "Start", "Start", 19, F_START },
        { "End", "End", 19, F_END },
        { "TresName", "TRES Name", 14, F_TRES },
        { "Allocated", "Allocated", w, F_ALLOC },
        { "Idle", "Idle", w, F_IDLE },
        { "TresCount", "TRES Count", 10, F_COUNT },
        { "Associations", "Associations", 15, F_ASSOCS },
        { "Flags", "Flags", 20, F_FLAGS },
        { "Nodes", "Nodes", 15, F_NODES },
        { "TotalTime", "TotalTime", 9, F_TOTAL },
    };
    Pst__AcctListRequest req = PST__ACCT_LIST_REQUEST__INIT;
    Pst__AcctCond where = PST__ACCT_COND__INIT;
    struct report rep = { .s = s };
    struct query_info info;
    int r;

    table_init(&rep.table, s, all, ARRAY_SIZE(all),
               c->format ? c->format : "Cluster,Name,Start,End,TresName,Allocated,Idle");
    sreport_check_tres(s);
    if (!s->client)
        s->client = cli_connect_acct_or_die(&s->cli);
    req.has_entity = true;
    req.entity = PST__ACCT_ENTITY__ACCT_RESERVATION;
    req.where = &where;
    where.clusters = c->request.clusters;
    where.n_clusters = c->request.n_clusters;
    where.names = c->names;
    where.n_names = c->n_names;
    where.ids = c->ids;
    where.n_ids = c->n_ids;
    where.nodes = &c->request.nodes;
    where.n_nodes = c->request.nodes != NULL;
    where.has_start_us = where.has_end_us = where.has_used_within = where.used_within = true;
    where.start_us = c->request.start_s * USEC_PER_SEC;
    where.end_us = c->request.end_s * USEC_PER_SEC;
    table_title(s, c, "Reservation Utilization", false, "TRES");
    table_header(&rep.table);
    r = query_run(s->client, OP_ACCT_LIST, &req.base, &pst__acct_resv_record__descriptor,
                  take_record, &rep, &info);
    if (r < 0)
        cli_die(CLI_EXIT_FAILED, "Problem with get: %s", client_strerror(s->client, r));
}

/* admin_cost.c - what a request may cost; see admin_cost.h */
#include "acct/admin/admin_cost.h"

#include <errno.h>

#define COST_MAX 200000000u  /* comparisons: a second or two */
#define COST_COORDINATOR 10u /* times that, who adds whole courses */
#define COST_JOB 2000u       /* comparisons that looking a job up is worth */
#define COST_ALL_JOBS 10000u /* jobs, where none is named */

/* Elements of the lists of a message. */
static uint64_t count_elements(const ProtobufCMessage *msg)
{
    const ProtobufCMessageDescriptor *d = msg->descriptor;
    uint64_t n = 0;

    for (unsigned i = 0; i < d->n_fields; i++)
        if (d->fields[i].label == PROTOBUF_C_LABEL_REPEATED)
            n += *(const size_t *)((const char *)msg + d->fields[i].quantifier_offset);
    return n;
}

static uint64_t count_records(const struct admin_run *run)
{
    static const enum am_kind kinds[] = { AM_ACCOUNT, AM_USER, AM_ASSOC, AM_QOS, AM_WCKEY };
    uint64_t n = 100; /* an operation costs something without any */

    for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++)
        n += am_count(run->a->am, kinds[i]);
    return n;
}

static int too_much(struct err *err)
{
    return err_set(err, -EINVAL,
                   "Too many names or operations in one request; please ask in several");
}

static bool is_table(Pst__AcctEntity entity)
{
    return entity == PST__ACCT_ENTITY__ACCT_TXN || entity == PST__ACCT_ENTITY__ACCT_EVENT ||
           entity == PST__ACCT_ENTITY__ACCT_INSTANCE ||
           entity == PST__ACCT_ENTITY__ACCT_RESERVATION;
}

int cost_check_list(struct admin_run *run, const Pst__AcctListRequest *req, struct err *err)
{
    uint64_t n = req->where ? count_elements(&req->where->base) : 0;

    if (run_is_operator(run))
        return 0;
    if (is_table(req->entity))
        return n <= COST_TABLE_NAMES ? 0 : too_much(err);
    return n * count_records(run) <= COST_MAX ? 0 : too_much(err);
}

/* Names may be compared with the names of the request itself. */
static uint64_t cost_of_op(const Pst__AcctOp *op, uint64_t records)
{
    uint64_t n = 1 + (op->where ? count_elements(&op->where->base) : 0) +
                 (op->set ? count_elements(&op->set->base) : 0);
    uint64_t jobs = 0;

    if (op->entity == PST__ACCT_ENTITY__ACCT_JOB)
        jobs = op->where && op->where->n_ids ? op->where->n_ids : COST_ALL_JOBS;
    return n * (records + n) + jobs * COST_JOB;
}

int cost_check_run(struct admin_run *run, const Pst__AcctAdminRequest *req, struct err *err)
{
    uint64_t records, most, cost = 0;

    if (run_is_operator(run))
        return 0;
    records = count_records(run);
    most = (uint64_t)COST_MAX * (run_is_any_coordinator(run) ? COST_COORDINATOR : 1);
    for (size_t i = 0; i < req->n_ops && cost <= most; i++)
        cost += cost_of_op(req->ops[i], records);
    return cost <= most ? 0 : too_much(err);
}

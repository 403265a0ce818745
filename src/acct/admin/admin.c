/* admin.c - requests about the accounting entities: carrying out, undoing, saving; see admin.h
 *
 * An operation changes the tables in memory step by step, so that it and the next of the same
 * request see what was done; each step notes the change that undoes it.  When all went well the
 * changes are written in one transaction; otherwise the steps are undone backwards.  Memory and
 * database are the same between requests. */
#include "acct/admin/admin_fed.h"
#include "acct/admin/admin_cost.h"
#include "acct/admin/admin_impl.h"

#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/pb/pbutil.h"

/* ---- carrying out ---------------------------------------------------------------------------- */

static admin_op_fn *const ops[][4] = {
    [PST__ACCT_ENTITY__ACCT_ACCOUNT] = { NULL, account_add, account_modify, account_delete },
    [PST__ACCT_ENTITY__ACCT_USER] = { NULL, user_add, user_modify, user_delete },
    [PST__ACCT_ENTITY__ACCT_JOB] = { NULL, NULL, job_modify, NULL },
    [PST__ACCT_ENTITY__ACCT_RUNAWAY] = { NULL, NULL, runaway_modify, NULL },
    [PST__ACCT_ENTITY__ACCT_COORD] = { NULL, coord_add, NULL, coord_delete },
    [PST__ACCT_ENTITY__ACCT_QOS] = { NULL, qos_add, qos_modify, qos_delete },
    [PST__ACCT_ENTITY__ACCT_CLUSTER] = { NULL, cluster_add, cluster_modify, cluster_delete },
    [PST__ACCT_ENTITY__ACCT_WCKEY] = { NULL, wckey_add, wckey_modify, wckey_delete },
    [PST__ACCT_ENTITY__ACCT_RESOURCE] = { NULL, resource_add, resource_modify, resource_delete },
};

static admin_op_fn *const federation_ops[] = { NULL, federation_add, federation_modify,
                                               federation_delete };

static void run_op(struct admin_run *run, const Pst__AcctOp *op)
{
    static const Pst__AcctCond no_cond = PST__ACCT_COND__INIT;
    static const Pst__AcctSet no_set = PST__ACCT_SET__INIT;
    admin_op_fn *fn = NULL;

    if (op->entity == PST__ACCT_ENTITY__ACCT_FEDERATION) {
        if ((size_t)op->verb < ARRAY_SIZE(federation_ops))
            fn = federation_ops[op->verb];
    } else if ((size_t)op->entity < ARRAY_SIZE(ops) && (size_t)op->verb < ARRAY_SIZE(ops[0])) {
        fn = ops[op->entity][op->verb];
    }
    if (!fn) {
        run_fail(run, ESLURM_NOT_SUPPORTED, NULL);
        return;
    }
    fn(run, op->where ? op->where : &no_cond, op->set ? op->set : &no_set);
}

static void run_undo(struct admin_run *run)
{
    while (run->n) {
        run->n--;
        /* What was there a moment ago applies again. */
        (void)am_apply(run->a->am, run->undo[run->n], NULL);
        pst__acct_change__free_unpacked(run->undo[run->n], NULL);
        pst__acct_change__free_unpacked(run->changes[run->n], NULL);
    }
}

static void run_done(struct admin_run *run)
{
    for (size_t i = 0; i < run->n; i++) {
        pst__acct_change__free_unpacked(run->undo[i], NULL);
        pst__acct_change__free_unpacked(run->changes[i], NULL);
    }
    for (size_t i = 0; i < run->n_txns; i++)
        pst__acct_txn_record__free_unpacked(run->txns[i], NULL);
    for (size_t i = 0; i < run->n_rows; i++)
        free(run->rows[i].data);
    free(run->rows);
    free(run->undo);
    free(run->changes);
    free(run->txns);
}

static int save_changes(struct admin_run *run)
{
    int r = run->n || run->n_txns || run->n_rows ? rows_save(run) : 0;

    if (r == 0) {
        run->a->version += run->n;
        run->a->next_txn += run->n_txns;
    }
    return r;
}

static void run_begin(struct admin_run *run, struct admin *a, const struct admin_who *who,
                      int64_t now_us)
{
    *run = (struct admin_run){ .a = a, .who = who, .now_us = now_us };
    run->level =
        who->root ? PST__ADMIN_LEVEL__ADMIN_ADMINISTRATOR : am_admin_level(a->am, who->user);
}

static int add_result(Pst__AcctAdminReply *reply, Pst__AcctOpResult **ret_res)
{
    Pst__AcctOpResult **more = reallocarray(reply->results, reply->n_results + 1, sizeof(*more));
    Pst__AcctOpResult *res = malloc(sizeof(*res));

    if (more)
        reply->results = more;
    if (!more || !res) {
        free(res);
        return -ENOMEM;
    }
    pst__acct_op_result__init(res);
    more[reply->n_results++] = res;
    *ret_res = res;
    return 0;
}

int admin_run(struct admin *a, const struct admin_who *who, const Pst__AcctAdminRequest *req,
              int64_t now_us, Pst__AcctAdminReply **ret_reply, struct err *err)
{
    Pst__AcctAdminReply *reply = malloc(sizeof(*reply));
    struct admin before = *a;
    struct admin_run run;
    bool failed = false;
    int r;

    if (!reply)
        return -ENOMEM;
    pst__acct_admin_reply__init(reply);
    run_begin(&run, a, who, now_us);
    r = cost_check_run(&run, req, err);
    if (r < 0) {
        pst__acct_admin_reply__free_unpacked(reply, NULL);
        return r;
    }
    for (size_t i = 0; i < req->n_ops && run.r == 0 && !failed; i++) {
        run.r = add_result(reply, &run.res);
        if (run.r == 0)
            run_op(&run, req->ops[i]);
        /* of many, one that changes nothing is no failure */
        failed = run.r == 0 && run.res->has_code &&
                 (req->n_ops == 1 || run.res->code != SLURM_NO_CHANGE_IN_DATA);
    }
    r = run.r;
    if (r == 0 && !failed && !req->dry_run)
        r = save_changes(&run);
    if (r < 0 || failed || req->dry_run) {
        run_undo(&run);
        *a = before;
    }
    run_done(&run);
    if (r < 0) {
        pst__acct_admin_reply__free_unpacked(reply, NULL);
        return err_set(err, r, "%s", run.why.text[0] ? run.why.text : strerrordesc_np(-r));
    }
    reply->has_version = 1;
    reply->version = a->version;
    *ret_reply = reply;
    return 0;
}

/* ---- what the store starts with -------------------------------------------------------------- */

static void put_plain_tres(struct admin_run *run)
{
    static const struct {
        uint32_t id;
        const char *type, *name;
    } plain[] = { { AM_TRES_CPU, "cpu", NULL },         { AM_TRES_MEM, "mem", NULL },
                  { AM_TRES_ENERGY, "energy", NULL },   { AM_TRES_NODE, "node", NULL },
                  { AM_TRES_BILLING, "billing", NULL }, { AM_TRES_FS_DISK, "fs", "disk" },
                  { AM_TRES_VMEM, "vmem", NULL },       { AM_TRES_PAGES, "pages", NULL } };

    for (size_t i = 0; i < ARRAY_SIZE(plain); i++) {
        Pst__TresRecord t = PST__TRES_RECORD__INIT;

        t.has_tres_id = 1;
        t.tres_id = plain[i].id;
        t.type = (char *)plain[i].type; /* copied, not changed */
        t.name = (char *)plain[i].name;
        run_put_tres(run, &t);
    }
}

static void put_first_records(struct admin_run *run)
{
    Pst__QosRecord q = PST__QOS_RECORD__INIT;
    Pst__AccountRecord acct = PST__ACCOUNT_RECORD__INIT;
    Pst__UserRecord u = PST__USER_RECORD__INIT;

    q.has_qos_id = u.has_admin_level = 1;
    q.qos_id = AM_QOS_NORMAL;
    q.name = (char *)"normal"; /* copied, not changed; likewise below */
    q.description = (char *)"Normal QOS default";
    acct.name = (char *)AM_ROOT;
    acct.description = (char *)"default root account";
    acct.organization = (char *)"root";
    u.name = (char *)"root";
    u.admin_level = PST__ADMIN_LEVEL__ADMIN_ADMINISTRATOR;
    q.has_created_us = acct.has_created_us = u.has_created_us = 1;
    q.created_us = acct.created_us = u.created_us = run->now_us;
    put_plain_tres(run);
    run_put_qos(run, &q);
    run_put_account(run, &acct);
    run_put_user(run, &u);
}

/* Run fn as the store itself would. */
static int run_own(struct admin *a, int64_t now_us, void (*fn)(struct admin_run *run, void *arg),
                   void *arg, struct err *err)
{
    static const struct admin_who self = { .user = "root", .root = true };
    Pst__AcctOpResult res = PST__ACCT_OP_RESULT__INIT;
    struct admin before = *a;
    struct admin_run run;
    int r;

    run_begin(&run, a, &self, now_us);
    run.res = &res;
    fn(&run, arg);
    r = run.r;
    if (r == 0 && res.has_code)
        r = err_set(err, -EINVAL, "%s", res.text ? res.text : "the accounting store refuses it");
    if (r == 0)
        r = save_changes(&run);
    if (r < 0) {
        run_undo(&run);
        *a = before;
        if (run.why.text[0])
            err_set(err, r, "%s", run.why.text);
    }
    run_done(&run);
    pb_done(&res.base);
    return r;
}

static void first_records(struct admin_run *run, void *arg)
{
    (void)arg;
    put_first_records(run);
}

/* ---- the QOS of new clusters ----------------------------------------------------------------- */

struct default_qos {
    const char *list;
    uint32_t *ids;
    size_t n;
};

static void make_default_qos(struct admin_run *run, char *name)
{
    Pst__AcctCond cond = PST__ACCT_COND__INIT;
    Pst__AcctSet set = PST__ACCT_SET__INIT;
    Pst__QosRecord rec = PST__QOS_RECORD__INIT;

    cond.n_names = 1;
    cond.names = &name;
    rec.description = (char *)"Added as default"; /* copied, not changed */
    set.qos = &rec;
    qos_add(run, &cond, &set);
}

static void find_default_qos(struct admin_run *run, void *arg)
{
    struct default_qos *d = arg;
    _cleanup_free_ char *copy = strdup(d->list);
    char *save = NULL;

    if (!copy)
        run_fail_memory(run);
    for (char *w = copy ? strtok_r(copy, ", ", &save) : NULL; w && run_ok(run);
         w = strtok_r(NULL, ", ", &save)) {
        const Pst__QosRecord *q;

        for (char *c = w; *c; c++)
            *c = (char)tolower((unsigned char)*c);
        if (!am_qos_named(run->a->am, w))
            make_default_qos(run, w);
        q = run_ok(run) ? am_qos_named(run->a->am, w) : NULL;
        if (q && id_list_add(&d->ids, &d->n, q->qos_id) < 0)
            run_fail_memory(run);
    }
}

int admin_default_qos(struct admin *a, const char *list, int64_t now_us, struct err *err)
{
    struct default_qos d = { .list = list ? list : "" };
    int r = run_own(a, now_us, find_default_qos, &d, err);

    if (r < 0) {
        free(d.ids);
        return r;
    }
    free(a->cluster_qos);
    a->cluster_qos = d.ids;
    a->n_cluster_qos = d.n;
    return 0;
}

/* ---- a controller registers ------------------------------------------------------------------ */

struct registration {
    const Pst__AcctClusterRecord *cluster;
    const char *const *tres;
    size_t n_tres;
};

static void register_tres(struct admin_run *run, const char *full)
{
    const char *slash = strchr(full, '/');
    _cleanup_free_ char *type = slash ? strndup(full, (size_t)(slash - full)) : strdup(full);
    Pst__TresRecord t = PST__TRES_RECORD__INIT;
    char where[32], info[1200];

    if (am_tres_id(run->a->am, full))
        return;
    t.has_tres_id = 1;
    t.tres_id = run->a->next_tres++;
    t.type = type;
    t.name = slash ? (char *)slash + 1 : NULL; /* copied, not changed */
    run_put_tres(run, &t);
    (void)snprintf(where, sizeof(where), "id=%u", t.tres_id);
    (void)snprintf(info, sizeof(info), "type='%s', name='%s'", type, slash ? slash + 1 : "");
    run_txn(run, "Add TRES", NULL, NULL, NULL, where, info);
}

static bool says_as_before(const char *said, const char *had)
{
    return !said || (had && strcmp(said, had) == 0);
}

/* Does the registration say nothing that the record has not?  Controllers register with every
 * connection, on a quiet cluster each minute. */
static bool same_cluster(const Pst__AcctClusterRecord *had, const Pst__AcctClusterRecord *said)
{
    return had->control_port == said->control_port && had->protocol == said->protocol &&
           had->flags == said->flags && says_as_before(said->control_host, had->control_host) &&
           says_as_before(said->control_addrs, had->control_addrs) &&
           says_as_before(said->tres, had->tres);
}

static void register_cluster(struct admin_run *run, void *arg)
{
    const struct registration *reg = arg;
    const Pst__AcctClusterRecord *have = am_cluster(run->a->am, reg->cluster->name);
    Pst__AcctClusterRecord *c;
    char where[300], info[600];

    if (!have) {
        Pst__AcctCond cond = PST__ACCT_COND__INIT;
        Pst__AcctSet set = PST__ACCT_SET__INIT;
        char *names[] = { reg->cluster->name };

        cond.n_names = 1;
        cond.names = names;
        cluster_add(run, &cond, &set);
        have = run_ok(run) ? am_cluster(run->a->am, reg->cluster->name) : NULL;
    }
    if (have && !same_cluster(have, reg->cluster)) {
        c = run_dup(run, have);
        if (c && pb_merge(&c->base, &reg->cluster->base) < 0)
            run_fail_memory(run);
        if (c) {
            c->has_modified_us = 1;
            c->modified_us = run->now_us;
            run_put_cluster(run, c);
            pst__acct_cluster_record__free_unpacked(c, NULL);
        }
        (void)snprintf(where, sizeof(where), "name='%s'", reg->cluster->name);
        (void)snprintf(
            info, sizeof(info), "control_host='%s', control_port=%u, last_port=%u, rpc_version=%u",
            reg->cluster->control_host ? reg->cluster->control_host : "",
            reg->cluster->control_port, reg->cluster->control_port, reg->cluster->protocol);
        run_txn(run, "Modify Clusters", reg->cluster->name, NULL, NULL, where, info);
    }
    for (size_t i = 0; i < reg->n_tres && run_ok(run); i++)
        register_tres(run, reg->tres[i]);
}

int admin_register(struct admin *a, const Pst__AcctClusterRecord *cluster,
                   const char *const *tres_names, size_t n_tres, int64_t now_us, struct err *err)
{
    struct registration reg = { cluster, tres_names, n_tres };

    return run_own(a, now_us, register_cluster, &reg, err);
}

int admin_leave(struct admin *a, const char *cluster, const char *federation, int64_t now_us,
                struct err *err)
{
    struct leaving l = { cluster, federation };

    return run_own(a, now_us, federation_leave, &l, err);
}

int admin_job_key(struct admin *a, const char *cluster, const char *user, const char *name,
                  int64_t now_us, struct err *err)
{
    const Pst__WckeyRecord *have = am_wckey_named(a->am, cluster, user, name);
    struct job_key k = { cluster, user, name };

    return have && !have->deleted ? 0 : run_own(a, now_us, wckey_of_job, &k, err);
}

/* ---- making and ending ----------------------------------------------------------------------- */

/* Where new numbers begin: behind all that ever were. */
static void find_numbers(struct admin *a)
{
    const ProtobufCMessage *m;
    size_t pos;

    a->next_tres = AM_TRES_DYNAMIC;
    a->next_assoc = a->next_qos = a->next_wckey = a->next_resource = 1;
    for (pos = 0; (m = am_next(a->am, AM_TRES, &pos));)
        a->next_tres = MAX(a->next_tres, ((const Pst__TresRecord *)m)->tres_id + 1);
    for (pos = 0; (m = am_next(a->am, AM_QOS, &pos));)
        a->next_qos = MAX(a->next_qos, ((const Pst__QosRecord *)m)->qos_id + 1);
    for (pos = 0; (m = am_next(a->am, AM_WCKEY, &pos));)
        a->next_wckey = MAX(a->next_wckey, ((const Pst__WckeyRecord *)m)->wckey_id + 1);
    for (pos = 0; (m = am_next(a->am, AM_RESOURCE, &pos));)
        a->next_resource = MAX(a->next_resource, ((const Pst__ResourceRecord *)m)->resource_id + 1);
    for (pos = 0; (m = am_next(a->am, AM_ASSOC, &pos));) {
        a->next_assoc = MAX(a->next_assoc, ((const Pst__AssocRecord *)m)->assoc_id + 1);
        a->deleted_assocs += ((const Pst__AssocRecord *)m)->deleted;
    }
}

int admin_new(struct sql *db, int64_t now_us, struct admin **ret_admin, struct err *err)
{
    _cleanup_(admin_free) struct admin *a = calloc(1, sizeof(*a));
    int r;

    if (!a)
        return -ENOMEM;
    a->db = db;
    a->next_txn = 1;
    r = am_new(&a->am);
    if (r == 0)
        r = rows_load(a, err);
    if (r < 0)
        return r;
    find_numbers(a);
    if (a->version == 0) {
        r = run_own(a, now_us, first_records, NULL, err);
        a->next_qos = AM_QOS_NORMAL + 1;
    }
    if (r < 0)
        return r;
    *ret_admin = TAKE_PTR(a);
    return 0;
}

struct admin *admin_free(struct admin *a)
{
    if (!a)
        return NULL;
    am_free(a->am);
    free(a->cluster_qos);
    free(a);
    return NULL;
}

uint64_t admin_version(const struct admin *a)
{
    return a->version;
}

struct assoc_mgr *admin_tables(struct admin *a)
{
    return a->am;
}

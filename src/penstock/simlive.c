/* simlive.c - what would happen on the cluster that runs
 *
 * The controller is asked as commands ask it, for nodes, partitions and jobs; its records become a
 * cluster of our own, changes are applied to a second copy, and both run through the scheduler to
 * their ends.  Nothing is sent that changes anything. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/pb/pbutil.h"
#include "base/timefmt.h"
#include "conf/conf.h"
#include "api.pb-c.h"
#include "feed/limitrecords.h"
#include "feed/params.h"
#include "feed/preemptfeed.h"
#include "model/cluster.h"
#include "model/tx.h"
#include "penstock/simbar.h"
#include "penstock/simlive.h"
#include "penstock/simtopo.h"
#include "sim/defrag.h"
#include "sim/whatif.h"
#include "wire/client.h"
#include "wire/ops.h"

#define BF_INTERVAL_S 30u
#define MAX_JOBS_NAMED 256u

DEFINE_CLEANUP(struct cluster *, cluster_free)
DEFINE_CLEANUP(struct client *, client_free)

struct copy { /* a cluster, and what became of it */
    struct cluster *cluster;
    struct conf *conf;
    struct world world;
    struct sim_result result;
};

struct fetched { /* one-event transactions in an order that applies */
    Pst__Transaction **list;
    size_t n, cap;
    int64_t now_us;
};

static void fetched_done(struct fetched *f)
{
    for (size_t i = 0; i < f->n; i++)
        pst__transaction__free_unpacked(f->list[i], NULL);
    free(f->list);
    *f = (struct fetched){ 0 };
}

static void copy_done(struct copy *c)
{
    sim_result_done(&c->result);
    world_done(&c->world);
    if (c->cluster)
        c->cluster = cluster_free(c->cluster);
    if (c->conf)
        c->conf = conf_free(c->conf);
}

/* ---- asking ---------------------------------------------------------------------------------- */

struct asking {
    struct fetched *to;
    unsigned op;
};

static int keep_record(struct fetched *f, Pst__Transaction *tx)
{
    if (f->n == f->cap) {
        size_t cap = f->cap ? f->cap * 2 : 256;
        Pst__Transaction **grown = realloc(f->list, cap * sizeof(*grown));

        if (!grown)
            return -ENOMEM;
        f->list = grown;
        f->cap = cap;
    }
    f->list[f->n++] = tx;
    return 0;
}

static Pst__Event *event_of(const struct asking *ask, const ProtobufCBinaryData *b)
{
    Pst__Event *ev = malloc(sizeof(*ev));

    if (!ev)
        return NULL;
    pst__event__init(ev);
    if (ask->op == OP_QUERY_NODES) {
        ev->body_case = PST__EVENT__BODY_NODE_PUT;
        ev->node_put = pst__node_record__unpack(NULL, b->len, b->data);
    } else if (ask->op == OP_QUERY_PARTITIONS) {
        ev->body_case = PST__EVENT__BODY_PART_PUT;
        ev->part_put = pst__partition_record__unpack(NULL, b->len, b->data);
    } else {
        ev->body_case = PST__EVENT__BODY_JOB_PUT;
        ev->job_put = pst__job_record__unpack(NULL, b->len, b->data);
    }
    if (ev->job_put)
        return ev;
    free(ev);
    return NULL;
}

static int on_batch(void *ctx, const struct frame *frame)
{
    const struct asking *ask = ctx;
    Pst__RecordBatch *batch = pst__record_batch__unpack(NULL, frame->len, frame->body);
    int r = batch ? 0 : -EPROTO;

    if (batch && batch->has_now_us)
        ask->to->now_us = batch->now_us;
    for (size_t i = 0; r == 0 && i < batch->n_records; i++) {
        Pst__Event *ev = event_of(ask, &batch->records[i]);
        Pst__Transaction *tx = ev ? malloc(sizeof(*tx)) : NULL;

        if (!tx) {
            if (ev)
                pst__event__free_unpacked(ev, NULL);
            r = -EPROTO;
            break;
        }
        pst__transaction__init(tx);
        tx->events = malloc(sizeof(Pst__Event *));
        r = tx->events ? keep_record(ask->to, tx) : -ENOMEM;
        if (tx->events) {
            tx->events[0] = ev;
            tx->n_events = 1;
        }
        if (r < 0)
            pst__transaction__free_unpacked(tx, NULL);
    }
    pst__record_batch__free_unpacked(batch, NULL);
    return r;
}

static int fetch_records(struct client *client, struct fetched *ret)
{
    static const unsigned ops[] = { OP_QUERY_NODES, OP_QUERY_PARTITIONS, OP_QUERY_JOBS };
    Pst__QueryRequest req = PST__QUERY_REQUEST__INIT;
    int r = 0;

    for (size_t i = 0; r == 0 && i < ARRAY_SIZE(ops); i++) {
        struct asking ask = { .to = ret, .op = ops[i] };

        r = client_stream(client, ops[i], &req.base, on_batch, &ask);
    }
    if (!ret->now_us)
        ret->now_us = now_us();
    return r < 0 ? say_error("cannot ask the controller: %s", client_strerror(client, r))
                 : STATUS_OK;
}

/* Before the jobs, which count against them. */
static int fetch_accounts(struct client *client, const struct conf *conf, struct fetched *ret)
{
    Pst__Transaction *tx;
    int r = simaccounts_fetch(client, conf_str(conf, CONF_CLUSTER_NAME), &tx);

    if (r == STATUS_OK && keep_record(ret, tx) < 0) {
        (void)tx_free(tx);
        r = say_nomem();
    }
    return r;
}

/* ---- copies ---------------------------------------------------------------------------------- */

static int build_model(const struct fetched *f, const struct simchange *ch,
                       Pst__JobRecord *submitted, struct cluster **ret)
{
    _cleanup_(cluster_free) struct cluster *c = NULL;
    struct err err = { .text = "" };
    int r = cluster_new(&c);

    for (size_t i = 0; r == 0 && i < f->n; i++)
        r = cluster_apply(c, f->list[i], &err);
    if (r == 0 && submitted) {
        Pst__Event ev = PST__EVENT__INIT, *evp = &ev;
        Pst__Transaction tx = PST__TRANSACTION__INIT;

        ev.body_case = PST__EVENT__BODY_JOB_PUT;
        ev.job_put = submitted;
        tx.events = &evp;
        tx.n_events = 1;
        r = cluster_apply(c, &tx, &err);
    }
    for (size_t i = 0; r == 0 && ch && i < ch->n; i++)
        r = cluster_apply(c, ch->list[i], &err);
    if (r < 0)
        return say_error("%s", err.text[0] ? err.text : strerror(-r));
    *ret = TAKE_PTR(c);
    return STATUS_OK;
}

/* How the copy's controller schedules. */
static void fill_config(const struct copy *c, int64_t now_us, struct sim_config *config)
{
    uint64_t interval;

    config->bf_interval_s = BF_INTERVAL_S;
    config->begin_us = now_us;
    feed_fill_params(c->conf, &config->sched);
    config->slice_us = preempt_slice_us(c->conf);
    if (conf_option_u64(c->conf, CONF_SCHEDULER_PARAMETERS, "bf_interval", &interval) &&
        interval <= 86400)
        config->bf_interval_s = (uint32_t)interval;
}

static int run_copy(const struct sim_args *a, const char *label, int64_t now_us, struct copy *c)
{
    struct simbar bar = simbar_begin(label, "jobs", a->quiet);
    struct sim_config config = { .progress = simbar_progress, .ctx = &bar };
    struct err err = { .text = "" };
    int r;

    fill_config(c, now_us, &config);
    r = world_make(c->cluster, c->conf, now_us, a->run_percent ? (uint32_t)a->run_percent : 100,
                   &c->world, &err);
    if (r == 0)
        r = simtopo_live(c->conf, &c->world, &err);
    if (r == 0)
        r = world_run(&c->world, &config, &c->result, &err);
    simbar_end(&bar);
    return r < 0 ? say_error("%s", err.text[0] ? err.text : strerror(-r)) : STATUS_OK;
}

/* ---- the command ----------------------------------------------------------------------------- */

/* "12,13_4" -> words of copy. */
static int split_jobs(const struct sim_args *a, char *copy, const char **words, size_t *ret_n)
{
    char *save = NULL;
    size_t n = 0;

    for (char *w = strtok_r(copy, ",", &save); w; w = strtok_r(NULL, ",", &save)) {
        if (n == MAX_JOBS_NAMED)
            return usage_error("sim: --when: more than %u jobs", MAX_JOBS_NAMED);
        if (strspn(w, "0123456789_+") != strlen(w))
            return usage_error("sim: --when: %s is not the number of a job", w);
        words[n++] = w;
    }
    if (!n)
        return usage_error("sim: --when: %s names no job", a->when);
    *ret_n = n;
    return STATUS_OK;
}

static int report_changes(const struct sim_args *a, const struct whatif *wi)
{
    _cleanup_val_(strbuf_done) struct strbuf sb = STRBUF_INIT;

    for (size_t i = 0; i < wi->njobs; i++)
        if (!whatif_knows(wi, wi->jobs[i]))
            return say_error("sim: --when: no job %s waits or runs", wi->jobs[i]);
    if (a->json)
        whatif_json(wi, &sb);
    else
        whatif_text(wi, &sb);
    if (sb.failed)
        return say_nomem();
    (void)fputs(strbuf_str(&sb), stdout); /* stdout errors show at exit */
    return STATUS_OK;
}

static int load_conf(const struct sim_args *a, const char *file, const char *const *sets,
                     size_t nsets, struct conf **ret)
{
    struct sim_args b = *a;

    b.conf = file;
    b.nsets = nsets;
    for (size_t i = 0; i < nsets; i++)
        b.sets[i] = sets[i];
    return simload_conf(&b, NULL, "conf", ret);
}

struct live {
    struct fetched f;
    struct simchange changes;
    struct copy before, after;
    Pst__JobRecord *submitted;
};

static int fetch_all(const struct sim_args *a, const struct conf *conf, struct live *l)
{
    _cleanup_(client_free) struct client *client = NULL;
    struct err err = { .text = "" };
    int r = instance_connect(conf, (int)conf_num(conf, CONF_MESSAGE_TIMEOUT) * 1000, &client, &err);

    if (r < 0)
        return say_error("%s", err.text);
    r = fetch_accounts(client, conf, &l->f);
    if (r == STATUS_OK)
        r = fetch_records(client, &l->f);
    if (r == STATUS_OK && a->submit)
        r = simsubmit_ask(client, a->submit, &l->submitted);
    return r;
}

/* Limits that the controller does not enforce would change nothing. */
static int check_enforced(const struct sim_args *a, const struct conf *conf)
{
    bool limits = false;

    for (size_t i = 0; i < a->nasks; i++)
        limits = limits || a->asks[i].what == SIM_QOS || a->asks[i].what == SIM_ACCOUNT ||
                 a->asks[i].what == SIM_USER;
    return !limits || (limits_enforced(conf) & ENFORCE_LIMITS)
               ? STATUS_OK
               : usage_error("sim: this cluster does not enforce limits; "
                             "--set=AccountingStorageEnforce=limits makes the changed one do so");
}

static int run_both(const struct sim_args *a, struct live *l, bool *ret_changed)
{
    int r = build_model(&l->f, NULL, l->submitted, &l->before.cluster);

    if (r == STATUS_OK)
        r = simchange_make(a, l->before.cluster, l->f.now_us, &l->changes);
    if (r == STATUS_OK)
        r = run_copy(a, "as it is", l->f.now_us, &l->before);
    *ret_changed = l->changes.ntexts > 0;
    if (r != STATUS_OK || !*ret_changed)
        return r;
    r = build_model(&l->f, &l->changes, l->submitted, &l->after.cluster);
    return r == STATUS_OK ? run_copy(a, "changed", l->f.now_us, &l->after) : r;
}

/* ---- --defrag -------------------------------------------------------------------------------- */

static int find_job(const struct world *w, const char *name, size_t *ret)
{
    char text[32];

    for (size_t i = 0; i < w->w->n; i++) {
        if (strcmp(world_name(w, i, text, sizeof(text)), name) == 0) {
            *ret = i;
            return STATUS_OK;
        }
    }
    return say_error("sim: --defrag: no job %s waits or runs", name);
}

static int advise_room(const struct sim_args *a, struct live *l)
{
    _cleanup_val_(strbuf_done) struct strbuf sb = STRBUF_INIT;
    struct copy *c = &l->before;
    struct sim_config config = { 0 };
    struct err err = { .text = "" };
    struct defrag d = { 0 };
    size_t job = 0;
    int r = build_model(&l->f, NULL, NULL, &c->cluster), e = 0;

    fill_config(c, l->f.now_us, &config);
    if (r == STATUS_OK)
        e = world_make(c->cluster, c->conf, l->f.now_us,
                       a->run_percent ? (uint32_t)a->run_percent : 100, &c->world, &err);
    if (r == STATUS_OK && e == 0)
        e = simtopo_live(c->conf, &c->world, &err);
    if (r == STATUS_OK && e == 0)
        r = find_job(&c->world, a->defrag, &job);
    if (r == STATUS_OK && e == 0)
        e = defrag_find(&c->world, &config, l->f.now_us, job, &d, &err);
    if (e < 0)
        return say_error("sim: --defrag: %s", err.text[0] ? err.text : strerror(-e));
    if (r == STATUS_OK && a->json)
        defrag_json(&d, &c->world, &sb);
    else if (r == STATUS_OK)
        defrag_text(&d, &c->world, &sb);
    defrag_done(&d);
    if (sb.failed)
        return say_nomem();
    (void)fputs(strbuf_str(&sb), stdout); /* stdout errors show at exit */
    return r;
}

static void live_done(struct live *l)
{
    simchange_done(&l->changes);
    copy_done(&l->before);
    copy_done(&l->after);
    fetched_done(&l->f);
    if (l->submitted)
        pst__job_record__free_unpacked(l->submitted, NULL);
}

/* Which jobs to requeue, in place of what would happen. */
static int simlive_defrag(const struct sim_args *a, const char *file)
{
    struct live l = { 0 };
    int r = load_conf(a, file, a->sets, a->nsets, &l.before.conf);

    if (r == STATUS_OK)
        r = fetch_all(a, l.before.conf, &l);
    if (r == STATUS_OK)
        r = advise_room(a, &l);
    live_done(&l);
    return r;
}

int simlive_run(const struct sim_args *a)
{
    const char *file = a->conf ? a->conf : conf_default_path(), *words[MAX_JOBS_NAMED];
    _cleanup_free_ char *copy = a->when ? strdup(a->when) : NULL;
    struct live l = { 0 };
    struct whatif wi = { .run_percent = a->run_percent ? (uint32_t)a->run_percent : 100 };
    char number[16];
    bool changed = false;
    int r = a->when && !copy ? say_nomem() : STATUS_OK;

    if (a->defrag)
        return simlive_defrag(a, file);
    if (r == STATUS_OK && copy)
        r = split_jobs(a, copy, words, &wi.njobs);
    if (r == STATUS_OK)
        r = load_conf(a, file, NULL, 0, &l.before.conf);
    if (r == STATUS_OK)
        r = load_conf(a, file, a->sets, a->nsets, &l.after.conf);
    if (r == STATUS_OK)
        r = check_enforced(a, l.after.conf);
    if (r == STATUS_OK)
        r = fetch_all(a, l.before.conf, &l);
    if (r == STATUS_OK)
        r = run_both(a, &l, &changed);
    if (r == STATUS_OK) {
        wi.cluster = conf_str(l.before.conf, CONF_CLUSTER_NAME);
        wi.now_us = l.f.now_us;
        wi.changes = l.changes.texts;
        wi.nchanges = l.changes.ntexts;
        wi.before = &l.before.world;
        wi.rb = &l.before.result;
        wi.after = changed ? &l.after.world : NULL;
        wi.ra = &l.after.result;
        wi.all = a->all;
        if (l.submitted && !wi.njobs) {
            (void)snprintf(number, sizeof(number), "%u", l.submitted->job_id);
            words[wi.njobs++] = number;
        }
        wi.jobs = words;
        r = report_changes(a, &wi);
    }
    live_done(&l);
    return r;
}

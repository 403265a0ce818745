/* pmix.c - PMIx: a server of libpmix for the tasks of the node
 *
 * The library keeps the connections and tells us, in its own thread, when a set of processes
 * wants to meet (fence) or wants what a rank elsewhere has put (direct modex).  Those calls
 * become work for the service's thread, which owns everything below.  Answers go back by the
 * library's own callbacks.
 *
 * The name space is slurm.pmix.JOB.STEP; what the tasks learn of the step is filled in
 * register_step(). */
#include <errno.h>
#include <inttypes.h>
#include <pmix.h>
#include <pmix_server.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/digest.h"
#include "base/text/hextext.h"
#include "base/compare/order.h"
#include "base/strbuf.h"
#include "pmi/pmiservice.h"

/* A number of ranks, the first of them, and the digest of all in hex. */
#define SET_MAX (2 * DIGEST_SIZE + 40)

struct meeting { /* one our tasks wait in */
    struct meeting *next;
    char set[SET_MAX];
    uint32_t sequence;
    pmix_modex_cbfunc_t fn;
    void *arg;
};

struct question { /* asked by our tasks */
    struct question *next;
    uint32_t number;
    pmix_modex_cbfunc_t fn;
    void *arg;
};

struct gathering { /* how often a set has met */
    struct gathering *next;
    char set[SET_MAX];
    uint32_t count;
};

struct pmix {
    struct service *service;
    pmix_nspace_t nspace;
    struct meeting *meetings;
    struct question *questions;
    struct gathering *gatherings;
    uint32_t asked;
    bool serving;
};

static struct service *the_service; /* the library's callbacks carry no context */

/* ---- calls of the library, in its thread ----------------------------------------------------- */

enum call_kind { CALL_FENCE, CALL_MODEX, CALL_ABORT, CALL_FOUND };

struct call {
    struct work work;
    enum call_kind kind;
    uint32_t *ranks; /* fence: owned; n 0 = all */
    size_t n;
    uint32_t rank, from, number;
    int status;
    char *text;
    uint8_t *data;
    size_t len;
    pmix_modex_cbfunc_t fn;
    void *arg;
};

static void call_run(struct service *s, struct work *w);

static struct call *call_new(enum call_kind kind)
{
    struct call *c = calloc(1, sizeof(*c));

    if (c) {
        c->kind = kind;
        c->work.run = call_run;
    }
    return c;
}

static void call_free(struct call *c)
{
    free(c->ranks);
    free(c->text);
    free(c->data);
    free(c);
}

static int copy_data(struct call *c, const char *data, size_t len)
{
    c->data = malloc(len ? len : 1);
    if (!c->data)
        return -ENOMEM;
    if (len)
        memcpy(c->data, data, len);
    c->len = len;
    return 0;
}

static int copy_ranks(struct call *c, const pmix_proc_t *procs, size_t n)
{
    c->ranks = calloc(n ? n : 1, sizeof(*c->ranks));
    if (!c->ranks)
        return -ENOMEM;
    for (size_t i = 0; i < n; i++) {
        if (procs[i].rank == PMIX_RANK_WILDCARD) {
            c->n = 0;
            return 0;
        }
        c->ranks[c->n++] = procs[i].rank;
    }
    qsort(c->ranks, c->n, sizeof(*c->ranks), order_u32);
    return 0;
}

static pmix_status_t on_fence(const pmix_proc_t procs[], size_t nprocs, const pmix_info_t info[],
                              size_t ninfo, char *data, size_t ndata, pmix_modex_cbfunc_t fn,
                              void *arg)
{
    struct call *c = call_new(CALL_FENCE);

    (void)info;
    (void)ninfo;
    if (!c || copy_ranks(c, procs, nprocs) < 0 || copy_data(c, data, ndata) < 0) {
        if (c)
            call_free(c);
        return PMIX_ERR_NOMEM;
    }
    c->fn = fn;
    c->arg = arg;
    service_queue(the_service, &c->work);
    return PMIX_SUCCESS;
}

static pmix_status_t on_modex(const pmix_proc_t *proc, const pmix_info_t info[], size_t ninfo,
                              pmix_modex_cbfunc_t fn, void *arg)
{
    struct call *c = call_new(CALL_MODEX);

    (void)info;
    (void)ninfo;
    if (!c)
        return PMIX_ERR_NOMEM;
    c->rank = proc->rank;
    c->fn = fn;
    c->arg = arg;
    service_queue(the_service, &c->work);
    return PMIX_SUCCESS;
}

static pmix_status_t on_abort(const pmix_proc_t *proc, void *object, int status, const char text[],
                              pmix_proc_t procs[], size_t nprocs, pmix_op_cbfunc_t fn, void *arg)
{
    struct call *c = call_new(CALL_ABORT);

    (void)object;
    (void)procs;
    (void)nprocs;
    (void)fn;
    (void)arg;
    if (!c)
        return PMIX_ERR_NOMEM;
    c->rank = proc->rank;
    c->status = status;
    c->text = text ? strdup(text) : NULL;
    service_queue(the_service, &c->work);
    return PMIX_OPERATION_SUCCEEDED;
}

static pmix_status_t on_connected(const pmix_proc_t *proc, void *object, pmix_info_t info[],
                                  size_t ninfo, pmix_op_cbfunc_t fn, void *arg)
{
    (void)proc;
    (void)object;
    (void)info;
    (void)ninfo;
    (void)fn;
    (void)arg;
    return PMIX_OPERATION_SUCCEEDED;
}

static pmix_status_t on_finalized(const pmix_proc_t *proc, void *object, pmix_op_cbfunc_t fn,
                                  void *arg)
{
    (void)proc;
    (void)object;
    (void)fn;
    (void)arg;
    return PMIX_OPERATION_SUCCEEDED;
}

/* What one of our ranks has put, for another node. */
static void on_found(pmix_status_t status, char *data, size_t len, void *arg)
{
    struct call *c = arg;

    c->status = status == PMIX_SUCCESS && copy_data(c, data, len) < 0 ? PMIX_ERR_NOMEM : status;
    service_queue(the_service, &c->work);
}

/* ---- the service's thread -------------------------------------------------------------------- */

static void free_data(void *data)
{
    free(data);
}

/* Give a callback of the library its data; it frees the copy when it has read it. */
static void give_data(pmix_modex_cbfunc_t fn, void *arg, pmix_status_t status, const uint8_t *data,
                      size_t len)
{
    char *copy = malloc(len ? len : 1);

    if (!copy) {
        fn(PMIX_ERR_NOMEM, NULL, 0, arg, NULL, NULL);
        return;
    }
    if (len)
        memcpy(copy, data, len);
    fn(status, copy, len, arg, free_data, copy);
}

static struct gathering *gathering_of(struct pmix *m, const char *set)
{
    struct gathering *g = m->gatherings;

    while (g && strcmp(g->set, set) != 0)
        g = g->next;
    if (g)
        return g;
    g = calloc(1, sizeof(*g));
    if (!g)
        return NULL;
    (void)snprintf(g->set, sizeof(g->set), "%s", set);
    g->next = m->gatherings;
    m->gatherings = g;
    return g;
}

/* Nodes on which the ranks are. */
static uint32_t count_nodes(const struct layout *l, const uint32_t *ranks, size_t n)
{
    _cleanup_free_ uint8_t *seen = n ? calloc(l->n_nodes, 1) : NULL;
    uint32_t count = 0;

    if (n == 0)
        return l->n_nodes;
    for (size_t i = 0; seen && i < n; i++) {
        if (ranks[i] >= l->n_ranks)
            return 0;
        count += !seen[l->node_of[ranks[i]]];
        seen[l->node_of[ranks[i]]] = 1;
    }
    return count;
}

/* The same on every node for the same ranks.  Errors: -ENOMEM. */
static int name_set(char set[SET_MAX], const uint32_t *ranks, size_t n)
{
    struct digest d;
    char name[2 * DIGEST_SIZE + 1];
    int r = digest_of(ranks, n * sizeof(*ranks), &d);

    if (r < 0)
        return r;
    hextext_write(d.bytes, DIGEST_SIZE, name);
    (void)snprintf(set, SET_MAX, "%zu-%u-%s", n, ranks[0], name); /* fits */
    return 0;
}

static void start_fence(struct pmix *m, struct call *c)
{
    struct service *s = m->service;
    Pst__StepMpi msg = PST__STEP_MPI__INIT;
    uint32_t parties = count_nodes(&s->layout, c->ranks, c->n);
    struct gathering *g;
    struct meeting *w;
    char set[SET_MAX] = "all";

    if (parties <= 1) {
        give_data(c->fn, c->arg, parties ? PMIX_SUCCESS : PMIX_ERR_BAD_PARAM, c->data, c->len);
        return;
    }
    g = c->n == 0 || name_set(set, c->ranks, c->n) == 0 ? gathering_of(m, set) : NULL;
    w = g ? calloc(1, sizeof(*w)) : NULL;
    if (!w) {
        c->fn(PMIX_ERR_NOMEM, NULL, 0, c->arg, NULL, NULL);
        return;
    }
    *w =
        (struct meeting){ .next = m->meetings, .sequence = g->count++, .fn = c->fn, .arg = c->arg };
    memcpy(w->set, set, sizeof(set));
    m->meetings = w;
    msg.has_kind = msg.has_sequence = msg.has_parties = msg.has_from = msg.has_data = true;
    msg.kind = PST__STEP_MPI_KIND__MPI_MEET;
    msg.set = set;
    msg.sequence = w->sequence;
    msg.parties = parties;
    msg.from = s->node;
    msg.data.data = c->data;
    msg.data.len = c->len;
    service_send(s, &msg);
}

static void ask_modex(struct pmix *m, struct call *c)
{
    struct service *s = m->service;
    Pst__StepMpi msg = PST__STEP_MPI__INIT;
    struct question *q = c->rank < s->layout.n_ranks ? calloc(1, sizeof(*q)) : NULL;

    if (!q) {
        c->fn(PMIX_ERR_NOT_FOUND, NULL, 0, c->arg, NULL, NULL);
        return;
    }
    *q =
        (struct question){ .next = m->questions, .number = ++m->asked, .fn = c->fn, .arg = c->arg };
    m->questions = q;
    msg.has_kind = msg.has_sequence = msg.has_node = msg.has_from = msg.has_rank = true;
    msg.kind = PST__STEP_MPI_KIND__MPI_ASK;
    msg.sequence = q->number;
    msg.node = s->layout.node_of[c->rank];
    msg.from = s->node;
    msg.rank = c->rank;
    service_send(s, &msg);
}

static void answer_call(struct pmix *m, struct call *c)
{
    Pst__StepMpi msg = PST__STEP_MPI__INIT;

    msg.has_kind = msg.has_sequence = msg.has_node = msg.has_from = msg.has_status = true;
    msg.kind = PST__STEP_MPI_KIND__MPI_ANSWER;
    msg.sequence = c->number;
    msg.node = c->from;
    msg.from = m->service->node;
    msg.status = c->status;
    if (c->data) {
        msg.has_data = true;
        msg.data.data = c->data;
        msg.data.len = c->len;
    }
    service_send(m->service, &msg);
}

static void call_run(struct service *s, struct work *w)
{
    struct call *c = container_of(w, struct call, work);
    struct pmix *m = s->state;

    switch (c->kind) {
    case CALL_FENCE:
        start_fence(m, c);
        break;
    case CALL_MODEX:
        ask_modex(m, c);
        break;
    case CALL_ABORT:
        service_abort(s, c->rank, c->status & 0xff, c->text);
        break;
    case CALL_FOUND:
        answer_call(m, c);
        break;
    }
    call_free(c);
}

/* ---- messages of other nodes ----------------------------------------------------------------- */

static void on_met(struct pmix *m, const Pst__StepMpi *msg)
{
    for (struct meeting **p = &m->meetings; *p; p = &(*p)->next) {
        struct meeting *w = *p;

        if (w->sequence != msg->sequence || !msg->set || strcmp(w->set, msg->set) != 0)
            continue;
        *p = w->next;
        give_data(w->fn, w->arg, PMIX_SUCCESS, msg->data.data, msg->data.len);
        free(w);
        return;
    }
}

static void on_answer(struct pmix *m, const Pst__StepMpi *msg)
{
    for (struct question **p = &m->questions; *p; p = &(*p)->next) {
        struct question *q = *p;

        if (q->number != msg->sequence)
            continue;
        *p = q->next;
        give_data(q->fn, q->arg, msg->status, msg->data.data, msg->data.len);
        free(q);
        return;
    }
}

static void on_ask(struct pmix *m, const Pst__StepMpi *msg)
{
    struct call *c = call_new(CALL_FOUND);
    pmix_proc_t proc;
    pmix_status_t status;

    if (!c)
        return; /* the asking rank waits for its own timeout */
    c->from = msg->from;
    c->number = msg->sequence;
    PMIX_LOAD_PROCID(&proc, m->nspace, msg->rank);
    status = PMIx_server_dmodex_request(&proc, on_found, c);
    if (status != PMIX_SUCCESS) {
        c->status = status;
        answer_call(m, c);
        call_free(c);
    }
}

static void pmix_message(struct service *s, const Pst__StepMpi *msg)
{
    struct pmix *m = s->state;

    if (msg->kind == PST__STEP_MPI_KIND__MPI_MET)
        on_met(m, msg);
    else if (msg->kind == PST__STEP_MPI_KIND__MPI_ASK)
        on_ask(m, msg);
    else if (msg->kind == PST__STEP_MPI_KIND__MPI_ANSWER)
        on_answer(m, msg);
}

/* ---- what the tasks learn -------------------------------------------------------------------- */

/* A growing array of the library's facts. */
struct facts {
    pmix_info_t *list;
    size_t n, cap;
    bool failed;
};

static void add_fact(struct facts *f, const char *key, const void *value, pmix_data_type_t type)
{
    if (f->n == f->cap) {
        size_t cap = f->cap ? f->cap * 2 : 32;
        pmix_info_t *list = realloc(f->list, cap * sizeof(*list));

        f->failed = f->failed || !list;
        if (!list)
            return;
        f->list = list;
        f->cap = cap;
    }
    memset(&f->list[f->n], 0, sizeof(f->list[f->n]));
    PMIX_INFO_LOAD(&f->list[f->n], key, value, type);
    f->n++;
}

static void fact_u32(struct facts *f, const char *key, uint32_t value)
{
    add_fact(f, key, &value, PMIX_UINT32);
}

static void facts_done(struct facts *f)
{
    for (size_t i = 0; i < f->n; i++)
        PMIX_INFO_DESTRUCT(&f->list[i]);
    free(f->list);
}

/* Facts of one rank, as one value. */
static void rank_facts(struct facts *f, const struct layout *l, uint32_t rank)
{
    const struct layout_part *p = layout_part(l, rank);
    uint32_t node = l->node_of[rank], at = l->first[node];
    struct facts mine = { 0 };
    pmix_rank_t r = rank, leader = p->first_rank, in_part = rank - p->first_rank;
    pmix_data_array_t *array;
    uint16_t local;

    while (l->ranks[at] != rank)
        at++;
    local = (uint16_t)(at - l->first[node]);
    add_fact(&mine, PMIX_RANK, &r, PMIX_PROC_RANK);
    fact_u32(&mine, PMIX_APPNUM, p->from->offset);
    add_fact(&mine, PMIX_GLOBAL_RANK, &r, PMIX_PROC_RANK);
    add_fact(&mine, PMIX_APPLDR, &leader, PMIX_PROC_RANK);
    add_fact(&mine, PMIX_APP_RANK, &in_part, PMIX_PROC_RANK);
    add_fact(&mine, PMIX_LOCAL_RANK, &local, PMIX_UINT16);
    add_fact(&mine, PMIX_NODE_RANK, &local, PMIX_UINT16);
    fact_u32(&mine, PMIX_NODEID, node);
    add_fact(&mine, PMIX_HOSTNAME, hostlist_nth(l->names, node), PMIX_STRING);
    PMIX_DATA_ARRAY_CREATE(array, mine.n, PMIX_INFO);
    if (!array || mine.failed) {
        f->failed = true;
    } else {
        for (size_t i = 0; i < mine.n; i++)
            PMIX_INFO_XFER(&((pmix_info_t *)array->array)[i], &mine.list[i]);
        add_fact(f, PMIX_PROC_DATA, array, PMIX_DATA_ARRAY);
    }
    if (array)
        PMIX_DATA_ARRAY_FREE(array);
    facts_done(&mine);
}

static void node_facts(struct facts *f, const struct service *s)
{
    const struct layout *l = &s->layout;
    _cleanup_val_(strbuf_done) struct strbuf peers = STRBUF_INIT;
    pmix_rank_t leader = s->ranks[0];

    for (size_t i = 0; i < s->n_tasks; i++)
        strbuf_addf(&peers, "%s%u", i ? "," : "", s->ranks[i]);
    f->failed = f->failed || peers.failed;
    fact_u32(f, PMIX_NODEID, s->node);
    add_fact(f, PMIX_HOSTNAME, hostlist_nth(l->names, s->node), PMIX_STRING);
    fact_u32(f, PMIX_LOCAL_SIZE, (uint32_t)s->n_tasks);
    fact_u32(f, PMIX_NODE_SIZE, (uint32_t)s->n_tasks);
    add_fact(f, PMIX_LOCALLDR, &leader, PMIX_PROC_RANK);
    add_fact(f, PMIX_LOCAL_PEERS, strbuf_str(&peers), PMIX_STRING);
}

static void step_facts(struct facts *f, const struct service *s, const char *nodes,
                       const char *procs)
{
    const struct layout *l = &s->layout;
    const Pst__StepPart *mine = layout_part(l, s->ranks[0])->from;
    bool spawned = false;

    add_fact(f, PMIX_JOBID, s->job_id, PMIX_STRING);
    fact_u32(f, PMIX_UNIV_SIZE, l->n_ranks);
    fact_u32(f, PMIX_JOB_SIZE, l->n_ranks);
    fact_u32(f, PMIX_MAX_PROCS, l->n_ranks);
    fact_u32(f, PMIX_NUM_NODES, l->n_nodes);
    fact_u32(f, PMIX_JOB_NUM_APPS, (uint32_t)l->n_parts);
    fact_u32(f, PMIX_APP_SIZE, layout_part(l, s->ranks[0])->n_ranks);
    add_fact(f, PMIX_SPAWNED, &spawned, PMIX_BOOL);
    add_fact(f, PMIX_NODE_MAP, nodes, PMIX_REGEX);
    add_fact(f, PMIX_PROC_MAP, procs, PMIX_REGEX);
    if (mine->distribution)
        add_fact(f, PMIX_APP_MAP_TYPE, mine->distribution, PMIX_STRING);
    if (mine->command)
        add_fact(f, PMIX_APP_ARGV, mine->command, PMIX_STRING);
}

/* Calls of the library that answer later: wait for it. */
struct latch {
    pthread_mutex_t lock;
    pthread_cond_t done;
    bool over;
    pmix_status_t status;
};

static void latch_open(pmix_status_t status, void *arg)
{
    struct latch *t = arg;

    (void)pthread_mutex_lock(&t->lock);
    t->status = status;
    t->over = true;
    (void)pthread_cond_signal(&t->done);
    (void)pthread_mutex_unlock(&t->lock);
}

static pmix_status_t latch_wait(struct latch *t, pmix_status_t status)
{
    if (status == PMIX_OPERATION_SUCCEEDED)
        return PMIX_SUCCESS;
    if (status != PMIX_SUCCESS)
        return status;
    (void)pthread_mutex_lock(&t->lock);
    while (!t->over)
        (void)pthread_cond_wait(&t->done, &t->lock);
    (void)pthread_mutex_unlock(&t->lock);
    return t->status;
}

#define LATCH_INIT                                                                                 \
    {                                                                                              \
        .lock = PTHREAD_MUTEX_INITIALIZER, .done = PTHREAD_COND_INITIALIZER                        \
    }

static pmix_status_t register_step(struct pmix *m)
{
    struct service *s = m->service;
    _cleanup_free_ char *names = layout_node_list(&s->layout), *ranks = layout_rank_map(&s->layout);
    char *nodes = NULL, *procs = NULL;
    struct latch latch = LATCH_INIT;
    struct facts f = { 0 };
    pmix_status_t st = names && ranks ? PMIx_generate_regex(names, &nodes) : PMIX_ERR_NOMEM;

    if (st == PMIX_SUCCESS)
        st = PMIx_generate_ppn(ranks, &procs);
    if (st == PMIX_SUCCESS) {
        step_facts(&f, s, nodes, procs);
        node_facts(&f, s);
        for (uint32_t r = 0; r < s->layout.n_ranks && !f.failed; r++)
            rank_facts(&f, &s->layout, r);
        st = f.failed
                 ? PMIX_ERR_NOMEM
                 : latch_wait(&latch, PMIx_server_register_nspace(m->nspace, (int)s->n_tasks,
                                                                  f.list, f.n, latch_open, &latch));
    }
    facts_done(&f);
    free(nodes);
    free(procs);
    return st;
}

static pmix_status_t register_task(struct pmix *m, uint32_t rank, ProtobufCBinaryData *ret_env)
{
    struct latch latch = LATCH_INIT;
    _cleanup_val_(strbuf_done) struct strbuf sb = STRBUF_INIT;
    char **env = NULL, *text = NULL;
    pmix_proc_t proc;
    pmix_status_t st;

    PMIX_LOAD_PROCID(&proc, m->nspace, rank);
    st = latch_wait(
        &latch, PMIx_server_register_client(&proc, geteuid(), getegid(), NULL, latch_open, &latch));
    if (st == PMIX_SUCCESS)
        st = PMIx_server_setup_fork(&proc, &env);
    for (char **e = env; st == PMIX_SUCCESS && e && *e; e++)
        strbuf_addn(&sb, *e, strlen(*e) + 1);
    ret_env->len = sb.len;
    if (st == PMIX_SUCCESS && strbuf_detach(&sb, &text) < 0)
        st = PMIX_ERR_NOMEM;
    ret_env->data = (uint8_t *)text;
    for (char **e = env; e && *e; e++)
        free(*e);
    free(env);
    return st;
}

/* ---- start and end --------------------------------------------------------------------------- */

static const pmix_server_module_t server_calls = {
    .client_connected2 = on_connected,
    .client_finalized = on_finalized,
    .abort = on_abort,
    .fence_nb = on_fence,
    .direct_modex = on_modex,
};

static pmix_status_t server_init(const struct service *s)
{
    pmix_server_module_t calls = server_calls; /* the library takes no const, and copies it */
    struct facts f = { 0 };
    char dir[4096];
    pmix_status_t st;

    if (snprintf(dir, sizeof(dir), "%s/pmix", s->sf->step_dir) >= (int)sizeof(dir))
        return PMIX_ERR_BAD_PARAM;
    add_fact(&f, PMIX_SERVER_TMPDIR, dir, PMIX_STRING);
    add_fact(&f, PMIX_HOSTNAME, hostlist_nth(s->layout.names, s->node), PMIX_STRING);
    st = f.failed ? PMIX_ERR_NOMEM : PMIx_server_init(&calls, f.list, f.n);
    facts_done(&f);
    return st;
}

static pmix_status_t start_server(struct pmix *m, Pst__StepMpi *ready)
{
    struct service *s = m->service;
    pmix_status_t st = server_init(s);

    if (st != PMIX_SUCCESS)
        return st;
    m->serving = true;
    st = register_step(m);
    for (; st == PMIX_SUCCESS && ready->n_env < s->n_tasks; ready->n_env++)
        st = register_task(m, s->ranks[ready->n_env], &ready->env[ready->n_env]);
    return st;
}

static void pmix_stop(struct service *s)
{
    struct pmix *m = s->state;

    if (m->serving)
        (void)PMIx_server_finalize(); /* the process ends next */
    while (m->meetings) {
        struct meeting *w = m->meetings;

        m->meetings = w->next;
        free(w);
    }
    while (m->questions) {
        struct question *q = m->questions;

        m->questions = q->next;
        free(q);
    }
    while (m->gatherings) {
        struct gathering *g = m->gatherings;

        m->gatherings = g->next;
        free(g);
    }
    free(m);
}

static int pmix_start(struct service *s)
{
    struct pmix *m = calloc(1, sizeof(*m));
    Pst__StepMpi ready = PST__STEP_MPI__INIT;
    char why[256], name[64];
    pmix_status_t st;

    if (!m)
        return -ENOMEM;
    s->state = m;
    the_service = s;
    m->service = s;
    (void)snprintf(name, sizeof(name), "slurm.pmix.%s", s->job_id);
    PMIX_LOAD_NSPACE(m->nspace, name);
    ready.env = calloc(s->n_tasks, sizeof(*ready.env));
    if (!ready.env)
        return -ENOMEM;
    st = start_server(m, &ready);
    ready.has_kind = true;
    ready.kind = PST__STEP_MPI_KIND__MPI_READY;
    if (st != PMIX_SUCCESS) {
        (void)snprintf(why, sizeof(why), "the PMIx server could not be started: %s",
                       PMIx_Error_string(st));
        ready.text = why;
    }
    service_send(s, &ready);
    for (size_t i = 0; i < ready.n_env; i++)
        free(ready.env[i].data);
    free(ready.env);
    return 0;
}

static const struct service_kind pmix_kind = {
    .name = "pmix",
    .start = pmix_start,
    .message = pmix_message,
    .stop = pmix_stop,
};

int main(int argc, char **argv)
{
    return service_main(&pmix_kind, argc, argv);
}

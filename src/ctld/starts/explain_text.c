/* explain_text.c - the words for why a job waits.  Core thread; reads the cluster, changes nothing.
 *
 * The reply carries figures for programs and the same as sentences for people. */
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/hostlist.h"
#include "base/strbuf.h"
#include "base/timefmt.h"
#include "ctld/starts/explain_text.h"
#include "ctld/schedlink/schedfeed.h"
#include "ctld/job/jobfacts.h"
#include "ctld/job/lifecycle.h"
#include "ctld/policy/policy.h"
#include "ctld/resv/resv.h"
#include "feed/records.h"
#include "model/array.h"
#include "model/words/names.h"

#define NAMES_SHOWN 8u /* nodes named of a group */

struct piece { /* memory of the reply */
    struct piece *next;
    char data[];
};

struct explain_made {
    Pst__ExplainReply reply;
    struct piece *pieces;
    const struct explain_text *t;
    bool failed;
};

static void *hold_piece(struct explain_made *m, size_t size)
{
    struct piece *p = calloc(1, sizeof(*p) + size);

    if (!p) {
        m->failed = true;
        return NULL;
    }
    p->next = m->pieces;
    m->pieces = p;
    return p->data;
}

static char *make_text(struct explain_made *m, const char *fmt, ...)
    __attribute__((format(printf, 2, 3)));
static char *make_text(struct explain_made *m, const char *fmt, ...)
{
    struct strbuf sb = STRBUF_INIT;
    char *copy;
    va_list ap;

    va_start(ap, fmt);
    strbuf_addv(&sb, fmt, ap);
    va_end(ap);
    copy = sb.failed ? NULL : hold_piece(m, sb.len + 1);
    if (copy)
        memcpy(copy, strbuf_str(&sb), sb.len + 1);
    m->failed |= sb.failed;
    strbuf_done(&sb);
    return copy;
}

/* Add to an array of pointers, which moves when it is full. */
static void push_item(struct explain_made *m, void ***list, size_t *n, void *item)
{
    if (!item)
        return;
    if ((*n & (*n - 1)) == 0) {
        void **bigger = hold_piece(m, (*n ? 2 * *n : 1) * sizeof(void *));

        if (!bigger)
            return;
        if (*n)
            memcpy(bigger, *list, *n * sizeof(void *));
        *list = bigger;
    }
    (*list)[(*n)++] = item;
}

static void add_sentence(struct explain_made *m, char *sentence)
{
    push_item(m, (void ***)&m->reply.sentences, &m->reply.n_sentences, sentence);
}

static const char *stamp_text(struct explain_made *m, int64_t us)
{
    char buf[64];

    time_fmt_stamp(us, "Unknown", m->t->now_us, buf, sizeof(buf));
    return make_text(m, "%s", buf);
}

static char *id_text(struct explain_made *m, const Pst__JobRecord *r)
{
    if (r->has_array_task_id)
        return make_text(m, "%u_%u", r->array_job_id, r->array_task_id);
    if (r->array_tasks)
        return make_text(m, "%u_[%s]", r->has_array_job_id ? r->array_job_id : r->job_id,
                         r->array_tasks);
    return make_text(m, "%u", r->job_id);
}

static bool is_hidden(const struct explain_made *m, const struct job *j)
{
    const struct explain_text *t = m->t;

    return j && t->asker && policy_private(t->ctld->conf) & PRIVATE_JOBS &&
           conn_peer(t->asker->conn)->uid != j->rec->uid &&
           !policy_may_manage(t->ctld, t->asker, j->rec);
}

static char *job_name(struct explain_made *m, uint32_t id)
{
    const struct job *j = cluster_job(m->t->ctld->cluster, id);

    if (is_hidden(m, j))
        return make_text(m, "(private)");
    return j ? id_text(m, j->rec) : make_text(m, "%u", id);
}

/* Whose job it is; NULL: nobody knows, or it is not to be told. */
static char *owner_name(struct explain_made *m, const struct job *j)
{
    return j && j->rec->user_name && !is_hidden(m, j) ? make_text(m, "%s", j->rec->user_name)
                                                      : NULL;
}

static const char *ordinal_ending(unsigned n)
{
    if (n % 100 / 10 == 1)
        return "th";
    return n % 10 == 1 ? "st" : n % 10 == 2 ? "nd" : n % 10 == 3 ? "rd" : "th";
}

/* ---- what is no matter of resources ---------------------------------------------------------- */

static void set_release(struct explain_made *m, Pst__JobReason reason, char *summary, char *release)
{
    m->reply.has_reason = true;
    m->reply.reason = reason;
    m->reply.summary = summary;
    m->reply.release = release;
}

/* Something beside the scheduler keeps it: true with summary and what would release it. */
static bool kept_back(struct explain_made *m)
{
    const Pst__JobRecord *r = m->t->job->rec;
    const char *id = m->reply.id_text;
    uint32_t throttle = feed_throttle(r);

    if (job_is_held(r) && r->has_held_by_user && r->held_by_user)
        set_release(
            m, PST__JOB_REASON__REASON_JOB_HELD_USER,
            make_text(m, "Job %s is held by its owner.", id),
            make_text(m, "Its owner or an administrator lets it go: scontrol release %s", id));
    else if (job_is_held(r))
        set_release(m,
                    r->has_reason && r->reason ? r->reason : PST__JOB_REASON__REASON_JOB_HELD_ADMIN,
                    make_text(m, "Job %s is held by an administrator%s%s.", id,
                              r->has_reason && r->reason ? ": " : "",
                              r->has_reason && r->reason ? names_reason(r->reason) : ""),
                    make_text(m, "An administrator lets it go: scontrol release %s", id));
    else if (r->dependency && r->has_pend_reason &&
             r->pend_reason == PST__JOB_REASON__REASON_DEPENDENCY_NEVER_SATISFIED)
        set_release(
            m, PST__JOB_REASON__REASON_DEPENDENCY_NEVER_SATISFIED,
            make_text(m, "Job %s waits for %s, which can never come true.", id, r->dependency),
            make_text(
                m, "Another dependency, or none, lets it go: scontrol update JobId=%s Dependency=",
                id));
    else if (r->dependency)
        set_release(
            m, PST__JOB_REASON__REASON_DEPENDENCY,
            make_text(m, "Job %s waits for other jobs: %s.", id, r->dependency),
            make_text(m,
                      "It goes on when that comes true, or without it: scontrol update JobId=%s "
                      "Dependency=",
                      id));
    else if (job_has_flag(r, JOB_FLAG(COMPLETING)))
        set_release(
            m, PST__JOB_REASON__REASON_NONE,
            make_text(m,
                      "Job %s is to run again, and its nodes are still being cleaned up from "
                      "the run before.",
                      id),
            make_text(m, "It goes on when they are clean."));
    else if (r->has_begin_us && r->begin_us > m->t->now_us)
        set_release(
            m, PST__JOB_REASON__REASON_BEGIN_TIME,
            make_text(m, "Job %s is not to begin before %s.", id, stamp_text(m, r->begin_us)),
            make_text(m, "An earlier time lets it go: scontrol update JobId=%s StartTime=now", id));
    else if (throttle && jobs_array_running(m->t->ctld, r->array_job_id) >= throttle)
        set_release(m, PST__JOB_REASON__REASON_ARRAY_TASK_LIMIT,
                    make_text(m,
                              "Job %s waits because %u of its tasks run at a time, and so many do.",
                              id, throttle),
                    make_text(m,
                              "A task that ends, or a higher limit, lets the next one go: scontrol "
                              "update JobId=%u "
                              "ArrayTaskThrottle=%u",
                              r->array_job_id, throttle + 1));
    else if (r->has_pend_reason && !feed_knows(m->t->ctld, r->job_id) &&
             r->pend_reason == PST__JOB_REASON__REASON_PARTITION_CONFIG)
        set_release(
            m, r->pend_reason,
            make_text(m, "Job %s waits because no partition of it takes it now: %s.", id,
                      r->pend_text ? r->pend_text : "its account, QOS or owner is kept out"),
            make_text(m,
                      "The partition is changed, or another one is named: scontrol "
                      "update JobId=%s Partition=",
                      id));
    else
        return false;
    return true;
}

/* ---- partitions ------------------------------------------------------------------------------ */

static char *names_of(struct explain_made *m, const uint32_t *ids, size_t n)
{
    struct hostlist *hl = NULL;
    char *list = NULL, *copy = NULL;
    size_t shown = MIN(n, (size_t)NAMES_SHOWN);

    if (hostlist_new(&hl) < 0)
        return NULL;
    for (size_t i = 0; i < shown; i++) {
        const struct node *node = cluster_node(m->t->ctld->cluster, ids[i]);

        if (node)
            (void)hostlist_push(hl, node->rec->name); /* out of memory: one name fewer */
    }
    if (hostlist_fold(hl, &list) >= 0)
        copy = make_text(m, "%s%s", list, n > shown ? ",..." : "");
    free(list);
    hostlist_free(hl);
    return copy;
}

static void add_count(struct explain_made *m, Pst__ExplainPartition *p, const char *cause,
                      uint32_t nodes, const uint32_t *ids)
{
    Pst__ExplainCount *c = nodes ? hold_piece(m, sizeof(*c)) : NULL;

    if (!c)
        return;
    pst__explain_count__init(c);
    c->cause = (char *)cause; /* static, only read */
    SET(c, nodes, nodes);
    c->names = ids ? names_of(m, ids, nodes) : NULL;
    push_item(m, (void ***)&p->causes, &p->n_causes, c);
}

/* Why a node that would suit is not up, as people call it. */
static const char *node_trouble(const struct ctld *ctld, const struct node *n)
{
    if (!n)
        return "gone";
    if (n->rec->state == PST__NODE_STATE__NODE_DOWN)
        return "down";
    if (n->rec->has_state_flags && (n->rec->state_flags & 1u << PST__NODE_FLAG__NODE_FLAG_DRAIN))
        return "drained";
    return node_is_linked(ctld, n) ? "not available" : "not responding";
}

static void count_causes(struct explain_made *m, const struct explain_part *x,
                         Pst__ExplainPartition *p)
{
    static const char *const words[] = { "down", "drained", "not responding", "not available",
                                         "gone" };
    _cleanup_free_ uint32_t *ids = malloc((x->causes[EXPLAIN_NOT_UP] + 1) * sizeof(*ids));

    add_count(m, p, "excluded", x->causes[EXPLAIN_EXCLUDED], NULL);
    add_count(m, p, "without the features", x->causes[EXPLAIN_FEATURES], NULL);
    add_count(m, p, "without the extra", x->causes[EXPLAIN_EXTRA], NULL);
    add_count(m, p, "with too few CPUs", x->causes[EXPLAIN_CPUS], NULL);
    add_count(m, p, "with too little memory", x->causes[EXPLAIN_MEMORY], NULL);
    add_count(m, p, "without the GRES", x->causes[EXPLAIN_GRES], NULL);
    for (size_t k = 0; ids && k < ARRAY_SIZE(words); k++) {
        uint32_t n = 0;

        for (uint32_t i = 0; i < x->causes[EXPLAIN_NOT_UP]; i++)
            if (strcmp(node_trouble(m->t->ctld, cluster_node(m->t->ctld->cluster, x->not_up[i])),
                       words[k]) == 0)
                ids[n++] = x->not_up[i];
        add_count(m, p, words[k], n, ids);
    }
    add_count(m, p, "held by running jobs", x->causes[EXPLAIN_HELD], NULL);
    add_count(m, p, "kept for expedited jobs", x->causes[EXPLAIN_SPARE], NULL);
    add_count(m, p, "kept for a job that goes before", x->causes[EXPLAIN_KEPT], NULL);
    add_count(m, p, "free", x->causes[EXPLAIN_FREE], NULL);
}

static void say_counts(struct explain_made *m, const Pst__ExplainPartition *p)
{
    struct strbuf sb = STRBUF_INIT;

    for (size_t i = 0; i < p->n_causes; i++) {
        const Pst__ExplainCount *c = p->causes[i];

        strbuf_addf(&sb, "%s%u %s", i ? ", " : "", c->nodes, c->cause);
        if (c->names)
            strbuf_addf(&sb, " (%s)", c->names);
    }
    add_sentence(
        m, make_text(m, "Partition %s: it needs %u node%s; of %u, %u could hold a part of it: %s.",
                     p->name, p->wanted_nodes, p->wanted_nodes == 1 ? "" : "s", p->total_nodes,
                     p->suitable_nodes, p->n_causes ? strbuf_str(&sb) : "there is none"));
    strbuf_done(&sb);
}

/* How many more hold something of the same; 0: nobody. */
static void say_others(struct explain_made *m, uint32_t n)
{
    if (n == 1)
        add_sentence(m, make_text(m, "So does 1 other job, which ends later."));
    else if (n)
        add_sentence(m, make_text(m, "So do %u other jobs, which end later.", n));
}

static void say_holders(struct explain_made *m, const struct explain_part *x,
                        Pst__ExplainPartition *p)
{
    for (uint32_t i = 0; i < x->nholders; i++) {
        const struct explain_holder *h = &x->holders[i];
        const struct job *j = cluster_job(m->t->ctld->cluster, h->job_id);
        Pst__ExplainHolder *out = hold_piece(m, sizeof(*out));

        if (!out || !j)
            continue;
        pst__explain_holder__init(out);
        if (!is_hidden(m, j))
            SET(out, job_id, h->job_id);
        out->id_text = job_name(m, h->job_id);
        out->user_name = owner_name(m, j);
        SET(out, nodes, h->nodes);
        if (h->end_us != INT64_MAX)
            SET(out, end_us, h->end_us);
        push_item(m, (void ***)&p->holders, &p->n_holders, out);
        add_sentence(m, make_text(m, "Job %s of %s holds %u of these nodes, %s%s.", out->id_text,
                                  out->user_name ? out->user_name : "somebody", h->nodes,
                                  out->has_end_us ? "until " : "without a time limit",
                                  out->has_end_us ? stamp_text(m, h->end_us) : ""));
    }
    say_others(m, x->nholding - x->nholders);
}

/* "n112 is drained, n113 is held by job 17" */
static const char *missing_text(struct explain_made *m, const struct explain_unit *u)
{
    struct strbuf sb = STRBUF_INIT;
    const char *made;

    for (uint32_t i = 0; i < u->nmissing && i < EXPLAIN_MISSING; i++) {
        const struct node *n = cluster_node(m->t->ctld->cluster, u->missing[i]);

        strbuf_addf(&sb, "%s%s is ", i ? ", " : "", n ? n->rec->name : "a node");
        if (u->down[i])
            strbuf_add(&sb, node_trouble(m->t->ctld, n));
        else if (u->holders[i])
            strbuf_addf(&sb, "held by job %s", job_name(m, u->holders[i]));
        else
            strbuf_add(&sb, u->kept[i] ? "kept for expedited jobs" : "not for this job");
    }
    if (u->nmissing > EXPLAIN_MISSING)
        strbuf_addf(&sb, " and %u more are missing", u->nmissing - EXPLAIN_MISSING);
    made = make_text(m, "%s", strbuf_str(&sb));
    strbuf_done(&sb);
    return made;
}

static void put_unit(struct explain_made *m, const struct explain_unit *u, Pst__ExplainPartition *p)
{
    Pst__ExplainUnit *out = hold_piece(m, sizeof(*out));

    if (!out)
        return;
    pst__explain_unit__init(out);
    out->first = make_text(m, "%s", u->first);
    out->last = make_text(m, "%s", u->last);
    SET(out, free, u->free);
    SET(out, wanted, u->wanted);
    SET(out, missing_nodes, u->nmissing);
    for (uint32_t i = 0; i < u->nmissing && i < EXPLAIN_MISSING; i++) {
        const struct node *n = cluster_node(m->t->ctld->cluster, u->missing[i]);
        Pst__ExplainMissing *one = n ? hold_piece(m, sizeof(*one)) : NULL;

        if (!one)
            continue;
        pst__explain_missing__init(one);
        one->node = make_text(m, "%s", n->rec->name);
        one->why = make_text(m, "%s",
                             u->down[i]      ? node_trouble(m->t->ctld, n)
                             : u->holders[i] ? "held"
                                             : "not for this job");
        if (!u->down[i] && u->holders[i] &&
            !is_hidden(m, cluster_job(m->t->ctld->cluster, u->holders[i])))
            SET(one, job_id, u->holders[i]);
        push_item(m, (void ***)&out->missing, &out->n_missing, one);
    }
    push_item(m, (void ***)&p->units, &p->n_units, out);
}

/* The units that come nearest to what the job needs. */
static void say_units(struct explain_made *m, const struct explain_part *x,
                      Pst__ExplainPartition *p)
{
    if (x->topo) {
        p->lacks = make_text(m, "%s", topo_why_text(x->topo));
        add_sentence(m, make_text(m, "%s.", p->lacks));
    }
    for (uint32_t i = 0; i < x->nunits; i++) {
        const struct explain_unit *u = &x->units[i];
        bool one = strcmp(u->first, u->last) == 0;

        put_unit(m, u, p);
        add_sentence(m, make_text(m, "%s%s%s has %u of %u nodes%s%s.", u->first, one ? "" : " to ",
                                  one ? "" : u->last, u->free, u->wanted, u->nmissing ? ": " : "",
                                  missing_text(m, u)));
    }
}

static const char *victims_text(struct explain_made *m, const struct explain_preempt *x)
{
    static const char *const verbs[] = { [SCHED_MODE_CANCEL] = " (cancelled)",
                                         [SCHED_MODE_REQUEUE] = " (requeued)",
                                         [SCHED_MODE_SUSPEND] = " (suspended)" };
    struct strbuf sb = STRBUF_INIT;
    const char *made;

    for (uint32_t i = 0; i < x->nvictims && i < EXPLAIN_VICTIMS; i++) {
        const char *verb =
            x->victims[i].mode < ARRAY_SIZE(verbs) ? verbs[x->victims[i].mode] : NULL;

        strbuf_addf(&sb, "%s%s%s", i ? ", " : "", job_name(m, x->victims[i].job_id),
                    verb ? verb : "");
    }
    if (x->nvictims > EXPLAIN_VICTIMS)
        strbuf_addf(&sb, " and %u more", x->nvictims - EXPLAIN_VICTIMS);
    made = make_text(m, "job%s %s", x->nvictims == 1 ? "" : "s", strbuf_str(&sb));
    strbuf_done(&sb);
    return made;
}

/* Why the jobs it could gain from may stay. */
static const char *spared_text(struct explain_made *m, const struct explain_preempt *x)
{
    const struct {
        uint32_t n;
        const char *what;
    } parts[] = {
        { x->equal, "does not rank below it" },
        { x->off, "is not to be preempted (PreemptMode=OFF)" },
        { x->safe, "is safe by its run time or priority" },
        { x->busy, "is suspended or waits itself" },
        { x->going, "ends anyway" },
    };
    struct strbuf sb = STRBUF_INIT;
    const char *made;

    for (size_t i = 0; i < ARRAY_SIZE(parts); i++)
        if (parts[i].n)
            strbuf_addf(&sb, "%s%u %s", sb.len ? ", " : "", parts[i].n, parts[i].what);
    made = make_text(m, "%s", sb.len ? strbuf_str(&sb) : "none runs there");
    strbuf_done(&sb);
    return made;
}

static void put_victims(struct explain_made *m, const struct explain_preempt *x,
                        Pst__ExplainPartition *p)
{
    static const char *const modes[] = { [SCHED_MODE_CANCEL] = "CANCEL",
                                         [SCHED_MODE_REQUEUE] = "REQUEUE",
                                         [SCHED_MODE_SUSPEND] = "SUSPEND" };

    SET(p, preempt_count, x->nvictims);
    for (uint32_t i = 0; i < x->nvictims && i < EXPLAIN_VICTIMS; i++) {
        const struct sched_victim *v = &x->victims[i];
        const struct job *j = cluster_job(m->t->ctld->cluster, v->job_id);
        Pst__ExplainVictim *out = j ? hold_piece(m, sizeof(*out)) : NULL;

        if (!out)
            continue;
        pst__explain_victim__init(out);
        if (!is_hidden(m, j))
            SET(out, job_id, v->job_id);
        out->id_text = job_name(m, v->job_id);
        out->user_name = owner_name(m, j);
        out->mode = v->mode < ARRAY_SIZE(modes) && modes[v->mode] ? (char *)modes[v->mode] : NULL;
        push_item(m, (void ***)&p->preempts, &p->n_preempts, out);
    }
}

static void say_preempt(struct explain_made *m, const struct explain_part *x,
                        Pst__ExplainPartition *part)
{
    const struct explain_preempt *p = &x->preempt;

    put_victims(m, p, part);
    if (!p->asked || (!p->jobs && !p->waiting))
        return;
    if (p->waiting)
        add_sentence(m, make_text(m, "It preempts %s and starts when %s gone.", victims_text(m, p),
                                  p->nvictims == 1 ? "it has" : "they have"));
    else if (!p->candidates)
        add_sentence(m, make_text(m, "It may preempt none of the %u job%s there: %s.", p->jobs,
                                  p->jobs == 1 ? "" : "s", spared_text(m, p)));
    else if (!p->nvictims)
        add_sentence(
            m,
            make_text(
                m,
                "It may preempt %u of the %u job%s there, but would not fit without them either: %s.",
                p->candidates, p->jobs, p->jobs == 1 ? "" : "s", spared_text(m, p)));
    else
        add_sentence(
            m,
            make_text(
                m,
                "It may preempt %u of the %u job%s there; when it is its turn %s will go: of the lowest "
                "rank, and without any of them it does not fit.",
                p->candidates, p->jobs, p->jobs == 1 ? "" : "s", victims_text(m, p)));
    if (p->safe && p->safe_until_us != INT64_MAX)
        add_sentence(m, make_text(m, "The first that is safe for its run time is so until %s.",
                                  stamp_text(m, p->safe_until_us)));
}

static void say_licenses(struct explain_made *m, const struct sched_explanation *x)
{
    for (size_t i = 0; i < x->nlicenses; i++) {
        const struct explain_license *l = &x->licenses[i];
        unsigned long long left = l->total > l->used ? l->total - l->used : 0;

        if (l->wanted <= left)
            continue;
        add_sentence(m,
                     make_text(m, "License %s: it asks for %llu%s; of %llu, %llu %s free.", l->name,
                               (unsigned long long)l->wanted, x->licenses_any ? " or others" : "",
                               (unsigned long long)l->total, left, left == 1 ? "is" : "are"));
        for (uint32_t h = 0; h < l->nholders; h++) {
            const struct job *j = cluster_job(m->t->ctld->cluster, l->holders[h].job_id);
            const char *owner = owner_name(m, j);

            add_sentence(
                m, make_text(m, "Job %s of %s holds %u of them, %s%s.",
                             job_name(m, l->holders[h].job_id), owner ? owner : "somebody",
                             l->holders[h].nodes,
                             l->holders[h].end_us != INT64_MAX ? "until " : "without a time limit",
                             l->holders[h].end_us != INT64_MAX ? stamp_text(m, l->holders[h].end_us)
                                                               : ""));
        }
        say_others(m, l->nholding - l->nholders);
    }
}

static const struct {
    enum sched_why why;
    Pst__JobReason reason;
    const char *sentence; /* of the partition */
} verdicts[] = {
    { SCHED_WHY_PART_DOWN, PST__JOB_REASON__REASON_PARTITION_DOWN,
      "starts no jobs now: it is down" },
    { SCHED_WHY_PART_NODE_LIMIT, PST__JOB_REASON__REASON_PARTITION_NODE_LIMIT,
      "does not allow so many, or so few, nodes" },
    { SCHED_WHY_PART_TIME_LIMIT, PST__JOB_REASON__REASON_PARTITION_TIME_LIMIT,
      "does not allow so long a time limit" },
    { SCHED_WHY_PART_INACTIVE, PST__JOB_REASON__REASON_PARTITION_INACTIVE,
      "starts no jobs now: it is inactive" },
    { SCHED_WHY_PART_MEM, PST__JOB_REASON__REASON_MAX_MEM,
      "does not grant so much memory (MaxMemPerCPU, MaxMemPerNode)" },
    { SCHED_WHY_NODE_NOT_AVAIL, PST__JOB_REASON__REASON_REQ_NODE_NOT_AVAIL,
      "has the nodes asked for by name, and one is not up" },
    { SCHED_WHY_BAD_CONSTRAINTS, PST__JOB_REASON__REASON_BAD_CONSTRAINTS,
      "has no set of nodes that could ever hold it" },
    { SCHED_WHY_NODES_UNAVAILABLE, PST__JOB_REASON__REASON_NODES_UNAVAILABLE,
      "could hold it if the nodes that are down or drained were up" },
    { SCHED_WHY_RESV, PST__JOB_REASON__REASON_RESERVATION,
      "has to wait with it for its reservation, or for a time at which that holds it" },
    { SCHED_WHY_RESERVED, PST__JOB_REASON__REASON_REQ_NODE_NOT_AVAIL,
      "has too few nodes that are not reserved for others while it would run" },
    { SCHED_WHY_RESV_MAINT, PST__JOB_REASON__REASON_RESERVED_MAINT,
      "has too few nodes that are not reserved for maintenance while it would run" },
    { SCHED_WHY_LICENSES, PST__JOB_REASON__REASON_LICENSES,
      "has to wait with it until the licenses it asks for are free" },
    { SCHED_WHY_CHANNELS, PST__JOB_REASON__REASON_NVIDIA_IMEX_CHANNELS,
      "has to wait with it until a job that holds IMEX channels (imex_channel_count) ends" },
};

/* "account physics", "QOS high" */
static const char *limit_owner(struct explain_made *m, const struct sched_limit_hit *h)
{
    struct assoc_mgr *am = m->t->ctld->cluster->am;
    const Pst__QosRecord *q = h->qos ? am_qos(am, h->id) : NULL;
    const struct assoc *a = h->qos ? NULL : am_assoc(am, h->id);

    if (q)
        return make_text(m, "QOS %s", q->name);
    if (a && a->user)
        return make_text(m, "user %s in account %s", a->rec->user, a->rec->account);
    return a ? make_text(m, "account %s", a->rec->account) : "an association";
}

/* Of what: "cpu", "minutes of gres/gpu", "jobs". */
static const char *limit_unit(struct explain_made *m, const struct sched_limit_hit *h)
{
    unsigned scope = h->limit / 16;
    bool minutes = scope == SCHED_LIMIT_ASSOC_GRP_MINS || scope == SCHED_LIMIT_ASSOC_GRP_RUN_MINS ||
                   scope == SCHED_LIMIT_ASSOC_MAX_MINS || scope == SCHED_LIMIT_QOS_GRP_MINS ||
                   scope == SCHED_LIMIT_QOS_GRP_RUN_MINS || scope == SCHED_LIMIT_QOS_MAX_MINS ||
                   scope == SCHED_LIMIT_QOS_RUN_MINS_USER ||
                   scope == SCHED_LIMIT_QOS_RUN_MINS_ACCOUNT;
    char name[256];

    if (!h->tres_id)
        return h->limit == SCHED_LIMIT_ASSOC_MAX_WALL || h->limit == SCHED_LIMIT_QOS_MAX_WALL ||
                       h->limit == SCHED_LIMIT_ASSOC_GRP_WALL ||
                       h->limit == SCHED_LIMIT_QOS_GRP_WALL
                   ? "minutes"
                   : "running jobs";
    if (!am_tres_name(m->t->ctld->cluster->am, h->tres_id, name, sizeof(name)))
        return "of a resource";
    return make_text(m, "%s%s%s", minutes ? "minutes of " : "", name,
                     h->tres_id == AM_TRES_MEM && !minutes ? " (MiB)" : "");
}

/* Which limit, what it grants, what is used of it, and what would help. */
static void say_limit(struct explain_made *m, const struct explain_part *x,
                      Pst__ExplainPartition *p)
{
    const struct sched_limit_hit *h = &x->limit;
    unsigned long long value = h->value, used = h->used, asked = h->asked,
                       left = value > used ? value - used : 0;
    const char *word, *owner = limit_owner(m, h), *unit = limit_unit(m, h),
                      *wants = asked == UINT64_MAX ? "no end of them" : make_text(m, "%llu", asked);
    bool least = h->limit / 16 == SCHED_LIMIT_QOS_MIN && h->tres_id;

    SET(p, reason, (Pst__JobReason)(PST__JOB_REASON__REASON_ASSOC_GRP_CPU + (int)h->limit));
    word = names_reason((unsigned)p->reason);
    if (h->limit == SCHED_LIMIT_QOS_USAGE_THRESHOLD) {
        add_sentence(
            m,
            make_text(
                m,
                "A limit holds it, %s: the fair-share factor of its account is below what %s asks for.",
                word, owner));
        return;
    }
    add_sentence(
        m,
        make_text(m, "A limit holds it, %s: %s %s %s %llu %s; %llu are used, and it asks for %s.",
                  word, owner, least ? "wants" : "may have", least ? "at least" : "at most", value,
                  unit, used, wants ? wants : ""));
    if (least)
        add_sentence(m, make_text(m, "Asking for %llu would let it start.", value));
    else if (left && (h->tres_id || h->limit == SCHED_LIMIT_ASSOC_MAX_WALL ||
                      h->limit == SCHED_LIMIT_QOS_MAX_WALL))
        add_sentence(m, make_text(m, "Asking for at most %llu would let it go on.", left));
    if (used)
        add_sentence(
            m,
            make_text(
                m, "%s",
                "Else it goes on when others of the same limit have ended, or the limit is raised."));
}

static void say_time(struct explain_made *m, const struct explain_part *x, Pst__ExplainPartition *p)
{
    if (x->kept_for)
        add_sentence(
            m,
            make_text(
                m, "Nodes are kept for job %s, which goes before and is expected to start at %s.",
                job_name(m, x->kept_for), stamp_text(m, x->kept_us)));
    if (x->expected_us) {
        SET(p, expected_us, x->expected_us);
        p->expected_nodes = names_of(m, x->expected_nodes, x->nexpected);
        if (!m->reply.has_expected_us || m->reply.expected_us > x->expected_us)
            SET(&m->reply, expected_us, x->expected_us);
        if (x->expected_us > m->t->now_us)
            add_sentence(
                m,
                make_text(m,
                          "It is expected to start at %s on %s, if running jobs use up their time "
                          "limits.",
                          stamp_text(m, x->expected_us),
                          p->expected_nodes ? p->expected_nodes : "some nodes"));
    } else if (x->why == SCHED_WHY_RESOURCES) {
        add_sentence(
            m, make_text(m, "No start can be planned yet%s.",
                         x->kept_for ? " behind that job" : ": what it waits for has no end"));
    }
}

/* Which reservations are in its way there, or which it waits for. */
static void say_reservations(struct explain_made *m, const struct explain_part *x)
{
    const Pst__JobRecord *job = m->t->job->rec;
    const struct partition *p = cluster_partition(m->t->ctld->cluster, x->name);
    int64_t end_us = job->has_time_limit_min
                         ? m->t->now_us + (int64_t)job->time_limit_min * 60 * USEC_PER_SEC
                         : INT64_MAX;
    const Pst__ReservationRecord *r;

    if (x->why != SCHED_WHY_RESV && x->why != SCHED_WHY_RESERVED && x->why != SCHED_WHY_RESV_MAINT)
        return;
    for (size_t pos = 0; p && (r = cluster_next_resv(m->t->ctld->cluster, &pos));) {
        struct resv_period when;
        const struct bitmap *nodes = resv_nodes(m->t->ctld, r);

        if (resv_periods(r, m->t->now_us, &when, 1) != 1)
            continue;
        if (x->why == SCHED_WHY_RESV && resv_is_named(job, r->name))
            add_sentence(m, make_text(m, "Its reservation %s is from %s to %s on %s.", r->name,
                                      stamp_text(m, when.start_us), stamp_text(m, when.end_us),
                                      r->nodes ? r->nodes : "any nodes"));
        else if (x->why != SCHED_WHY_RESV && r->nodes && when.start_us < end_us &&
                 nodes->nbits == p->nodes->nbits && bitmap_overlaps(nodes, p->nodes))
            add_sentence(m,
                         make_text(m, "Reservation %s keeps %s from %s to %s.", r->name, r->nodes,
                                   stamp_text(m, when.start_us), stamp_text(m, when.end_us)));
    }
}

static void add_partition(struct explain_made *m, const struct explain_part *x)
{
    Pst__ExplainPartition *p = hold_piece(m, sizeof(*p));

    if (!p)
        return;
    pst__explain_partition__init(p);
    p->name = make_text(m, "%s", x->name);
    SET(p, place, x->place);
    SET(p, queued, x->queued);
    SET(p, total_nodes, x->total);
    SET(p, suitable_nodes, x->suitable);
    SET(p, free_nodes, x->causes[EXPLAIN_FREE]);
    SET(p, wanted_nodes, x->wanted);
    SET(p, reason,
        x->place > 1 ? PST__JOB_REASON__REASON_PRIORITY : PST__JOB_REASON__REASON_RESOURCES);
    count_causes(m, x, p);
    say_counts(m, p);
    for (size_t i = 0; i < ARRAY_SIZE(verdicts); i++) {
        if (verdicts[i].why != x->why)
            continue;
        SET(p, reason, verdicts[i].reason);
        add_sentence(m, make_text(m, "Partition %s %s.", p->name, verdicts[i].sentence));
    }
    if (x->why == SCHED_WHY_LIMIT)
        say_limit(m, x, p);
    if (x->why == SCHED_WHY_RESOURCES)
        add_sentence(m, make_text(m, "It is %u%s of %u in the queue of %s.", x->place,
                                  ordinal_ending(x->place), x->queued, p->name));
    say_units(m, x, p);
    say_reservations(m, x);
    say_holders(m, x, p);
    say_preempt(m, x, p);
    say_time(m, x, p);
    push_item(m, (void ***)&m->reply.partitions, &m->reply.n_partitions, p);
}

/* ---- changes --------------------------------------------------------------------------------- */

/* The n-th word of a list between any of `seps`; NULL when there are fewer (*left: how many
 * fewer). */
static char *nth_word(struct explain_made *m, const char *list, const char *seps, uint32_t n,
                      uint32_t *left)
{
    uint32_t i = 0;

    for (const char *p = list; p && *p; i++) {
        size_t len = strcspn(p, seps);

        if (i == n)
            return make_text(m, "%.*s", (int)len, p);
        p += len + (p[len] != '\0');
    }
    *left = n - i;
    return NULL;
}

/* The request for devices by its number: as fed to the scheduler, scope after scope. */
static char *gres_word(struct explain_made *m, const Pst__JobRecord *r, uint32_t n)
{
    const char *lists[] = { r->tres_per_node, r->tres_per_job, r->tres_per_task };
    char *word = NULL;

    for (size_t i = 0; !word && i < ARRAY_SIZE(lists); i++)
        word = nth_word(m, lists[i], ",", n, &n);
    return word && strncmp(word, "gres/", 5) == 0 ? word + 5 : word;
}

/* The option as it would be written, and what it is. */
static char *option_of(struct explain_made *m, const struct explain_change *c,
                       const char **ret_what)
{
    const Pst__JobRecord *r = m->t->job->rec;
    unsigned long long v = c->value;
    uint32_t left = 0;
    char *word;

    switch (c->kind) {
    case CHANGE_TIME:
        *ret_what = make_text(m, "a time limit of %llu minute%s", v, v == 1 ? "" : "s");
        return make_text(m, "--time=%llu", v);
    case CHANGE_NODES:
        *ret_what = make_text(m, "%llu node%s instead of %u", v, v == 1 ? "" : "s", r->min_nodes);
        return make_text(m, "--nodes=%llu", v);
    case CHANGE_TASKS:
        *ret_what = make_text(m, "%llu task%s instead of %u", v, v == 1 ? "" : "s", r->num_tasks);
        return make_text(m, "--ntasks=%llu", v);
    case CHANGE_CPUS:
        *ret_what = make_text(m, "%llu CPU%s for each task instead of %u", v, v == 1 ? "" : "s",
                              r->cpus_per_task);
        return make_text(m, "--cpus-per-task=%llu", v);
    case CHANGE_MEM_NODE:
        *ret_what = make_text(m, "%lluM of memory on each node", v);
        return make_text(m, "--mem=%lluM", v);
    case CHANGE_MEM_CPU:
        *ret_what = make_text(m, "%lluM of memory for each CPU", v);
        return make_text(m, "--mem-per-cpu=%lluM", v);
    case CHANGE_GRES:
        word = gres_word(m, r, c->index);
        *ret_what = v ? make_text(m, "%llu instead of %s", v, word) : make_text(m, "no %s", word);
        return make_text(m, "%s", v ? "fewer GRES" : "less GRES");
    case CHANGE_FEATURES:
        word = c->index == UINT32_MAX ? NULL : nth_word(m, r->features, "&,", c->index, &left);
        *ret_what =
            word ? make_text(m, "feature %s not asked for", word) : "no constraint on features";
        return make_text(m, word ? "--constraint without it" : "no --constraint");
    case CHANGE_NODELIST:
        *ret_what = "no nodes asked for by name";
        return make_text(m, "no --nodelist");
    case CHANGE_EXCLUDE:
        *ret_what = "no nodes excluded";
        return make_text(m, "no --exclude");
    case CHANGE_EXCLUSIVE:
        *ret_what = "nodes that it shares with others";
        return make_text(m, "no --exclusive");
    case CHANGE_CONTIGUOUS:
        *ret_what = "nodes that need not be adjacent";
        return make_text(m, "no --contiguous");
    case CHANGE_PARTITION:
        *ret_what = make_text(m, "partition %s", c->text);
        return make_text(m, "--partition=%s", c->text);
    }
    return NULL;
}

static void add_change(struct explain_made *m, const struct explain_change *c)
{
    Pst__ExplainChange *out = hold_piece(m, sizeof(*out));
    const char *what = "";

    if (!out)
        return;
    pst__explain_change__init(out);
    out->option = option_of(m, c, &what);
    out->sentence = make_text(
        m, "With %s it would start now%s%s (%s).", what, c->before_job ? ", before job " : "",
        c->before_job ? job_name(m, c->before_job) : "", out->option ? out->option : "");
    push_item(m, (void ***)&m->reply.changes, &m->reply.n_changes, out);
    add_sentence(m, out->sentence);
}

/* ---- the whole ------------------------------------------------------------------------------- */

static void not_pending(struct explain_made *m)
{
    const Pst__JobRecord *r = m->t->job->rec;
    const char *word =
        names_job_state_word(r->state, r->has_state_flags ? r->state_flags : 0, false);

    m->reply.summary = make_text(m, "Job %s does not wait: it is %s.", m->reply.id_text, word);
    add_sentence(m, m->reply.summary);
}

/* What it waits for, when that is no nodes. */
static char *waits_for(struct explain_made *m)
{
    return m->reply.reason == PST__JOB_REASON__REASON_PRIORITY
               ? make_text(m, "Job %s waits for jobs that go before it.", m->reply.id_text)
               : make_text(m, "Job %s waits (%s).", m->reply.id_text,
                           names_reason((unsigned)m->reply.reason));
}

static void explain_pending(struct explain_made *m)
{
    const struct sched_explanation *x = m->t->x;
    bool kept = kept_back(m);

    if (!kept && x->starts_now)
        m->reply.summary =
            make_text(m,
                      m->t->planned ? "Nothing keeps job %s: it would start at once."
                                    : "Nothing keeps job %s any more: it is about to start.",
                      m->reply.id_text);
    else if (!kept)
        m->reply.summary = make_text(m, "Job %s waits for nodes.", m->reply.id_text);
    add_sentence(m, m->reply.summary);
    if (m->reply.release)
        add_sentence(m, m->reply.release);
    if (kept && x->starts_now)
        add_sentence(m, make_text(m, "Let go now, it would start at once."));
    for (size_t i = 0; i < x->nparts; i++)
        add_partition(m, &x->parts[i]);
    say_licenses(m, x);
    if (!kept && m->reply.n_partitions) {
        SET(&m->reply, reason, m->reply.partitions[0]->reason);
        if (!x->starts_now && m->reply.reason != PST__JOB_REASON__REASON_RESOURCES)
            m->reply.summary = m->reply.sentences[0] = waits_for(m);
    }
    for (size_t i = 0; !kept && i < x->nchanges; i++)
        add_change(m, &x->changes[i]);
    if (!kept && x->settled && !x->starts_now && !x->nchanges)
        add_sentence(m, make_text(m, "No single change to the request would start it now."));
}

struct explain_made *explain_make(const struct explain_text *t)
{
    struct explain_made *m = calloc(1, sizeof(*m));
    const Pst__JobRecord *r = t->job->rec;

    if (!m)
        return NULL;
    m->t = t;
    pst__explain_reply__init(&m->reply);
    SET(&m->reply, job_id, r->job_id);
    SET(&m->reply, state, job_state(r));
    SET(&m->reply, now_us, t->now_us);
    SET(&m->reply, settled, !t->x || t->x->settled);
    m->reply.id_text = id_text(m, r);
    if (t->x)
        explain_pending(m);
    else if (job_is_pending(r))
        add_sentence(m, m->reply.summary =
                            make_text(m, "Job %s waits, and the scheduler cannot say why.",
                                      m->reply.id_text));
    else
        not_pending(m);
    if (m->failed) {
        explain_done(m);
        return NULL;
    }
    return m;
}

const Pst__ExplainReply *explain_reply(const struct explain_made *m)
{
    return &m->reply;
}

void explain_done(struct explain_made *m)
{
    while (m && m->pieces) {
        struct piece *p = m->pieces;

        m->pieces = p->next;
        free(p);
    }
    free(m);
}

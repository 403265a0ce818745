/* saypart.c - why a job waits in a partition, and for licenses; see saypart.h */
#include "ctld/starts/saypart.h"

#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/hostlist.h"
#include "base/strbuf.h"
#include "ctld/link/nodelink.h"
#include "ctld/resv/resv.h"
#include "ctld/schedlink/schedfeed.h"
#include "ctld/starts/saylimit.h"

#define NAMES_SHOWN 8u /* nodes named of a group */

static const char *ordinal_ending(unsigned n)
{
    if (n % 100 / 10 == 1)
        return "th";
    return n % 10 == 1 ? "st" : n % 10 == 2 ? "nd" : n % 10 == 3 ? "rd" : "th";
}

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
        copy = made_text(m, "%s%s", list, n > shown ? ",..." : "");
    free(list);
    hostlist_free(hl);
    return copy;
}

static void add_count(struct explain_made *m, Pst__ExplainPartition *p, const char *cause,
                      uint32_t nodes, const uint32_t *ids)
{
    Pst__ExplainCount *c = nodes ? made_piece(m, sizeof(*c)) : NULL;

    if (!c)
        return;
    pst__explain_count__init(c);
    c->cause = (char *)cause; /* static, only read */
    SET(c, nodes, nodes);
    c->names = ids ? names_of(m, ids, nodes) : NULL;
    made_push(m, (void ***)&p->causes, &p->n_causes, c);
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
    made_say(
        m, made_text(m, "Partition %s: it needs %u node%s; of %u, %u could hold a part of it: %s.",
                     p->name, p->wanted_nodes, p->wanted_nodes == 1 ? "" : "s", p->total_nodes,
                     p->suitable_nodes, p->n_causes ? strbuf_str(&sb) : "there is none"));
    strbuf_done(&sb);
}

/* How many more hold something of the same; 0: nobody. */
static void say_others(struct explain_made *m, uint32_t n)
{
    if (n == 1)
        made_say(m, made_text(m, "So does 1 other job, which ends later."));
    else if (n)
        made_say(m, made_text(m, "So do %u other jobs, which end later.", n));
}

static void say_holders(struct explain_made *m, const struct explain_part *x,
                        Pst__ExplainPartition *p)
{
    for (uint32_t i = 0; i < x->nholders; i++) {
        const struct explain_holder *h = &x->holders[i];
        const struct job *j = cluster_job(m->t->ctld->cluster, h->job_id);
        Pst__ExplainHolder *out = made_piece(m, sizeof(*out));

        if (!out || !j)
            continue;
        pst__explain_holder__init(out);
        if (!made_hides(m, j))
            SET(out, job_id, h->job_id);
        out->id_text = made_job_name(m, h->job_id);
        out->user_name = made_owner(m, j);
        SET(out, nodes, h->nodes);
        if (h->end_us != INT64_MAX)
            SET(out, end_us, h->end_us);
        made_push(m, (void ***)&p->holders, &p->n_holders, out);
        made_say(m, made_text(m, "Job %s of %s holds %u of these nodes, %s%s.", out->id_text,
                              out->user_name ? out->user_name : "somebody", h->nodes,
                              out->has_end_us ? "until " : "without a time limit",
                              out->has_end_us ? made_stamp(m, h->end_us) : ""));
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
            strbuf_addf(&sb, "held by job %s", made_job_name(m, u->holders[i]));
        else
            strbuf_add(&sb, u->kept[i] ? "kept for expedited jobs" : "not for this job");
    }
    if (u->nmissing > EXPLAIN_MISSING)
        strbuf_addf(&sb, " and %u more are missing", u->nmissing - EXPLAIN_MISSING);
    made = made_text(m, "%s", strbuf_str(&sb));
    strbuf_done(&sb);
    return made;
}

static void put_unit(struct explain_made *m, const struct explain_unit *u, Pst__ExplainPartition *p)
{
    Pst__ExplainUnit *out = made_piece(m, sizeof(*out));

    if (!out)
        return;
    pst__explain_unit__init(out);
    out->first = made_text(m, "%s", u->first);
    out->last = made_text(m, "%s", u->last);
    SET(out, free, u->free);
    SET(out, wanted, u->wanted);
    SET(out, missing_nodes, u->nmissing);
    for (uint32_t i = 0; i < u->nmissing && i < EXPLAIN_MISSING; i++) {
        const struct node *n = cluster_node(m->t->ctld->cluster, u->missing[i]);
        Pst__ExplainMissing *one = n ? made_piece(m, sizeof(*one)) : NULL;

        if (!one)
            continue;
        pst__explain_missing__init(one);
        one->node = made_text(m, "%s", n->rec->name);
        one->why = made_text(m, "%s",
                             u->down[i]      ? node_trouble(m->t->ctld, n)
                             : u->holders[i] ? "held"
                                             : "not for this job");
        if (!u->down[i] && u->holders[i] &&
            !made_hides(m, cluster_job(m->t->ctld->cluster, u->holders[i])))
            SET(one, job_id, u->holders[i]);
        made_push(m, (void ***)&out->missing, &out->n_missing, one);
    }
    made_push(m, (void ***)&p->units, &p->n_units, out);
}

/* The units that come nearest to what the job needs. */
static void say_units(struct explain_made *m, const struct explain_part *x,
                      Pst__ExplainPartition *p)
{
    if (x->topo) {
        p->lacks = made_text(m, "%s", topo_why_text(x->topo));
        made_say(m, made_text(m, "%s.", p->lacks));
    }
    for (uint32_t i = 0; i < x->nunits; i++) {
        const struct explain_unit *u = &x->units[i];
        bool one = strcmp(u->first, u->last) == 0;

        put_unit(m, u, p);
        made_say(m, made_text(m, "%s%s%s has %u of %u nodes%s%s.", u->first, one ? "" : " to ",
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

        strbuf_addf(&sb, "%s%s%s", i ? ", " : "", made_job_name(m, x->victims[i].job_id),
                    verb ? verb : "");
    }
    if (x->nvictims > EXPLAIN_VICTIMS)
        strbuf_addf(&sb, " and %u more", x->nvictims - EXPLAIN_VICTIMS);
    made = made_text(m, "job%s %s", x->nvictims == 1 ? "" : "s", strbuf_str(&sb));
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
    made = made_text(m, "%s", sb.len ? strbuf_str(&sb) : "none runs there");
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
        Pst__ExplainVictim *out = j ? made_piece(m, sizeof(*out)) : NULL;

        if (!out)
            continue;
        pst__explain_victim__init(out);
        if (!made_hides(m, j))
            SET(out, job_id, v->job_id);
        out->id_text = made_job_name(m, v->job_id);
        out->user_name = made_owner(m, j);
        out->mode = v->mode < ARRAY_SIZE(modes) && modes[v->mode] ? (char *)modes[v->mode] : NULL;
        made_push(m, (void ***)&p->preempts, &p->n_preempts, out);
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
        made_say(m, made_text(m, "It preempts %s and starts when %s gone.", victims_text(m, p),
                              p->nvictims == 1 ? "it has" : "they have"));
    else if (!p->candidates)
        made_say(m, made_text(m, "It may preempt none of the %u job%s there: %s.", p->jobs,
                              p->jobs == 1 ? "" : "s", spared_text(m, p)));
    else if (!p->nvictims)
        made_say(
            m,
            made_text(
                m,
                "It may preempt %u of the %u job%s there, but would not fit without them either: %s.",
                p->candidates, p->jobs, p->jobs == 1 ? "" : "s", spared_text(m, p)));
    else
        made_say(
            m,
            made_text(
                m,
                "It may preempt %u of the %u job%s there; when it is its turn %s will go: of the lowest "
                "rank, and without any of them it does not fit.",
                p->candidates, p->jobs, p->jobs == 1 ? "" : "s", victims_text(m, p)));
    if (p->safe && p->safe_until_us != INT64_MAX)
        made_say(m, made_text(m, "The first that is safe for its run time is so until %s.",
                              made_stamp(m, p->safe_until_us)));
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

static void say_time(struct explain_made *m, const struct explain_part *x, Pst__ExplainPartition *p)
{
    if (x->kept_for)
        made_say(m,
                 made_text(
                     m,
                     "Nodes are kept for job %s, which goes before and is expected to start at %s.",
                     made_job_name(m, x->kept_for), made_stamp(m, x->kept_us)));
    if (x->expected_us) {
        SET(p, expected_us, x->expected_us);
        p->expected_nodes = names_of(m, x->expected_nodes, x->nexpected);
        if (!m->reply.has_expected_us || m->reply.expected_us > x->expected_us)
            SET(&m->reply, expected_us, x->expected_us);
        if (x->expected_us > m->t->now_us)
            made_say(
                m,
                made_text(m,
                          "It is expected to start at %s on %s, if running jobs use up their time "
                          "limits.",
                          made_stamp(m, x->expected_us),
                          p->expected_nodes ? p->expected_nodes : "some nodes"));
    } else if (x->why == SCHED_WHY_RESOURCES) {
        made_say(m, made_text(m, "No start can be planned yet%s.",
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
            made_say(m, made_text(m, "Its reservation %s is from %s to %s on %s.", r->name,
                                  made_stamp(m, when.start_us), made_stamp(m, when.end_us),
                                  r->nodes ? r->nodes : "any nodes"));
        else if (x->why != SCHED_WHY_RESV && r->nodes && when.start_us < end_us &&
                 nodes->nbits == p->nodes->nbits && bitmap_overlaps(nodes, p->nodes))
            made_say(m, made_text(m, "Reservation %s keeps %s from %s to %s.", r->name, r->nodes,
                                  made_stamp(m, when.start_us), made_stamp(m, when.end_us)));
    }
}

void say_partition(struct explain_made *m, const struct explain_part *x)
{
    Pst__ExplainPartition *p = made_piece(m, sizeof(*p));

    if (!p)
        return;
    pst__explain_partition__init(p);
    p->name = made_text(m, "%s", x->name);
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
        made_say(m, made_text(m, "Partition %s %s.", p->name, verdicts[i].sentence));
    }
    if (x->why == SCHED_WHY_LIMIT)
        say_limit(m, &x->limit, p);
    if (x->why == SCHED_WHY_RESOURCES)
        made_say(m, made_text(m, "It is %u%s of %u in the queue of %s.", x->place,
                              ordinal_ending(x->place), x->queued, p->name));
    say_units(m, x, p);
    say_reservations(m, x);
    say_holders(m, x, p);
    say_preempt(m, x, p);
    say_time(m, x, p);
    made_push(m, (void ***)&m->reply.partitions, &m->reply.n_partitions, p);
}

void say_licenses(struct explain_made *m, const struct sched_explanation *x)
{
    for (size_t i = 0; i < x->nlicenses; i++) {
        const struct explain_license *l = &x->licenses[i];
        unsigned long long left = l->total > l->used ? l->total - l->used : 0;

        if (l->wanted <= left)
            continue;
        made_say(m, made_text(m, "License %s: it asks for %llu%s; of %llu, %llu %s free.", l->name,
                              (unsigned long long)l->wanted, x->licenses_any ? " or others" : "",
                              (unsigned long long)l->total, left, left == 1 ? "is" : "are"));
        for (uint32_t h = 0; h < l->nholders; h++) {
            const struct job *j = cluster_job(m->t->ctld->cluster, l->holders[h].job_id);
            const char *owner = made_owner(m, j);

            made_say(
                m, made_text(m, "Job %s of %s holds %u of them, %s%s.",
                             made_job_name(m, l->holders[h].job_id), owner ? owner : "somebody",
                             l->holders[h].nodes,
                             l->holders[h].end_us != INT64_MAX ? "until " : "without a time limit",
                             l->holders[h].end_us != INT64_MAX ? made_stamp(m, l->holders[h].end_us)
                                                               : ""));
        }
        say_others(m, l->nholding - l->nholders);
    }
}

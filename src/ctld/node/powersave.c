/* powersave.c - power saving: passes over the nodes, and the programs; see powersave.h
 *
 * Every power_save_interval a pass powers nodes up that were asked for and down that are idle, as
 * the rates allow.  A job that starts on nodes without power is not kept waiting for the interval.
 * What has run out of time is looked for at every tick.  Which nodes are chosen is powerplan.c's to
 * say. */
#include "ctld/node/powersave.h"

#include <glob.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/hostlist.h"
#include "base/log.h"
#include "base/must.h"
#include "base/pb/pbutil.h"
#include "base/timefmt.h"
#include "ctld/core/service.h"
#include "ctld/front/view.h"
#include "ctld/policy/bootwait.h"
#include "ctld/node/nodeloss.h"
#include "ctld/link/nodelink.h"
#include "ctld/node/bootsteps.h"
#include "ctld/node/powerplan.h"
#include "ctld/node/powerorder.h"
#include "ctld/node/powersettings.h"
#include "ctld/node/resumefile.h"
#include "ctld/notify/powerprog.h"
#include "ctld/notify/programs.h"
#include "ctld/topology/topoclaim.h"
#include "fields.h"

#define RESUME_FILE "power_resume.%ju.json" /* in StateSaveLocation */
#define STILL_ON_DOUBLINGS 10u
#define STILL_ON_FORGET_US (INT64_C(600) * USEC_PER_SEC)
#define CHANGING (NODE_BIT(POWERING_UP) | NODE_BIT(POWERING_DOWN))

struct powersave {
    struct power_rate up, down;
    int64_t last_us; /* of the last pass */
    bool wake;       /* a job waits for nodes */
    struct still_on {
        int64_t us;     /* when the node's power was last asked to go once more ... */
        uint32_t times; /* ... one time behind the other */
    } * still;
    uint32_t nstill;
};

bool power_is_on(const struct ctld *ctld)
{
    const char *down = conf_str(ctld->conf, CONF_SUSPEND_PROGRAM),
               *up = conf_str(ctld->conf, CONF_RESUME_PROGRAM);

    return down && *down && up && *up;
}

/* Nodes of a pass. */
struct batch {
    struct ctld *ctld;
    struct bitmap *nodes;
    int64_t longest_s; /* of their times to come up or go down */
    Pst__Transaction *tx;
    int64_t now;
};

static void batch_begin(struct batch *b, struct ctld *ctld, int64_t now)
{
    *b = (struct batch){ .ctld = ctld, .now = now };
    if (bitmap_new(ctld->cluster->nnodes + 1, &b->nodes) < 0)
        must(NULL);
}

static void batch_done(struct batch *b)
{
    b->nodes = bitmap_free(b->nodes);
    b->tx = tx_free(b->tx);
}

/* A patch of the node's power, with these flags. */
static Pst__NodeRecord *patch_power(struct batch *b, const struct node *n, uint32_t flags)
{
    Pst__NodeRecord *set;

    if (!b->tx)
        b->tx = tx_new(b->now);
    set = tx_node_patch(b->tx, PST__EVENT_KIND__EV_NODE_POWER, n->rec->node_id);
    SET(set, state_flags, flags);
    return set;
}

static void clear_reason(Pst__Transaction *tx)
{
    tx_clear(tx, NODE_F_REASON);
    tx_clear(tx, NODE_F_REASON_UID);
    tx_clear(tx, NODE_F_REASON_US);
}

/* 0: nothing to commit, or the disk is full: the next pass or tick finds the same again. */
static uint64_t batch_commit(struct batch *b)
{
    return b->tx ? core_commit(b->ctld, TAKE_PTR(b->tx)) : 0;
}

/* The names of the nodes, folded.  Caller frees. */
static char *names_of(const struct cluster *c, const struct bitmap *nodes)
{
    _cleanup_free_ const char **names = must(calloc(bitmap_count(nodes) + 1, sizeof(*names)));
    char *text = NULL;
    size_t n = 0;

    BITMAP_FOREACH (nodes, i)
        if (i < c->nnodes && c->nodes[i])
            names[n++] = c->nodes[i]->rec->name;
    if (hostlist_fold_names(names, n, &text) < 0)
        must(NULL);
    return text;
}

/* ---- programs -------------------------------------------------------------------------------- */

/* Its end is noted of the nodes that are still on the way it brought them. */
static void note_done(struct ctld *ctld, const struct program *p, uint32_t way)
{
    _cleanup_(hostlist_free) struct hostlist *hl = NULL;
    const char *names = powerprog_nodes(p);
    struct batch b;

    if (!names || hostlist_parse(names, &hl, NULL) < 0)
        return;
    batch_begin(&b, ctld, core_now());
    for (size_t i = 0; i < hostlist_count(hl); i++) {
        const struct node *n = cluster_node_named(ctld->cluster, hostlist_nth(hl, i));

        if (n && n->rec->state_flags & way && n->rec->power_us <= (int64_t)p->run_id)
            SET(patch_power(&b, n, n->rec->state_flags), power_done, true);
    }
    (void)batch_commit(&b); /* disk full: a controller that starts again runs it again */
    batch_done(&b);
}

static void program_over(struct ctld *ctld, const struct program *p, uint32_t way)
{
    char text[64];

    if (p->status == 0)
        note_done(ctld, p, way);
    else
        log_error("%s %s: %s", p->what, powerprog_nodes(p),
                  program_status_text(p, text, sizeof(text)));
}

static void resume_over(struct ctld *ctld, const struct program *p)
{
    program_over(ctld, p, NODE_BIT(POWERING_UP));
}

static void suspend_over(struct ctld *ctld, const struct program *p)
{
    program_over(ctld, p, NODE_BIT(POWERING_DOWN));
}

/* ResumeFailProgram has been told of them, however it took that. */
static void fail_over(struct ctld *ctld, const struct program *p)
{
    _cleanup_(hostlist_free) struct hostlist *hl = NULL;
    struct batch b;

    if (hostlist_parse(powerprog_nodes(p), &hl, NULL) < 0)
        return;
    batch_begin(&b, ctld, core_now());
    for (size_t i = 0; i < hostlist_count(hl); i++) {
        const struct node *n = cluster_node_named(ctld->cluster, hostlist_nth(hl, i));

        if (!n || n->rec->state_flags & CHANGING || !n->rec->has_power_until_us)
            continue;
        (void)patch_power(&b, n, n->rec->state_flags);
        tx_clear(b.tx, NODE_F_POWER_UNTIL_US);
    }
    (void)batch_commit(&b); /* as above */
    batch_done(&b);
}

static void run_program(struct ctld *ctld, const struct power_program *program, const char *what,
                        const char *names, uint64_t lsn, int64_t limit_s, program_done_fn *done,
                        const char *json)
{
    struct program *p = program_new(ctld, what);
    char path[512];

    p->lsn = lsn;
    p->run_id = (uint64_t)core_now();
    p->limit_us = limit_s * USEC_PER_SEC;
    p->done = done;
    powerprog_fill(p, program);
    program_arg(p, names);
    program_env(p, "SLURM_CLUSTER_NAME", ctld->cluster->rec->name);
    program_env(p, "SLURM_CONF", ctld->conf_path);
    program_env(p, "PATH", "/usr/sbin:/usr/bin:/sbin:/bin");
    if (json) {
        (void)snprintf(path, sizeof(path), "%s/" RESUME_FILE, /* too long: told by the program */
                       conf_str(ctld->conf, CONF_STATE_SAVE_LOCATION), (uintmax_t)lsn);
        program_file(p, "SLURM_RESUME_FILE", path, json);
        program_input(p, json);
    }
    programs_add_take(ctld->programs, p);
}

/* What a group of nodes gets. */
struct way {
    struct ctld *ctld;
    uint64_t lsn;
    int64_t limit_s;
};

static void suspend_group(void *ctx, const struct power_program *program,
                          const struct bitmap *nodes)
{
    const struct way *w = ctx;
    _cleanup_free_ char *names = names_of(w->ctld->cluster, nodes);

    log_info("power: SuspendProgram%s%s for %s", program->action ? " " : "",
             program->action ? program->action : "", names);
    if (program->at_node)
        powerorder_send(w->ctld, program->action, nodes, w->lsn);
    else
        run_program(w->ctld, program, "SuspendProgram", names, w->lsn, w->limit_s, suspend_over,
                    NULL);
}

static void run_suspend(struct ctld *ctld, const struct bitmap *nodes, uint64_t lsn,
                        int64_t limit_s)
{
    struct way w = { .ctld = ctld, .lsn = lsn, .limit_s = limit_s };

    powerprog_each(ctld, CONF_SUSPEND_PROGRAM, nodes, suspend_group, &w);
}

static void resume_group(void *ctx, const struct power_program *program, const struct bitmap *nodes)
{
    const struct way *w = ctx;
    _cleanup_free_ char *names = names_of(w->ctld->cluster, nodes), *json = NULL;

    log_info("power: ResumeProgram%s%s for %s", program->action ? " " : "",
             program->action ? program->action : "", names);
    if (resumefile_text(w->ctld->cluster, names, nodes, &json) < 0)
        must(NULL);
    run_program(w->ctld, program, "ResumeProgram", names, w->lsn, w->limit_s, resume_over, json);
}

static void run_resume(struct ctld *ctld, const struct bitmap *nodes, uint64_t lsn, int64_t limit_s)
{
    struct way w = { .ctld = ctld, .lsn = lsn, .limit_s = limit_s };

    powerprog_each(ctld, CONF_RESUME_PROGRAM, nodes, resume_group, &w);
}

static void run_fail(struct ctld *ctld, const struct bitmap *nodes, uint64_t lsn)
{
    struct power_program program;
    _cleanup_free_ char *names = NULL;

    if (bitmap_empty(nodes) ||
        !conf_power_program(ctld->conf, CONF_RESUME_FAIL_PROGRAM, NULL, &program))
        return;
    names = names_of(ctld->cluster, nodes);
    run_program(ctld, &program, "ResumeFailProgram", names, lsn,
                (int64_t)conf_num(ctld->conf, CONF_RESUME_TIMEOUT), fail_over, NULL);
}

/* What an operator named was for the change that is over. */
static void forget_action(Pst__Transaction *tx, const Pst__NodeRecord *r)
{
    if (r->power_action)
        tx_clear(tx, NODE_F_POWER_ACTION);
}

/* ---- what has run out of time ---------------------------------------------------------------- */

/* SuspendTimeout of the node: of the cluster and of partitions with it, the longest. */
static uint32_t suspend_timeout_s(const struct ctld *ctld, const struct node *n)
{
    const struct cluster *c = ctld->cluster;
    uint32_t most = (uint32_t)conf_num(ctld->conf, CONF_SUSPEND_TIMEOUT);

    for (size_t i = 0; i < c->nparts; i++)
        if (c->parts[i]->rec->has_suspend_timeout_s &&
            bitmap_test(c->parts[i]->nodes, n->rec->node_id))
            most = MAX(most, c->parts[i]->rec->suspend_timeout_s);
    return most;
}

/* A cloud node is what the configuration says until it is powered up again. */
static void return_to_conf(const struct ctld *ctld, Pst__Transaction *tx, const Pst__NodeRecord *r,
                           Pst__NodeRecord *set)
{
    const struct conf_node *cn = conf_find_node(ctld->conf, r->name);

    (void)pb_set_str(&set->addr, cn ? cn->addr : r->name); /* -ENOMEM: as it was */
    (void)pb_set_str(&set->hostname, cn ? cn->hostname : r->name);
    if (cn && cn->features && (!r->features || strcmp(cn->features, r->features) != 0))
        (void)pb_set_str(&set->features, cn->features);
    if (r->active_features)
        tx_clear(tx, NODE_F_ACTIVE_FEATURES);
    if (r->instance_id)
        tx_clear(tx, NODE_F_INSTANCE_ID);
    if (r->instance_type)
        tx_clear(tx, NODE_F_INSTANCE_TYPE);
    topoclaim_powered_down(tx, r, set);
}

/* SuspendTimeout is over.  Where the program failed and slurmd is still there, the node is on. */
static void end_power_down(struct batch *b, const struct node *n)
{
    const Pst__NodeRecord *r = n->rec;
    bool done = r->has_power_done && r->power_done, still_on = !done && node_is_linked(b->ctld, n);
    uint32_t flags = r->state_flags & ~(NODE_BIT(POWERING_DOWN) | NODE_BIT(NOT_RESPONDING));
    Pst__NodeRecord *set;

    set = patch_power(b, n, still_on ? flags : flags | NODE_BIT(POWERED_DOWN));
    SET(set, power_us, b->now);
    tx_clear(b->tx, NODE_F_POWER_UNTIL_US);
    forget_action(b->tx, r);
    if (r->has_power_done)
        tx_clear(b->tx, NODE_F_POWER_DONE);
    if (still_on) {
        log_error("node %s: SuspendProgram failed, and the node is still on", r->name);
        return;
    }
    if (r->state_flags & NODE_BIT(CLOUD))
        return_to_conf(b->ctld, b->tx, r, set);
    bitmap_set(b->nodes, r->node_id);
}

/* It boots again for a job with --reboot; no program powers it up. */
static bool is_rebooting(const Pst__NodeRecord *r)
{
    return r->state_flags & NODE_BIT(POWERING_UP) && r->has_reboot_us;
}

/* A node that did not boot again is DOWN. */
static void fail_reboot(struct batch *b, const struct node *n)
{
    Pst__NodeRecord *set = patch_power(
        b, n, n->rec->state_flags & ~(NODE_BIT(POWERING_UP) | NODE_BIT(NOT_RESPONDING)));

    SET(set, state, PST__NODE_STATE__NODE_DOWN);
    (void)pb_set_str(&set->reason, "reboot timed out"); /* -ENOMEM: without one */
    SET(set, reason_us, b->now);
    SET(set, reason_uid, conf_slurm_uid(b->ctld->conf));
    tx_clear(b->tx, NODE_F_REBOOT_US);
    tx_clear(b->tx, NODE_F_BOOT_FEATURES);
    tx_clear(b->tx, NODE_F_POWER_UNTIL_US);
}

/* ResumeTimeout is over: it is DOWN, and off. */
static void fail_power_up(struct batch *b, const struct node *n)
{
    const Pst__NodeRecord *r = n->rec;
    uint32_t gone = NODE_BIT(POWERING_UP) | NODE_BIT(POWER_UP) | NODE_BIT(POWER_DOWN) |
                    NODE_BIT(NOT_RESPONDING);
    Pst__NodeRecord *set;

    bitmap_set(b->nodes, r->node_id);
    log_error("node %s: did not come up in time", r->name);
    if (is_rebooting(r)) {
        fail_reboot(b, n);
        return;
    }
    set = patch_power(b, n, (r->state_flags & ~gone) | NODE_BIT(POWERED_DOWN));

    SET(set, state, PST__NODE_STATE__NODE_DOWN);
    (void)pb_set_str(&set->reason, "ResumeTimeout reached"); /* -ENOMEM: without one */
    SET(set, reason_us, b->now);
    SET(set, reason_uid, conf_slurm_uid(b->ctld->conf));
    SET(set, power_us, b->now);
    forget_action(b->tx, r);
    if (r->has_power_done)
        tx_clear(b->tx, NODE_F_POWER_DONE);
    if (r->state_flags & NODE_BIT(CLOUD))
        return_to_conf(b->ctld, b->tx, r, set);
}

static bool is_late(const Pst__NodeRecord *r, uint32_t way, int64_t now)
{
    return r->state_flags & way && r->power_until_us <= now;
}

static void each_late(struct batch *b, uint32_t way,
                      void (*fn)(struct batch *, const struct node *))
{
    const struct cluster *c = b->ctld->cluster;

    for (uint32_t i = 0; i < c->nnodes; i++)
        if (c->nodes[i] && is_late(c->nodes[i]->rec, way, b->now))
            fn(b, c->nodes[i]);
}

/* Jobs that wait for nodes which are up, or which were given up, as the last controller ended or
 * the disk was full at that moment. */
static void recheck_jobs(struct ctld *ctld)
{
    struct idlist *waiting = must(calloc(1, sizeof(*waiting)));

    for (uint32_t i = 0; i < ctld->cluster->nnodes; i++) {
        struct node *n = ctld->cluster->nodes[i];

        if (n && n->jobs && n->rec->state == PST__NODE_STATE__NODE_DOWN &&
            n->rec->state_flags & NODE_BIT(POWERED_DOWN))
            nodeloss_boot_failed(ctld, n);
    }
    for (const struct job *j = ctld->cluster->active; j; j = j->next_active)
        if (job_waits_for_boot(j->rec))
            idlist_push(waiting, j->rec->job_id);
    for (size_t i = 0; i < waiting->n; i++) {
        struct job *j = cluster_job(ctld->cluster, waiting->ids[i]); /* one may end another */

        if (j)
            bootsteps_recheck(ctld, j);
    }
    idlist_free(waiting);
}

static void check_times(struct ctld *ctld, int64_t now)
{
    struct batch down, failed;
    uint64_t lsn;

    batch_begin(&down, ctld, now);
    each_late(&down, NODE_BIT(POWERING_DOWN), end_power_down);
    if (batch_commit(&down))
        BITMAP_FOREACH (down.nodes, i)
            node_link_drop(ctld, ctld->cluster->nodes[i]); /* a slurmd that is left says nothing */
    batch_done(&down);
    batch_begin(&failed, ctld, now);
    each_late(&failed, NODE_BIT(POWERING_UP), fail_power_up);
    lsn = batch_commit(&failed);
    if (lsn) {
        run_fail(ctld, failed.nodes, lsn); /* of reboots, too: it is for nodes that did not come */
        BITMAP_FOREACH (failed.nodes, i)
            nodeloss_boot_failed(ctld, ctld->cluster->nodes[i]);
        recheck_jobs(ctld); /* of one with --no-kill the other nodes may be up */
    }
    batch_done(&failed);
}

/* ---- a pass ---------------------------------------------------------------------------------- */

static int64_t pass_us(const struct ctld *ctld)
{
    uint64_t s = 10;

    (void)conf_option_u64(ctld->conf, CONF_SLURMCTLD_PARAMETERS, "power_save_interval", &s);
    return (int64_t)MAX(s, 1u) * USEC_PER_SEC;
}

/* Leave the first `n` nodes of the set. */
static void keep_first(struct bitmap *set, uint32_t n)
{
    BITMAP_FOREACH (set, i)
        if (n)
            n--;
        else
            bitmap_clear(set, i);
}

/* Nodes for which POWER_UP is asked and nothing else is to be done lose the word. */
static void find_resumes(struct batch *b)
{
    const struct cluster *c = b->ctld->cluster;

    for (uint32_t i = 0; i < c->nnodes; i++) {
        const Pst__NodeRecord *r = c->nodes[i] ? c->nodes[i]->rec : NULL;

        if (!r || !(r->state_flags & NODE_BIT(POWER_UP)))
            continue;
        if (r->state_flags & NODE_BIT(POWERED_DOWN))
            bitmap_set(b->nodes, i);
        else if (!(r->state_flags & NODE_BIT(POWERING_DOWN))) {
            (void)patch_power(b, c->nodes[i], r->state_flags & ~NODE_BIT(POWER_UP));
            forget_action(b->tx, r);
        }
    }
}

static void power_up(struct ctld *ctld, int64_t now)
{
    const uint32_t gone = NODE_BIT(POWER_UP) | NODE_BIT(POWERED_DOWN);
    struct batch b;
    uint64_t lsn;

    batch_begin(&b, ctld, now);
    find_resumes(&b);
    keep_first(b.nodes, power_rate_take(&ctld->powersave->up,
                                        (uint32_t)conf_num(ctld->conf, CONF_RESUME_RATE), now,
                                        bitmap_count(b.nodes)));
    BITMAP_FOREACH (b.nodes, i) {
        const struct node *n = ctld->cluster->nodes[i];
        int64_t timeout = bootwait_timeout_s(ctld, n);
        Pst__NodeRecord *set = patch_power(&b, n,
                                           (n->rec->state_flags & ~gone) | NODE_BIT(POWERING_UP) |
                                               NODE_BIT(NOT_RESPONDING));

        SET(set, power_us, now);
        SET(set, power_until_us, now + timeout * USEC_PER_SEC);
        if (n->rec->has_power_done)
            tx_clear(b.tx, NODE_F_POWER_DONE);
        b.longest_s = MAX(b.longest_s, timeout);
    }
    lsn = batch_commit(&b);
    if (lsn && !bitmap_empty(b.nodes))
        run_resume(ctld, b.nodes, lsn, b.longest_s);
    batch_done(&b);
}

/* A program that never powers a node off is called ever more seldom: at once, after SuspendTimeout
 * and then each time after twice as long.  Not in the log: a new controller begins anew. */
static bool may_ask_again(struct ctld *ctld, const struct node *n, int64_t now)
{
    struct powersave *ps = ctld->powersave;
    uint32_t id = n->rec->node_id;
    int64_t first_us = MAX(suspend_timeout_s(ctld, n), 1u) * USEC_PER_SEC, wait_us;
    struct still_on *s;

    if (id >= ps->nstill) {
        s = must(realloc(ps->still, (id + 1) * sizeof(*s)));
        memset(s + ps->nstill, 0, (id + 1 - ps->nstill) * sizeof(*s));
        ps->still = s;
        ps->nstill = id + 1;
    }
    s = &ps->still[id];
    wait_us = s->times ? first_us << MIN(s->times - 1, STILL_ON_DOUBLINGS) : 0;
    if (s->times && now - s->us > first_us + 2 * wait_us + STILL_ON_FORGET_US)
        s->times = 0; /* it was off meanwhile */
    else if (now - s->us < first_us + wait_us)
        return false;
    s->us = now;
    s->times++;
    return true;
}

void power_still_on(struct ctld *ctld, const struct node *n)
{
    const uint32_t wanted = CHANGING | NODE_BIT(POWER_UP) | NODE_BIT(POWER_DOWN);
    uint32_t flags = n->rec->state_flags;
    struct batch b;

    if (!power_is_on(ctld) || n->jobs || !(flags & NODE_BIT(POWERED_DOWN)) || flags & wanted ||
        !may_ask_again(ctld, n, core_now()))
        return;
    log_limited(LOG_ERROR, "node %s: it is powered down, and its slurmd is still there",
                n->rec->name);
    batch_begin(&b, ctld, core_now());
    (void)patch_power(&b, n, flags | NODE_BIT(POWER_DOWN));
    (void)batch_commit(&b); /* disk full: slurmd comes again */
    batch_done(&b);
}

/* Asked for by an operator, and no job has it. */
static bool asked_down(const struct node *n)
{
    return n->rec->state_flags & NODE_BIT(POWER_DOWN) && n->jobs == 0 &&
           !(n->rec->state_flags & CHANGING);
}

/* SuspendExcStates may name what a node shows beside its state: that it is reserved, in maintenance
 * or planned for. */
static void except_shown(const struct ctld *ctld, struct power_except *except)
{
    const struct cluster *c = ctld->cluster;

    for (uint32_t i = 0; except->flags && i < c->nnodes; i++)
        if (c->nodes[i] && views_shown_flags(ctld->views, c->nodes[i]) & except->flags)
            bitmap_set(except->never, i);
}

static void find_suspends(struct batch *b)
{
    struct ctld *ctld = b->ctld;
    const struct cluster *c = ctld->cluster;
    _cleanup_(power_except_free) struct power_except *except = NULL;
    struct power_policy policy = { .suspend_time_s =
                                       (uint32_t)conf_num(ctld->conf, CONF_SUSPEND_TIME) };

    if (power_except_parse(c, power_except_text(ctld, CONF_SUSPEND_EXC_NODES),
                           power_except_text(ctld, CONF_SUSPEND_EXC_PARTS),
                           power_except_text(ctld, CONF_SUSPEND_EXC_STATES), &except, NULL) < 0)
        return; /* out of memory, as the texts were checked: the next pass */
    except_shown(ctld, except);
    policy.except = except;
    if (power_choose(c, &policy, b->now, b->nodes) < 0)
        bitmap_zero(b->nodes);
    for (uint32_t i = 0; i < c->nnodes; i++)
        if (c->nodes[i] && asked_down(c->nodes[i]))
            bitmap_set(b->nodes, i);
}

/* It is on its way down from now on. */
static int64_t begin_power_down(struct batch *b, const struct node *n, bool idle)
{
    const Pst__NodeRecord *r = n->rec;
    bool undrain = r->has_power_asap && r->power_asap;
    int64_t timeout = suspend_timeout_s(b->ctld, n);
    uint32_t flags = r->state_flags & ~(NODE_BIT(POWER_DOWN) | NODE_BIT(POWERED_DOWN) |
                                        (undrain ? NODE_BIT(DRAIN) : 0));
    Pst__NodeRecord *set;

    if (idle)
        flags &= ~(NODE_BIT(DRAIN) | NODE_BIT(FAIL));
    set = patch_power(b, n, flags | NODE_BIT(POWERING_DOWN));
    SET(set, power_us, b->now);
    SET(set, power_until_us, b->now + timeout * USEC_PER_SEC);
    if (r->has_power_done)
        tx_clear(b->tx, NODE_F_POWER_DONE);
    if (r->has_power_asap)
        tx_clear(b->tx, NODE_F_POWER_ASAP);
    if (idle)
        SET(set, state, PST__NODE_STATE__NODE_IDLE);
    if (r->reason && (idle || (undrain && r->state == PST__NODE_STATE__NODE_IDLE)))
        clear_reason(b->tx);
    return timeout;
}

static void power_down(struct ctld *ctld, int64_t now)
{
    bool idle =
        conf_option(ctld->conf, CONF_SLURMCTLD_PARAMETERS, "idle_on_node_suspend", NULL, NULL);
    struct batch b;
    uint64_t lsn;

    batch_begin(&b, ctld, now);
    find_suspends(&b);
    keep_first(b.nodes, power_rate_take(&ctld->powersave->down,
                                        (uint32_t)conf_num(ctld->conf, CONF_SUSPEND_RATE), now,
                                        bitmap_count(b.nodes)));
    BITMAP_FOREACH (b.nodes, i) {
        int64_t timeout = begin_power_down(&b, ctld->cluster->nodes[i], idle);

        b.longest_s = MAX(b.longest_s, timeout);
    }
    lsn = batch_commit(&b);
    if (lsn && !bitmap_empty(b.nodes))
        run_suspend(ctld, b.nodes, lsn, b.longest_s);
    batch_done(&b);
}

/* Cloud nodes are off until they are powered up.  Without programs no node has power to lose: what
 * was off waits for its slurmd. */
static void follow_programs(struct ctld *ctld)
{
    bool on = power_is_on(ctld);
    struct batch b;

    batch_begin(&b, ctld, core_now());
    for (uint32_t i = 0; i < ctld->cluster->nnodes; i++) {
        const struct node *n = ctld->cluster->nodes[i];
        uint32_t flags = n ? n->rec->state_flags : 0;
        const uint32_t power = NODE_POWER_BITS | NODE_BIT(POWER_UP) | NODE_BIT(POWER_DOWN);

        if (n && on && flags & NODE_BIT(CLOUD) && !(flags & NODE_POWER_BITS) &&
            n->rec->state == PST__NODE_STATE__NODE_UNKNOWN && !node_is_linked(ctld, n)) {
            SET(patch_power(&b, n, flags | NODE_BIT(POWERED_DOWN)), state,
                PST__NODE_STATE__NODE_IDLE);
        } else if (n && !on && flags & power && !is_rebooting(n->rec)) {
            Pst__NodeRecord *set = patch_power(&b, n, flags & ~(power | NODE_BIT(NOT_RESPONDING)));

            if (n->rec->state == PST__NODE_STATE__NODE_IDLE && !node_is_linked(ctld, n))
                SET(set, state, PST__NODE_STATE__NODE_UNKNOWN);
            tx_clear(b.tx, NODE_F_POWER_UNTIL_US);
            tx_clear(b.tx, NODE_F_POWER_DONE);
        }
    }
    (void)batch_commit(&b); /* disk full: when the configuration is read next */
    batch_done(&b);
}

void power_made(struct ctld *ctld)
{
    follow_programs(ctld);
}

static void tick_power(struct ctld *ctld, int64_t now)
{
    struct powersave *ps = ctld->powersave;
    uint64_t least = 0;

    check_times(ctld, now);
    if (!power_is_on(ctld))
        return;
    (void)conf_option_u64(ctld->conf, CONF_SLURMCTLD_PARAMETERS, "power_save_min_interval", &least);
    if (now - ps->last_us < pass_us(ctld) &&
        !(ps->wake && now - ps->last_us >= (int64_t)least * USEC_PER_SEC))
        return;
    ps->last_us = now;
    ps->wake = false;
    follow_programs(ctld);
    recheck_jobs(ctld);
    power_up(ctld, now);
    power_down(ctld, now);
}

/* ---- the service ----------------------------------------------------------------------------- */

static void wake_for_job(struct ctld *ctld, struct job *j, uint64_t lsn)
{
    (void)lsn;
    if (job_waits_for_boot(j->rec))
        ctld->powersave->wake = true;
}

static void forget_files(const struct ctld *ctld)
{
    glob_t found = { 0 };
    char pattern[512];

    (void)snprintf(pattern, sizeof(pattern), "%s/power_resume.*.json",
                   conf_str(ctld->conf, CONF_STATE_SAVE_LOCATION));
    if (glob(pattern, GLOB_NOSORT, NULL, &found) == 0)
        for (size_t i = 0; i < found.gl_pathc; i++)
            (void)unlink(found.gl_pathv[i]); /* left: overwritten or never read */
    globfree(&found);
}

/* Nodes on their way up or down get their time anew, as nobody heard of them meanwhile. */
static void begin_again(struct batch *up, struct batch *down, struct batch *told)
{
    const struct cluster *c = up->ctld->cluster;

    for (uint32_t i = 0; i < c->nnodes; i++) {
        const struct node *n = c->nodes[i];
        const Pst__NodeRecord *r = n ? n->rec : NULL;
        bool rises = r && r->state_flags & NODE_BIT(POWERING_UP);
        struct batch *way;
        int64_t timeout;

        if (r && !(r->state_flags & CHANGING) && r->has_power_until_us)
            bitmap_set(told->nodes, i);
        if (!r || !(r->state_flags & CHANGING))
            continue;
        timeout = rises ? bootwait_timeout_s(up->ctld, n) : suspend_timeout_s(up->ctld, n);
        SET(patch_power(up, n, r->state_flags), power_until_us, up->now + timeout * USEC_PER_SEC);
        if ((r->has_power_done && r->power_done) || is_rebooting(r))
            continue;
        way = rises ? up : down;
        bitmap_set(way->nodes, i);
        way->longest_s = MAX(way->longest_s, timeout);
    }
}

/* A slip there costs the nodes that were to stay up their power.  Nodes may come later. */
static void tell_unknown(struct ctld *ctld)
{
    const char *nodes = power_except_text(ctld, CONF_SUSPEND_EXC_NODES);
    _cleanup_(power_except_free) struct power_except *except = NULL;

    if (power_is_on(ctld) &&
        power_except_parse(ctld->cluster, nodes, NULL, NULL, &except, NULL) == 0 && except->unknown)
        log_error("SuspendExcNodes=%s: no node has %zu of these names", nodes, except->unknown);
}

static void follow_conf(struct ctld *ctld)
{
    follow_programs(ctld);
    tell_unknown(ctld);
}

static void recover_power(struct ctld *ctld)
{
    struct batch up, down, told;
    uint64_t lsn;

    follow_conf(ctld);
    forget_files(ctld);
    batch_begin(&up, ctld, core_now());
    batch_begin(&down, ctld, up.now);
    batch_begin(&told, ctld, up.now);
    begin_again(&up, &down, &told);
    lsn = batch_commit(&up);
    if (lsn && !bitmap_empty(up.nodes))
        run_resume(ctld, up.nodes, lsn, up.longest_s);
    if (lsn && !bitmap_empty(down.nodes))
        run_suspend(ctld, down.nodes, lsn, down.longest_s);
    run_fail(ctld, told.nodes, ctld->applied_lsn);
    batch_done(&up);
    batch_done(&down);
    batch_done(&told);
}

static int check_power(struct ctld *ctld, const struct conf *conf, struct err *err)
{
    (void)ctld;
    return power_except_check(conf_str(conf, CONF_SUSPEND_EXC_NODES),
                              conf_str(conf, CONF_SUSPEND_EXC_STATES), err);
}

static int start_power(struct ctld *ctld, struct err *err)
{
    ctld->powersave = calloc(1, sizeof(*ctld->powersave));
    return ctld->powersave ? 0 : err_nomem(err);
}

static void free_power(struct ctld *ctld)
{
    if (ctld->powersave)
        free(ctld->powersave->still);
    free(ctld->powersave);
    ctld->powersave = NULL;
}

const struct ctld_service powersave_service = {
    .name = "powersave",
    .check = check_power,
    .start = start_power,
    .free = free_power,
    .recovered = recover_power,
    .reconfigured = follow_conf,
    .tick_writing = tick_power,
    .job_started = wake_for_job,
};

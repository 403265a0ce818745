/* triggers.c - strigger's triggers; see triggers.h
 *
 * What happened waits in a short list until the next tick, so that nodes which change together are
 * told in one host list. There the trigger is taken out of the record (or, with a delay, learns
 * when it is due), and its program is an effect of that: it starts once it is on disk, and once
 * only.  After a crash a trigger that is due is found in the record. */
#include "ctld/notify/triggers.h"

#include <errno.h>
#include <grp.h>
#include <pwd.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/people/groups.h"
#include "base/hostlist.h"
#include "base/process/inherit.h"
#include "base/log.h"
#include "base/logflags.h"
#include "base/pb/pbutil.h"
#include "base/must.h"
#include "base/strbuf.h"
#include "base/timefmt.h"
#include "ctld/acct/acctthread.h"
#include "ctld/policy/policy.h"
#include "ctld/notify/programs.h"
#include "ctld/core/service.h"
#include "model/kept.h"

#define TRIGGERS_MAX 1000u
#define USER_TRIGGERS_MAX 100u
#define PROGRAM_LIMIT_US (300 * USEC_PER_SEC) /* a program that hangs is ended */
#define LOOK_US USEC_PER_SEC                  /* between looks at idle nodes and at jobs */
#define EV(x) (1u << PST__TRIGGER_EVENT__TRIG_##x)
#define NODE_CHANGES                                                                               \
    (EV(NODE_DOWN) | EV(NODE_UP) | EV(NODE_DRAINED) | EV(NODE_DRAINING) | EV(NODE_FAIL) |          \
     EV(NODE_RESUME))
#define JOB_EVENTS (EV(JOB_FINI) | EV(JOB_TIME))
#define EVENTS_KNOWN ((EV(BACKUP_CONTROL) << 1) - 1)

enum node_bit {
    BIT_DOWN = 1,
    BIT_DRAIN = 2,
    BIT_BUSY = 4,
    BIT_FAIL = 8,
    BIT_IDLE = 16,
    BIT_KNOWN = 128
};

struct seen { /* a node, by id */
    uint8_t bits;
    bool marked;           /* in `marked` */
    int64_t idle_since_us; /* with BIT_IDLE */
};

struct happened { /* to nodes, since the last tick */
    uint32_t trigger_id;
    struct strbuf nodes;
};

struct triggers {
    struct seen *seen; /* by node id */
    size_t nseen;
    uint32_t *marked; /* nodes whose jobs changed since the last tick */
    size_t nmarked;
    struct happened *list;
    size_t nlist;
    uint32_t wanted; /* events of all triggers: an event that no trigger waits for costs nothing */
    int64_t last_look_us;
    bool store_fails; /* as seen at the last look */
};

static void count_wanted(const struct ctld *ctld)
{
    const Pst__TriggerRecord *t;

    ctld->triggers->wanted = 0;
    for (size_t pos = 0; (t = cluster_next_trigger(ctld->cluster, &pos));)
        ctld->triggers->wanted |= t->events;
}

/* ---- operations ------------------------------------------------------------------------------ */

static bool has_option(const struct ctld *ctld, const char *word)
{
    const char *value;
    size_t len;

    return conf_option(ctld->conf, CONF_SLURMCTLD_PARAMETERS, word, &value, &len);
}

static int may_use_triggers(const struct ctld *ctld, const struct cmd *cmd)
{
    if (has_option(ctld, "disable_triggers"))
        return ESLURM_DISABLED;
    if (cmd_is_admin(ctld, cmd) ||
        (conf_slurm_uid(ctld->conf) == 0 && has_option(ctld, "allow_user_triggers")))
        return 0;
    return ESLURM_ACCESS_DENIED;
}

static int check_job(const struct ctld *ctld, const struct cmd *cmd, const Pst__TriggerRecord *t)
{
    const struct job *j = cluster_job(ctld->cluster, t->job_id);

    if (!j)
        return ESLURM_INVALID_JOB_ID;
    if (job_is_ended(j->rec))
        return ESLURM_ALREADY_DONE;
    return j->rec->uid == conn_peer(cmd->conn)->uid || cmd_is_admin(ctld, cmd)
               ? 0
               : ESLURM_ACCESS_DENIED;
}

/* The list is looked into at every change of a node: each name stands in it once. */
static int check_nodes(const struct ctld *ctld, Pst__TriggerRecord *t)
{
    _cleanup_(hostlist_free) struct hostlist *hl = NULL;
    char *folded;

    if (!t->nodes || strcmp(t->nodes, "*") == 0)
        return 0;
    if (hostlist_parse_most(t->nodes, HOSTLIST_MAX_NODES, &hl, NULL) < 0)
        return ESLURM_INVALID_NODE_NAME;
    for (size_t i = 0; i < hostlist_count(hl); i++)
        if (!cluster_node_named(ctld->cluster, hostlist_nth(hl, i)))
            return ESLURM_INVALID_NODE_NAME;
    hostlist_uniq(hl);
    if (hostlist_fold(hl, &folded) < 0)
        return SLURM_ERROR;
    free(t->nodes);
    t->nodes = folded;
    return 0;
}

static size_t triggers_of(const struct ctld *ctld, uid_t uid)
{
    const Pst__TriggerRecord *t;
    size_t n = 0;

    for (size_t pos = 0; (t = cluster_next_trigger(ctld->cluster, &pos));)
        n += t->uid == uid;
    return n;
}

static bool is_same(const char *a, const char *b)
{
    return strcmp(a ? a : "", b ? b : "") == 0;
}

/* One that would do the same at the same moment. */
static bool is_set_already(const struct ctld *ctld, const struct cmd *cmd,
                           const Pst__TriggerRecord *want)
{
    const Pst__TriggerRecord *t;

    for (size_t pos = 0; (t = cluster_next_trigger(ctld->cluster, &pos));)
        if (t->uid == conn_peer(cmd->conn)->uid && t->events == want->events &&
            t->job_id == want->job_id && t->offset_s == want->offset_s &&
            t->permanent == want->permanent && is_same(t->nodes, want->nodes) &&
            is_same(t->program, want->program))
            return true;
    return false;
}

static int check_trigger(const struct ctld *ctld, const struct cmd *cmd, Pst__TriggerRecord *t,
                         struct err *err)
{
    int r = may_use_triggers(ctld, cmd);

    if (r != 0)
        return r;
    if (!t->events || (t->events & ~EVENTS_KNOWN))
        return err_set(err, EPST_BAD_REQUEST, "there is no such event");
    if (!t->program || t->program[0] != '/')
        return err_set(err, EPST_BAD_REQUEST, "the program needs an absolute path");
    if (ctld->cluster->kept[KEPT_TRIGGER].count >= TRIGGERS_MAX)
        return err_set(err, ESLURM_DISABLED, "there are %u triggers already", TRIGGERS_MAX);
    if (!cmd_is_admin(ctld, cmd) &&
        triggers_of(ctld, conn_peer(cmd->conn)->uid) >= USER_TRIGGERS_MAX)
        return err_set(err, ESLURM_DISABLED, "a user may have %u triggers", USER_TRIGGERS_MAX);
    if (t->events & JOB_EVENTS)
        r = check_job(ctld, cmd, t);
    if (r == 0 && (t->events & ~JOB_EVENTS))
        r = check_nodes(ctld, t);
    return r == 0 && is_set_already(ctld, cmd, t) ? ESLURM_TRIGGER_DUP : r;
}

static void op_trigger_set(struct ctld *ctld, struct cmd *cmd)
{
    Pst__TriggerRecord *t = PB_AS(trigger_record, cmd->msg);
    const Pst__ClusterRecord *c = ctld->cluster->rec;
    struct err err = { .text = "" };
    Pst__Transaction *tx;
    uint64_t lsn;
    int r = check_trigger(ctld, cmd, t, &err);

    if (r != 0) {
        core_error(ctld, cmd, r, err.text[0] ? err.text : NULL);
        return;
    }
    t->has_due_us = false;
    (void)pb_set_str(&t->due_arg, NULL); /* cannot fail: it frees */
    SET(t, trigger_id, c->has_next_trigger_id ? c->next_trigger_id : 1);
    SET(t, uid, conn_peer(cmd->conn)->uid);
    SET(t, gid, conn_peer(cmd->conn)->gid);
    SET(t, set_us, core_now());
    tx = tx_new(core_now());
    tx_trigger_put(tx, PST__EVENT_KIND__EV_TRIGGER_SET, t);
    SET(tx_cluster(tx), next_trigger_id, t->trigger_id + 1);
    lsn = core_commit(ctld, tx);
    if (!lsn) {
        core_disk_full(ctld, cmd);
        return;
    }
    count_wanted(ctld);
    core_reply(ctld, cmd, lsn, 0, &t->base);
}

static int by_id(const void *a, const void *b)
{
    const Pst__TriggerRecord *x = *(Pst__TriggerRecord *const *)a,
                             *y = *(Pst__TriggerRecord *const *)b;

    return x->trigger_id < y->trigger_id ? -1 : x->trigger_id > y->trigger_id;
}

/* All of them in order of id; the caller frees the list, not the records. */
static size_t list_sorted(const struct ctld *ctld, Pst__TriggerRecord ***ret)
{
    Pst__TriggerRecord **all =
        must(calloc(ctld->cluster->kept[KEPT_TRIGGER].count + 1, sizeof(*all)));
    const Pst__TriggerRecord *t;
    size_t n = 0;

    for (size_t pos = 0; (t = cluster_next_trigger(ctld->cluster, &pos));)
        all[n++] = (Pst__TriggerRecord *)t; /* only read */
    qsort(all, n, sizeof(Pst__TriggerRecord *), by_id);
    *ret = all;
    return n;
}

static void op_trigger_get(struct ctld *ctld, struct cmd *cmd)
{
    const struct peer *peer = conn_peer(cmd->conn);
    bool own = policy_hidden(ctld, peer->uid, cmd->caller) & PRIVATE_JOBS;
    Pst__TriggerSet set = PST__TRIGGER_SET__INIT;
    size_t n = list_sorted(ctld, &set.items);

    for (size_t i = 0; i < n; i++) /* they name jobs */
        if (!own || set.items[i]->uid == peer->uid)
            set.items[set.n_items++] = set.items[i];
    core_reply(ctld, cmd, ctld->applied_lsn, 0, &set.base);
    free(set.items);
}

static bool named_by(const Pst__TriggerRecord *want, const Pst__TriggerRecord *t)
{
    return (!want->has_trigger_id || want->trigger_id == t->trigger_id) &&
           (!want->has_job_id || (t->has_job_id && want->job_id == t->job_id)) &&
           (!want->has_uid || want->uid == t->uid);
}

static void op_trigger_clear(struct ctld *ctld, struct cmd *cmd)
{
    const Pst__TriggerRecord *want = PB_AS(trigger_record, cmd->msg);
    bool admin = cmd_is_admin(ctld, cmd), denied = false;
    Pst__Transaction *tx = tx_new(core_now());
    const Pst__TriggerRecord *t;
    uint64_t lsn;

    for (size_t pos = 0; (t = cluster_next_trigger(ctld->cluster, &pos));) {
        if (!named_by(want, t))
            continue;
        if (admin || t->uid == conn_peer(cmd->conn)->uid)
            tx_trigger_remove(tx, PST__EVENT_KIND__EV_TRIGGER_CLEARED, t->trigger_id);
        else
            denied = true;
    }
    if (!tx->n_events) {
        tx_free(tx);
        core_error(ctld, cmd, denied ? ESLURM_ACCESS_DENIED : ESRCH,
                   denied ? NULL : strerror(ESRCH));
        return;
    }
    lsn = core_commit(ctld, tx);
    if (!lsn) {
        core_disk_full(ctld, cmd);
        return;
    }
    count_wanted(ctld);
    core_ok(ctld, cmd, lsn);
}

/* ---- firing ---------------------------------------------------------------------------------- */

static void start_program(struct ctld *ctld, const Pst__TriggerRecord *t, const char *arg,
                          uint64_t lsn)
{
    struct program *p = program_new(ctld, "trigger");
    char num[16];

    p->lsn = lsn;
    p->job_id = t->has_job_id ? t->job_id : 0;
    p->limit_us = PROGRAM_LIMIT_US;
    program_path(p, "/proc/self/exe"); /* becomes the user first: triggers_child() */
    program_arg(p, "--run-trigger");
    (void)snprintf(num, sizeof(num), "%u", t->uid); /* fits */
    program_arg(p, num);
    (void)snprintf(num, sizeof(num), "%u", t->gid);
    program_arg(p, num);
    program_arg(p, t->program);
    program_arg(p, arg);
    log_info("trigger %u fires: %s %s uid=%u", t->trigger_id, t->program, arg, t->uid);
    programs_add_take(ctld->programs, p);
}

/* It fires now.  t is gone afterwards unless it is permanent and there is an event left beside
 * those that are spent: a job ends once.  With a full disk it stays and fires later, if that is in
 * the record. */
static void fire_trigger(struct ctld *ctld, const Pst__TriggerRecord *t, const char *arg,
                         uint32_t spent)
{
    _cleanup_free_ char *text = tx_strdup(arg);
    Pst__TriggerRecord old =
        *t; /* the program's name outlives the record by this function's copy */
    bool stays = t->has_permanent && t->permanent && t->events & ~spent;
    Pst__Transaction *tx;
    uint64_t lsn = ctld->applied_lsn;

    old.program = tx_strdup(t->program);
    if (!stays || t->has_due_us || t->events & spent) {
        tx = tx_new(core_now());
        if (stays) {
            Pst__TriggerRecord again = *t;

            again.has_due_us = false;
            again.due_arg = NULL;
            again.events &= ~spent;
            tx_trigger_put(tx, PST__EVENT_KIND__EV_TRIGGER_FIRED, &again);
        } else {
            tx_trigger_remove(tx, PST__EVENT_KIND__EV_TRIGGER_FIRED, t->trigger_id);
        }
        lsn = core_commit(ctld, tx);
    }
    if (lsn) {
        log_flag(TRIGGERS, "trigger %u fires for %s", old.trigger_id, text);
        start_program(ctld, &old, text, lsn);
        count_wanted(ctld);
    }
    free(old.program);
}

/* It happened at when_us; what --offset adds may be in the future, and is then noted. */
static void note_event(struct ctld *ctld, const Pst__TriggerRecord *t, const char *arg,
                       int64_t when_us, uint32_t spent)
{
    int64_t due_us = when_us + (int64_t)t->offset_s * USEC_PER_SEC;
    Pst__TriggerRecord later = *t;
    Pst__Transaction *tx;

    if (due_us <= core_now()) {
        fire_trigger(ctld, t, arg, spent);
        return;
    }
    if (t->has_due_us)
        return; /* it waits already */
    later.has_due_us = true;
    later.due_us = due_us;
    later.due_arg = (char *)arg; /* only copied */
    tx = tx_new(core_now());
    tx_trigger_put(tx, PST__EVENT_KIND__EV_TRIGGER_SET, &later);
    (void)core_commit(ctld, tx); /* disk full: forgotten, as nothing else can be done */
}

/* With all of his groups; pw: NULL when this machine does not know him. */
static bool become_owner(uid_t uid, gid_t gid, const struct passwd *pw)
{
    _cleanup_free_ gid_t *gids = NULL;
    size_t n = 0;

    if (pw && groups_of(pw->pw_name, gid, &gids, &n, NULL) < 0)
        return false;
    return setgroups(pw ? n : 1, pw ? gids : &gid) == 0 && setgid(gid) == 0 && setuid(uid) == 0;
}

/* The words of the program's path and its own arguments, and behind them what it is told. */
static int run_program(char *text, char *arg)
{
    char **words = calloc(strlen(text) / 2 + 3, sizeof(*words)), *rest;
    size_t n = 0;

    for (char *w = strtok_r(text, " ", &rest); words && w; w = strtok_r(NULL, " ", &rest))
        words[n++] = w;
    if (!n)
        return 127;
    words[n] = arg;
    (void)execv(words[0], words);
    return 127;
}

int triggers_child(int argc, char **argv)
{
    uid_t uid;
    gid_t gid;
    const struct passwd *pw;

    if (argc != 6)
        return 1;
    uid = (uid_t)strtoul(argv[2], NULL, 10);
    gid = (gid_t)strtoul(argv[3], NULL, 10);
    pw = getpwuid(uid);
    if (geteuid() == 0 ? !become_owner(uid, gid, pw) : uid != geteuid())
        return 1;
    if (chdir("/") < 0 || setenv("PATH", "/usr/local/bin:/usr/bin:/bin", 1) < 0)
        return 1;
    if (pw && (setenv("HOME", pw->pw_dir, 1) < 0 || setenv("USER", pw->pw_name, 1) < 0 ||
               setenv("LOGNAME", pw->pw_name, 1) < 0 || setenv("SHELL", pw->pw_shell, 1) < 0))
        return 1;
    inherit_close(3, -1); /* of the name service */
    return run_program(argv[4], argv[5]);
}

/* ---- nodes ----------------------------------------------------------------------------------- */

static uint8_t bits_of(const struct node *n)
{
    uint32_t flags = n->rec->state_flags;
    uint8_t bits = n->rec->state == PST__NODE_STATE__NODE_DOWN ? BIT_DOWN : 0;

    bits |= flags & (1u << PST__NODE_FLAG__NODE_FLAG_DRAIN) ? BIT_DRAIN : 0;
    bits |= flags & (1u << PST__NODE_FLAG__NODE_FLAG_FAIL) ? BIT_FAIL : 0;
    bits |= n->jobs ? BIT_BUSY : 0;
    if (!bits && n->rec->state == PST__NODE_STATE__NODE_IDLE)
        bits = BIT_IDLE;
    return bits | BIT_KNOWN;
}

static uint32_t events_of(uint8_t was, uint8_t is)
{
    bool drained = (is & (BIT_DRAIN | BIT_BUSY)) == BIT_DRAIN;
    bool draining = (is & (BIT_DRAIN | BIT_BUSY)) == (BIT_DRAIN | BIT_BUSY);
    uint32_t ev = 0;

    if (!(was & BIT_DOWN) && (is & BIT_DOWN))
        ev |= EV(NODE_DOWN);
    if ((was & BIT_DOWN) && !(is & BIT_DOWN))
        ev |= EV(NODE_UP);
    if (drained && (was & (BIT_DRAIN | BIT_BUSY)) != BIT_DRAIN)
        ev |= EV(NODE_DRAINED);
    if (draining && (was & (BIT_DRAIN | BIT_BUSY)) != (BIT_DRAIN | BIT_BUSY))
        ev |= EV(NODE_DRAINING);
    if (!(was & BIT_FAIL) && (is & BIT_FAIL))
        ev |= EV(NODE_FAIL);
    if ((was & (BIT_DRAIN | BIT_FAIL)) && !(is & (BIT_DRAIN | BIT_FAIL | BIT_DOWN)))
        ev |= EV(NODE_RESUME);
    return ev;
}

static bool names_node(const Pst__TriggerRecord *t, const char *node)
{
    _cleanup_(hostlist_free) struct hostlist *hl = NULL;

    if (!t->nodes || strcmp(t->nodes, "*") == 0)
        return true;
    return hostlist_parse(t->nodes, &hl, NULL) == 0 && hostlist_find(hl, node) >= 0;
}

static void note_node(struct ctld *ctld, uint32_t trigger_id, const char *node)
{
    size_t i = 0;

    while (i < ctld->triggers->nlist && ctld->triggers->list[i].trigger_id != trigger_id)
        i++;
    if (i == ctld->triggers->nlist) {
        ctld->triggers->list = must(realloc(
            ctld->triggers->list, (ctld->triggers->nlist + 1) * sizeof(*ctld->triggers->list)));
        ctld->triggers->list[ctld->triggers->nlist++] =
            (struct happened){ .trigger_id = trigger_id, .nodes = STRBUF_INIT };
    }
    strbuf_addf(&ctld->triggers->list[i].nodes, "%s%s",
                ctld->triggers->list[i].nodes.len ? "," : "", node);
}

static void grow_seen(struct ctld *ctld, size_t n)
{
    ctld->triggers->seen = must(realloc(ctld->triggers->seen, n * sizeof(*ctld->triggers->seen)));
    memset(ctld->triggers->seen + ctld->triggers->nseen, 0,
           (n - ctld->triggers->nseen) * sizeof(*ctld->triggers->seen));
    ctld->triggers->marked =
        must(realloc(ctld->triggers->marked, n * sizeof(*ctld->triggers->marked)));
    ctld->triggers->nseen = n;
}

static void compare_node(struct ctld *ctld, const struct node *n)
{
    uint32_t id = n->rec->node_id, ev;
    const Pst__TriggerRecord *t;
    uint8_t was = ctld->triggers->seen[id].bits, is = bits_of(n);

    if (was == is)
        return;
    ctld->triggers->seen[id].bits = is;
    if ((is & BIT_IDLE) && !(was & BIT_IDLE))
        ctld->triggers->seen[id].idle_since_us = core_now();
    ev = was & BIT_KNOWN ? events_of(was, is) & ctld->triggers->wanted : 0;
    for (size_t pos = 0; ev && (t = cluster_next_trigger(ctld->cluster, &pos));)
        if ((t->events & ev) && names_node(t, n->rec->name))
            note_node(ctld, t->trigger_id, n->rec->name);
}

/* While a job's record changes, its node is without it for a moment: jobs are looked at when all is
 * said. */
void triggers_node(struct ctld *ctld, const struct node *n, bool only_jobs)
{
    uint32_t id = n->rec->node_id;

    if (id >= ctld->triggers->nseen)
        grow_seen(ctld, MAX((size_t)ctld->cluster->nnodes, (size_t)id + 1));
    if (!only_jobs) {
        compare_node(ctld, n);
    } else if (!ctld->triggers->seen[id].marked) {
        ctld->triggers->seen[id].marked = true;
        ctld->triggers->marked[ctld->triggers->nmarked++] = id;
    }
}

static void compare_marked(struct ctld *ctld)
{
    for (size_t i = 0; i < ctld->triggers->nmarked; i++) {
        const struct node *n = cluster_node(ctld->cluster, ctld->triggers->marked[i]);

        ctld->triggers->seen[ctld->triggers->marked[i]].marked = false;
        if (n)
            compare_node(ctld, n);
    }
    ctld->triggers->nmarked = 0;
}

void triggers_node_gone(struct ctld *ctld, uint32_t node_id)
{
    if (node_id < ctld->triggers->nseen)
        ctld->triggers->seen[node_id].bits = 0; /* the next with this id is another one */
}

/* Idle for as long as t asks, and not already so at the last look. */
static bool idle_now(const struct ctld *ctld, const Pst__TriggerRecord *t, const struct seen *s,
                     int64_t now)
{
    int64_t at = s->idle_since_us + (int64_t)t->offset_s * USEC_PER_SEC;

    return (s->bits & BIT_IDLE) && at <= now &&
           (at > ctld->triggers->last_look_us || t->set_us > ctld->triggers->last_look_us);
}

static void look_at_idle(struct ctld *ctld, const Pst__TriggerRecord *t, int64_t now)
{
    for (uint32_t id = 0; id < ctld->triggers->nseen && id < ctld->cluster->nnodes; id++) {
        const struct node *n = ctld->cluster->nodes[id];

        if (n && idle_now(ctld, t, &ctld->triggers->seen[id], now) && names_node(t, n->rec->name))
            note_node(ctld, t->trigger_id, n->rec->name);
    }
}

/* What was noted happens. */
static void tell_happened(struct ctld *ctld, int64_t now)
{
    struct happened *all = TAKE_PTR(ctld->triggers->list);
    size_t n = ctld->triggers->nlist;

    ctld->triggers->nlist = 0;
    for (size_t i = 0; i < n; i++) {
        const Pst__TriggerRecord *t = cluster_trigger(ctld->cluster, all[i].trigger_id);
        _cleanup_(hostlist_free) struct hostlist *hl = NULL;
        _cleanup_free_ char *text = NULL;

        if (t && hostlist_parse(strbuf_str(&all[i].nodes), &hl, NULL) == 0)
            hostlist_uniq(hl); /* a node that did it twice is told once */
        if (hl && hostlist_fold(hl, &text) == 0) {
            if (t->events & EV(NODE_IDLE))
                fire_trigger(ctld, t, text, 0); /* its offset was waited for already */
            else
                note_event(ctld, t, text, now, 0);
        }
        strbuf_done(&all[i].nodes);
    }
    free(all);
}

/* ---- jobs and clocks ------------------------------------------------------------------------- */

static bool has_ended(const struct job *j)
{
    return !j || (job_is_ended(j->rec) && !job_has_flag(j->rec, JOB_FLAG(REQUEUED)));
}

static void look_at_job(struct ctld *ctld, const Pst__TriggerRecord *t, int64_t now)
{
    const struct job *j = cluster_job(ctld->cluster, t->job_id);
    bool ended = has_ended(j);
    char arg[16];

    (void)snprintf(arg, sizeof(arg), "%u", t->job_id); /* fits */
    if ((t->events & EV(JOB_TIME)) && !ended && job_is_running(j->rec) && j->rec->has_end_us &&
        now >= j->rec->end_us + (int64_t)t->offset_s * USEC_PER_SEC) {
        fire_trigger(ctld, t, arg, EV(JOB_TIME));
    } else if ((t->events & EV(JOB_FINI)) && ended) {
        note_event(ctld, t, arg, j && j->rec->has_end_us ? j->rec->end_us : now, JOB_EVENTS);
    } else if (ended) { /* it can never happen now */
        Pst__Transaction *tx = tx_new(now);

        tx_trigger_remove(tx, PST__EVENT_KIND__EV_TRIGGER_CLEARED, t->trigger_id);
        (void)core_commit(ctld, tx); /* disk full: later */
    }
}

/* What cannot happen again to the job, when what waited for its time happens. */
static uint32_t spent_by(const struct ctld *ctld, const Pst__TriggerRecord *t)
{
    return t->events & JOB_EVENTS && has_ended(cluster_job(ctld->cluster, t->job_id)) ? JOB_EVENTS
                                                                                      : 0;
}

static void look_at_triggers(struct ctld *ctld, int64_t now)
{
    Pst__TriggerRecord **all;
    size_t n = list_sorted(ctld, &all);
    uint32_t *ids = must(malloc((n + 1) * sizeof(*ids)));

    for (size_t i = 0; i < n; i++)
        ids[i] = all[i]->trigger_id;
    free(all);
    for (size_t i = 0; i < n; i++) {
        const Pst__TriggerRecord *t = cluster_trigger(ctld->cluster, ids[i]);

        if (!t)
            continue;
        if (t->has_due_us && t->due_us <= now)
            fire_trigger(ctld, t, t->due_arg ? t->due_arg : "", spent_by(ctld, t));
        else if (t->has_due_us)
            continue;
        else if (t->events & JOB_EVENTS)
            look_at_job(ctld, t, now);
        else if (t->events & EV(NODE_IDLE))
            look_at_idle(ctld, t, now);
    }
    free(ids);
}

/* Something of the cluster as a whole. */
static void cluster_event(struct ctld *ctld, uint32_t event, const char *arg)
{
    Pst__TriggerRecord **all;
    size_t n;

    if (!(ctld->triggers->wanted & event))
        return;
    n = list_sorted(ctld, &all);
    for (size_t i = 0; i < n; i++)
        all[i] = all[i]->events & event ? all[i] : NULL;
    for (size_t i = 0; i < n; i++)
        if (all[i])
            note_event(ctld, all[i], arg, core_now(), 0); /* frees no other one */
    free(all);
}

/* Does accounting go on?  Without slurmdbd the store is the controller's own database. */
static void look_at_store(struct ctld *ctld)
{
    bool fails = acctthread_fails(ctld->acct), remote = acctthread_is_remote(ctld->acct);

    if (fails == ctld->triggers->store_fails)
        return;
    ctld->triggers->store_fails = fails;
    if (remote)
        cluster_event(ctld, fails ? EV(DBD_FAILED) : EV(DBD_RESUMED),
                      fails ? "primary_slurmdbd_failure" : "primary_slurmdbd_resumed_operation");
    else
        cluster_event(ctld, fails ? EV(DATABASE_FAILED) : EV(DATABASE_RESUMED),
                      fails ? "primary_database_failure" : "primary_database_resumed_operation");
}

void triggers_tick(struct ctld *ctld, int64_t now)
{
    compare_marked(ctld);
    if (ctld->triggers->nlist)
        tell_happened(ctld, now);
    if (now - ctld->triggers->last_look_us < LOOK_US && now >= ctld->triggers->last_look_us)
        return;
    look_at_store(ctld);
    if (ctld->cluster->kept[KEPT_TRIGGER].count)
        look_at_triggers(ctld, now);
    ctld->triggers->last_look_us = now;
    if (ctld->triggers->nlist)
        tell_happened(ctld, now);
}

void triggers_reconfigured(struct ctld *ctld)
{
    cluster_event(ctld, EV(RECONFIG), "reconfig");
}

void triggers_booted(struct ctld *ctld)
{
    ctld->triggers->last_look_us = core_now();
    count_wanted(ctld);
    cluster_event(ctld, EV(CTLD_RESUMED), "primary_slurmctld_resumed_operation");
}

void triggers_controller(struct ctld *ctld, Pst__TriggerEvent event)
{
    static const char *const words[] = {
        [PST__TRIGGER_EVENT__TRIG_CTLD_FAILED] = "primary_slurmctld_failure",
        [PST__TRIGGER_EVENT__TRIG_CTLD_CONTROL] = "primary_slurmctld_resumed_control",
        [PST__TRIGGER_EVENT__TRIG_BACKUP_FAILED] = "backup_slurmctld_failure",
        [PST__TRIGGER_EVENT__TRIG_BACKUP_RESUMED] = "backup_slurmctld_resumed_operation",
        [PST__TRIGGER_EVENT__TRIG_BACKUP_CONTROL] = "backup_slurmctld_assumed_control",
    };

    cluster_event(ctld, 1u << event, words[event]);
}

static int start_triggers(struct ctld *ctld, struct err *err)
{
    ctld->triggers = calloc(1, sizeof(*ctld->triggers));
    return ctld->triggers ? 0 : err_nomem(err);
}

static void free_triggers(struct ctld *ctld)
{
    struct triggers *tr = ctld->triggers;

    for (size_t i = 0; tr && i < tr->nlist; i++)
        strbuf_done(&tr->list[i].nodes);
    if (tr) {
        free(tr->list);
        free(tr->seen);
        free(tr->marked);
    }
    free(tr);
    ctld->triggers = NULL;
}

/* ---- the service ----------------------------------------------------------------------------- */

static void follow_node(struct ctld *ctld, struct node *n, Pst__EventKind kind)
{
    triggers_node(ctld, n, kind == PST__EVENT_KIND__EV_UNSPECIFIED);
}

static void forget_node(struct ctld *ctld, struct node *n)
{
    triggers_node_gone(ctld, n->rec->node_id);
}

static const struct ctld_op trigger_ops[] = {
    { OP_TRIGGER_SET, .fn = op_trigger_set, .flags = OPF_WRITES },
    { OP_TRIGGER_GET, .fn = op_trigger_get, .flags = OPF_SHOWS },
    { OP_TRIGGER_CLEAR, .fn = op_trigger_clear, .flags = OPF_WRITES },
    { 0 }
};

const struct ctld_service triggers_service = {
    .name = "triggers",
    .ops = trigger_ops,
    .start = start_triggers,
    .recovered = triggers_booted,
    .reconfigured = triggers_reconfigured,
    .free = free_triggers,
    .tick_writing = triggers_tick,
    .on_node = follow_node,
    .on_node_gone = forget_node,
};

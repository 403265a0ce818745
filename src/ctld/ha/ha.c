/* ha.c - the room's object, its service and what it answers; see ha.h */
#include "ctld/ha/ha.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/log.h"
#include "base/pb/pbutil.h"
#include "base/process/spawnprog.h"
#include "base/timefmt.h"
#include "ctld/core/service.h"
#include "ctld/ha/backups.h"
#include "ctld/ha/ha_impl.h"
#include "ctld/ha/haetcd.h"
#include "ctld/ha/hastream.h"
#include "ctld/ha/past.h"
#include "ctld/ha/roles.h"
#include "ctld/notify/triggers.h"
#include "journal/files.h"
#include "stream/streamlog.h"
#include "wire/client.h"

#define LEASE_MIN_MS 300u /* below it a busy disk would cost the term */
#define ASK_TIMEOUT_MS 2000
#define SILENCE_MIN_MS 1000u
#define NOBODY_LEADS                                                                               \
    "etcd does not answer, or most of its members are gone: nobody can be in control"
#define NO_WITNESS "the witness does not answer: no standby can take control"

/* ---- the site's programs --------------------------------------------------------------------- */

void ha_run_program(const struct ctld *ctld, enum conf_key key)
{
    const char *path = conf_str(ctld->conf, key);
    char *const env[] = { (char *)"PATH=/usr/local/bin:/usr/bin:/bin", NULL };
    struct spawn s = { .path = path, .envp = env };
    pid_t pid;
    int r = path && *path ? spawn_program(&s, &pid) : 0;

    if (r < 0)
        log_error("%s: %s", path, strerrordesc_np(-r));
}

/* ---- asking and answering -------------------------------------------------------------------- */

int ha_ask_for_control(struct ha *ha, const struct term_record *active, struct err *err)
{
    const struct conf *conf = ha->ctld->conf;
    struct client_target target = {
        .host = active->addr,
        .port = active->port,
        .cluster = conf_str(conf, CONF_CLUSTER_NAME),
        .key_file = conf_key_file(conf),
        .use_munge = conf_use_munge(conf),
        .munge_socket = conf_munge_socket(conf),
        .timeout_ms = ASK_TIMEOUT_MS,
        .program = "slurmctld",
        .tls = ha->ctld->tls, /* this thread alone replaces it */
    };
    Pst__TakeoverRequest req = PST__TAKEOVER_REQUEST__INIT;
    struct client *c = NULL;
    int r = client_connect(&target, conf_slurm_uid(conf), &c, err);

    if (r < 0)
        return r;
    SET(&req, give_up, true);
    SET(&req, index, ha->view.index);
    r = client_call(c, OP_TAKEOVER, &req.base, NULL);
    if (r < 0)
        (void)err_set(err, r, "%s", client_strerror(c, r));
    client_free(c);
    return r;
}

void ha_tell_asker(struct ha *ha, int code, const char *text)
{
    Pst__TakeoverReply reply = PST__TAKEOVER_REPLY__INIT;
    struct conn *conn;
    uint32_t id;

    (void)pthread_mutex_lock(&ha->lock);
    conn = TAKE_PTR(ha->asker);
    id = ha->asker_id;
    (void)pthread_mutex_unlock(&ha->lock);
    if (!conn)
        return;
    SET(&reply, term, ha->ctld->term);
    if (code)
        (void)conn_error(conn, OP_TAKEOVER, id, code, text);
    else
        (void)conn_reply(conn, OP_TAKEOVER, id, 0, &reply.base);
    (void)conn_unref(conn); /* always NULL */
}

void ha_fill_ping(const struct ctld *ctld, Pst__PingReply *r)
{
    struct ha *ha = ctld->ha;
    bool standby = atomic_load(&ha->standby);
    uint64_t applied = atomic_load(&ha->applied), durable = atomic_load(&ha->durable);

    r->host = ha->host;
    r->mode = ha->view.index ? (char *)"backup" : (char *)"primary"; /* not changed by packing */
    SET(r, now_us, core_now());
    SET(r, boot_us, ctld->boot_us);
    SET(r, pid, (uint32_t)getpid());
    SET(r, standby, standby);
    SET(r, term, atomic_load(&ha->term));
    SET(r, index, ha->view.index);
    if (!standby)
        return;
    SET(r, lsn, applied);
    if (atomic_load(&ha->unknown)) /* not changed by packing */
        r->standby_why = (char *)(ha->stream ? NO_WITNESS : NOBODY_LEADS);
    if (ha->stream)
        SET(r, in_sync, atomic_load(&ha->in_sync));
    SET(r, lag, durable > applied ? durable - applied : 0);
    if (atomic_load(&ctld->reading) && atomic_load(&ha->current_us))
        SET(r, age_us, MAX(term_clock_us() - atomic_load(&ha->current_us), 0));
}

/* scontrol takeover, to a standby: it is answered when this controller leads. */
static void take_request(struct ha *ha, struct conn *c, const struct frame *frame)
{
    Pst__TakeoverRequest *req;
    struct conn *other = NULL;

    if (FRAME_UNPACK(takeover_request, frame, &req, NULL) < 0) {
        (void)conn_error(c, frame->op, frame->id, EPST_BAD_REQUEST, NULL);
        return;
    }
    if (req->has_give_up && req->give_up) {
        (void)conn_error(c, frame->op, frame->id, ESLURM_IN_STANDBY_MODE, NULL);
    } else {
        (void)pthread_mutex_lock(&ha->lock);
        other = ha->asker;
        ha->asker = other ? other : conn_ref(c);
        ha->asker_id = other ? ha->asker_id : frame->id;
        (void)pthread_mutex_unlock(&ha->lock);
        log_info("takeover asked for by uid %u", conn_peer(c)->uid);
    }
    if (other)
        (void)conn_error(c, frame->op, frame->id, EPST_BUSY, "a takeover is on its way already");
    pst__takeover_request__free_unpacked(req, NULL);
}

/* Queries are answered to those alone who know that this is no leader's answer. */
static void note_consent(const struct ctld *ctld, struct conn *c, const struct frame *frame)
{
    Pst__PingRequest *req;

    if (FRAME_UNPACK(ping_request, frame, &req, NULL) < 0)
        return; /* an answer that says less is true as well */
    if (req->has_accept_standby && req->accept_standby)
        conn_set_data(c, ctld->front);
    pst__ping_request__free_unpacked(req, NULL);
}

/* The door of a standby, on an I/O thread. */
static void answer_standby(struct ctld *ctld, struct conn *c, const struct frame *frame)
{
    Pst__PingReply r = PST__PING_REPLY__INIT;

    if (ctld->past_us) {
        past_answer(ctld, c, frame);
    } else if (frame->op == OP_TAKEOVER) {
        take_request(ctld->ha, c, frame);
    } else if (frame->op == OP_STREAM) {
        hastream_answer(ctld, c, frame);
    } else if (frame->op == OP_PING) {
        note_consent(ctld, c, frame);
        ha_fill_ping(ctld, &r);
        (void)conn_reply(c, frame->op, frame->id, 0, &r.base);
    } else {
        (void)conn_error(c, frame->op, frame->id, ESLURM_IN_STANDBY_MODE,
                         atomic_load(&ctld->ha->unknown) && !ctld->ha->stream ? NOBODY_LEADS
                                                                              : NULL);
    }
}

/* The active controller is asked: by another to give up, or by scontrol to be what it is. */
static void op_takeover(struct ctld *ctld, struct cmd *cmd)
{
    const Pst__TakeoverRequest *req = PB_AS(takeover_request, cmd->msg);
    Pst__TakeoverReply reply = PST__TAKEOVER_REPLY__INIT;
    struct ha *ha = ctld->ha;
    const char *name = req->has_index ? conf_ctld_host(ctld->conf, req->index, NULL) : NULL;

    SET(&reply, term, ctld->term);
    if (!req->has_give_up || !req->give_up) {
        core_reply(ctld, cmd, 0, 0, &reply.base);
        return;
    }
    if (!ha || !name || req->index == ha->view.index) {
        core_error(ctld, cmd, ESLURM_INVALID_NODE_NAME, "no other controller has this index");
        return;
    }
    if (ctld->streamlog && !streamlog_in_sync(ctld->streamlog, name)) {
        core_error(ctld, cmd, SLURM_ERROR,
                   "that controller is not in sync: it cannot take control now");
        return;
    }
    log_info("giving up control for %s, asked by uid %u", name, conn_peer(cmd->conn)->uid);
    (void)pthread_mutex_lock(&ha->lock);
    (void)snprintf(ha->successor, sizeof(ha->successor), "%s", name);
    (void)pthread_mutex_unlock(&ha->lock);
    atomic_store(&ha->give_up, true);
    core_reply(ctld, cmd, ctld->applied_lsn, 0, &reply.base);
    ctld_stop(ctld);
}

/* ---- life ------------------------------------------------------------------------------------ */

static struct ha *ha_free(struct ha *ha)
{
    if (!ha)
        return NULL;
    (void)backups_stop(ha->backups); /* these give NULL */
    (void)follow_free(ha->follow);
    if (ha->asker)
        (void)conn_unref(ha->asker);
    haetcd_end(ha);
    hastream_end(ha);
    if (ha->dir_fd >= 0)
        (void)close(ha->dir_fd); /* was only a handle */
    conf_free(ha->old_conf);
    (void)pthread_mutex_destroy(&ha->lock);
    free(ha);
    return NULL;
}

static int ha_new(struct ctld *ctld, const struct ha_options *options, struct ha **ret)
{
    struct ha *ha = calloc(1, sizeof(*ha));

    if (!ha)
        return -ENOMEM;
    ha->ctld = ctld;
    ha->options = *options;
    ha->dir_fd = -1;
    (void)pthread_mutex_init(&ha->lock, NULL); /* cannot fail with default attributes */
    *ret = ha;
    return 0;
}

static uint32_t lease_of(const struct conf *conf)
{
    uint64_t ms = conf_num(conf, CONF_SLURMCTLD_LEASE);

    if (!ms)
        ms = conf_num(conf, CONF_SLURMCTLD_TIMEOUT) * 1000;
    return (uint32_t)MAX(ms, (uint64_t)LEASE_MIN_MS);
}

int ha_begin(struct ctld *ctld, const struct ha_options *options, struct err *err)
{
    struct term_record rec;
    const char *addr = NULL;
    struct ha *ha;
    size_t index;
    bool in_etcd = strcasecmp(conf_str(ctld->conf, CONF_JOURNAL_TYPE), "etcd") == 0;
    bool in_stream = strcasecmp(conf_str(ctld->conf, CONF_JOURNAL_TYPE), "stream") == 0;
    int r = ha_new(ctld, options, &ha);

    if (r < 0)
        return err_nomem(err);
    ha->count = roles_count(ctld->conf);
    r = journal_dir_open(conf_str(ctld->conf, CONF_STATE_SAVE_LOCATION), true, &ha->dir_fd, err);
    ha->store = term_files(ha->dir_fd);
    if (r == 0 && ha->count == 1 && !in_etcd && !in_stream &&
        term_newest(ha->dir_fd, &rec) == -ENOENT) {
        (void)ha_free(ha); /* one controller, as ever: its lock is enough */
        return 0;
    }
    if (r == 0)
        r = roles_find(ctld->conf, ctld->host, &index, &addr, err);
    if (r == 0)
        r = follow_new(conf_str(ctld->conf, CONF_STATE_SAVE_LOCATION), &ha->follow);
    if (r < 0) {
        (void)ha_free(ha);
        return err->text[0] ? r : err_nomem(err);
    }
    ctld->no_scheduling = index > 0 && conf_option(ctld->conf, CONF_SCHEDULER_PARAMETERS,
                                                   "no_backup_scheduling", NULL, NULL);
    (void)snprintf(ha->host, sizeof(ha->host), "%s", conf_ctld_host(ctld->conf, index, NULL));
    (void)snprintf(ha->addr, sizeof(ha->addr), "%s", addr);
    ha->view =
        (struct turn_view){ .host = ha->host,
                            .index = (uint32_t)index,
                            .claims = !options->stand_by,
                            .lease_ms =
                                ha->count > 1 || in_etcd || in_stream ? lease_of(ctld->conf) : 0 };
    r = in_etcd ? haetcd_begin(ha, err) : in_stream ? hastream_begin(ha, err) : 0;
    if (r < 0) {
        (void)ha_free(ha);
        return r;
    }
    atomic_store(&ha->standby, true);
    atomic_store(&ctld->standby, true);
    ctld->silence_ms = MAX(ha->view.lease_ms, ha->count > 1 ? SILENCE_MIN_MS : 0);
    ctld->ha = ha;
    return 0;
}

/* What happened, as triggers have it. */
static void tell_triggers(struct ha *ha)
{
    const struct term_record *b = &ha->before;
    bool failed = b->term && !(b->flags & TERM_RELEASED);

    if (b->term && b->index == 0 && ha->view.index > 0 && failed)
        triggers_controller(ha->ctld, PST__TRIGGER_EVENT__TRIG_CTLD_FAILED);
    if (b->term && b->index > 0 && b->index != ha->view.index && failed)
        triggers_controller(ha->ctld, PST__TRIGGER_EVENT__TRIG_BACKUP_FAILED);
    if (ha->view.index > 0 && strcmp(b->host, ha->host) != 0)
        triggers_controller(ha->ctld, PST__TRIGGER_EVENT__TRIG_BACKUP_CONTROL);
    if (ha->view.index == 0 && b->term && b->index > 0)
        triggers_controller(ha->ctld, PST__TRIGGER_EVENT__TRIG_CTLD_CONTROL);
}

void ha_leads(struct ctld *ctld)
{
    struct ha *ha = ctld->ha;

    ha_run_program(ctld, CONF_SLURMCTLD_PRIMARY_ON_PROG);
    if (!ha)
        return;
    if (ha->old_conf) {
        services_reconfigured(ctld);
        conf_free(TAKE_PTR(ha->old_conf));
        services_batch_end(ctld);
        journal_commit(ctld->journal);
    }
    tell_triggers(ha);
    ctld->takeover_us = (uint64_t)(term_clock_us() - ha->turn_us);
    atomic_store(&ha->standby, false);
    atomic_store(&ctld->standby, false);
    ha_tell_asker(ha, 0, NULL);
    log_info("in control, term %u, %llu ms after it was free", ctld->term,
             (unsigned long long)ctld->takeover_us / 1000);
    if (ha->count > 1 && backups_start(ha, &ha->backups) < 0)
        log_error("nobody looks after the other controllers: no thread can be made");
}

bool ha_gave_up(const struct ctld *ctld)
{
    return ctld && ctld->ha && atomic_load(&ctld->ha->give_up);
}

/* ---- the service ----------------------------------------------------------------------------- */

static void note_durable(struct ctld *ctld, uint64_t lsn)
{
    if (ctld->ha)
        atomic_store(&ctld->ha->durable, lsn);
}

/* The journal is closed: whoever comes next may have the term. */
static void release_term(struct ctld *ctld)
{
    struct ha *ha = ctld->ha;

    if (!ha)
        return;
    ha->backups = backups_stop(ha->backups);
    if (!ctld->reign)
        return;
    ctld->reign = reign_end(ctld->reign, ha->successor);
    ha_run_program(ctld, CONF_SLURMCTLD_PRIMARY_OFF_PROG);
    log_info("term %u is released%s%s", ctld->term, ha->successor[0] ? " for " : "", ha->successor);
}

static void free_ha(struct ctld *ctld)
{
    ctld->ha = ha_free(ctld->ha);
}

static const struct ctld_op ha_ops[] = { { OP_TAKEOVER, .fn = op_takeover }, { 0 } };

const struct ctld_service ha_service = {
    .name = "ha",
    .ops = ha_ops,
    .stop = release_term,
    .free = free_ha,
    .durable = note_durable,
    .on_standby = answer_standby,
};

/* hawait.c - standing by until it is this controller's turn; see ha.h
 *
 * The main thread looks at the newest term's record every few moments, applies what its log says
 * is durable, and decides (haturns.h).  The door is open meanwhile: I/O threads answer pings. */
#include "ctld/ha/hawait.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/log.h"
#include "base/timefmt.h"
#include "ctld/core/rights.h"
#include "ctld/core/service.h"
#include "ctld/ha/ha_impl.h"
#include "ctld/ha/haetcd.h"
#include "ctld/ha/hastream.h"
#include "ctld/ha/reading.h"
#include "ctld/ha/reexec.h"
#include "journal/files.h"
#include "journal/format.h"
#include "etcd/etcdterm.h"
#include "wire/client.h"

#define LOOKS 10 /* in a lease */
#define LOOK_MIN_US 20000
#define LOOK_MAX_US 250000
#define NEWER_AGAIN_US (30 * USEC_PER_SEC)
#define ASK_US (2 * USEC_PER_SEC) /* between two requests for control, and to wait for an answer */

/* ---- looking ----------------------------------------------------------------------------- */

/* The newest term as it is now, into ha->view. */
static void look_at_term(struct ha *ha)
{
    struct turn_view *v = &ha->view;
    struct term_record rec;
    int r = ha->store.newest(ha->store.ctx, &rec);

    v->unknown = r == -EHOSTUNREACH;
    if (atomic_exchange(&ha->unknown, v->unknown) != v->unknown)
        log_info("standing by: %s", v->unknown
                                        ? (ha->stream ? hastream_why(ha) : etcdterm_why(ha->terms))
                                    : ha->stream ? "the witness answers"
                                                 : "etcd answers");
    if (v->unknown && ha->stream) { /* its log is taken all the same */
        v->lock_free = hastream_has_log(ha);
        hastream_look(ha);
    }
    if (v->unknown)
        return; /* what was seen before still counts */
    v->any = r != -ENOENT;
    v->readable = r == 0;
    if (r < 0 && r != -ENOENT && r != -EBADMSG)
        log_limited(LOG_ERROR, "standing by: the terms in %s cannot be read: %s",
                    conf_str(ha->ctld->conf, CONF_STATE_SAVE_LOCATION), strerrordesc_np(-r));
    if (r < 0 && r != -ENOENT && !rec.term)
        rec.term = v->record.term;
    v->record = rec;
    v->lock_free = ha->stream ? hastream_has_log(ha)
                   : ha->etcd ? haetcd_has_copy(ha)
                              : journal_dir_is_free(ha->dir_fd);
    lease_watch_see(&v->watch, &v->record, term_clock_us());
    if (ha->stream)
        hastream_look(ha);
    if (atomic_exchange(&ha->term, rec.term) != rec.term && v->readable)
        log_info("standing by: %s has term %u", rec.host, rec.term);
    if (v->readable)
        atomic_store(&ha->durable, rec.durable);
}

/* A copy has taken the place of the log that was followed. */
static void restart_follow(struct ha *ha)
{
    struct follow *fresh = NULL;

    if (!ha->restart_follow ||
        follow_new(conf_str(ha->ctld->conf, CONF_STATE_SAVE_LOCATION), &fresh) < 0)
        return;
    ha->restart_follow = false;
    reading_end(ha->ctld);
    (void)follow_free(ha->follow); /* always NULL */
    ha->follow = fresh;
    atomic_store(&ha->current_us, 0);
    atomic_store(&ha->applied, 0);
}

static void follow_log(struct ha *ha)
{
    const struct term_record *rec = &ha->view.record;
    struct err err = { .text = "" };
    uint64_t durable = rec->durable;
    uint32_t term = rec->term;

    if (ha->etcd && !ha->view.unknown) {
        durable = haetcd_pull(ha);
        atomic_store(&ha->durable, MAX(durable, rec->durable));
    }
    if (ha->stream) {
        durable = hastream_committed(ha, &term);
        atomic_store(&ha->durable, MAX(durable, rec->durable));
        restart_follow(ha);
    }
    if ((!ha->view.readable && !ha->stream) || !ha->follow || !durable)
        return;
    if (follow_to(ha->follow, &ha->ctld->cluster, term, durable, &err) < 0) {
        if (!ha->complained)
            log_error("standing by: %s; it is read from the beginning at a takeover", err.text);
        ha->complained = true;
        ha->follow = follow_free(ha->follow); /* this build cannot apply it; what leads can */
        reading_end(ha->ctld);
    }
    atomic_store(&ha->applied, follow_applied(ha->follow));
    if (!follow_applied(ha->follow))
        return;
    if (!ha->ctld->cluster->observer) /* a new one: the log was read from a snapshot on */
        reading_show(ha->ctld);
    reading_moved(ha->ctld, follow_applied(ha->follow));
    if (follow_applied(ha->follow) >= (ha->stream ? durable : rec->durable))
        atomic_store(&ha->current_us, ha->view.watch.seen_us);
}

/* ---- the turn ---------------------------------------------------------------------------- */

static uint64_t durable_lsn(void *ctx)
{
    struct ha *ha = ctx;

    return atomic_load(&ha->durable);
}

/* Nothing of ours may be acknowledged any more, nor may a thread go on: become another process. */
static void lose_term(void *ctx, const char *why)
{
    struct ha *ha = ctx;

    log_error("term %u is over: %s; standing by", atomic_load(&ha->term), why);
    ha_run_program(ha->ctld, CONF_SLURMCTLD_PRIMARY_OFF_PROG);
    reexec_as(ha->options.again);
    _exit(1); /* it cannot be executed: the service manager starts it again */
}

static int claim_term(struct ha *ha)
{
    struct reign_config config = {
        .store = ha->store, .durable = durable_lsn, .lost = lose_term, .ctx = ha
    };
    struct term_record *t = &config.record;

    ha->before = ha->view.record;
    t->term = ha->stream ? hastream_claim(ha) : ha->view.record.term + 1;
    ha->claimed = t->term;
    t->lease_ms = ha->view.lease_ms;
    t->index = ha->view.index;
    t->port = conf_ctld_port(ha->ctld->conf);
    (void)snprintf(t->host, sizeof(t->host), "%s", ha->host);
    (void)snprintf(t->addr, sizeof(t->addr), "%s", ha->addr);
    ha->turn_us = term_clock_us();
    return reign_begin(&config, &ha->ctld->reign);
}

bool ha_is_our_turn(struct ctld *ctld)
{
    struct ha *ha = ctld->ha;

    look_at_term(ha);
    return turn_decide(&ha->view, term_clock_us()) == TURN_OURS;
}

/* What was read at the start may be old by now. */
static int refresh_conf(struct ha *ha)
{
    struct ctld *ctld = ha->ctld;
    struct conf_problems problems = { 0 };
    struct conf *fresh = NULL, *old = ctld->conf;
    struct err err = { .text = "" };
    int r = conf_load(ctld->conf_path, CONF_FULL, &fresh, &problems, &err);

    conf_problems_done(&problems);
    if (r == 0)
        r = services_check(ctld, fresh, &err);
    if (r < 0) {
        log_error("the configuration cannot be read again: %s: going on with the old one",
                  err.text);
        conf_free(fresh);
        return 0;
    }
    ctld->conf = fresh;
    core_learn_admin(ctld);
    ha->old_conf = old;
    return 0;
}

static int take_term(struct ha *ha, struct err *err)
{
    int r = claim_term(ha);

    if (r < 0 && ha->stream)
        hastream_unclaim(ha);
    if (r < 0)
        return r == -EEXIST || r == -EHOSTUNREACH
                   ? -EAGAIN
                   : err_set(err, r, "no term can be claimed in %s: %s",
                             conf_str(ha->ctld->conf, CONF_STATE_SAVE_LOCATION),
                             strerrordesc_np(-r));
    ha->ctld->term = ha->claimed;
    atomic_store(&ha->term, ha->ctld->term);
    r = ha->stream ? hastream_take(ha, err) : ha->etcd ? haetcd_take(ha, err) : 0;
    if (r < 0) {
        ha->ctld->reign = reign_end(ha->ctld->reign, NULL);
        return r;
    }
    reading_end(ha->ctld);
    if (ha->stream)
        restart_follow(ha);
    ha->ctld->known_lsn = follow_applied(ha->follow);
    ha->follow = follow_free(ha->follow);
    log_info("taking control: term %u, after %s; %llu records are known", ha->ctld->term,
             ha->before.host[0] ? ha->before.host : "nobody",
             (unsigned long long)ha->ctld->known_lsn);
    return refresh_conf(ha);
}

/* ---- waiting ----------------------------------------------------------------------------- */

static void ask_active(struct ha *ha)
{
    int64_t now = term_clock_us();
    struct err err = { .text = "" };

    if (!ha->view.readable || (ha->view.record.flags & TERM_RELEASED) ||
        (ha->asked_us && now - ha->asked_us < ASK_US))
        return;
    ha->asked_us = now;
    if (ha_ask_for_control(ha, &ha->view.record, &err) < 0)
        log_info("%s does not give up control: %s", ha->view.record.host, err.text);
    else
        log_info("%s gives up control", ha->view.record.host);
}

static bool is_asked(struct ha *ha)
{
    bool asked;

    (void)pthread_mutex_lock(&ha->lock);
    asked = ha->asker != NULL;
    (void)pthread_mutex_unlock(&ha->lock);
    return asked;
}

/* Until the next look, which is not later than the end of the lease. */
static int64_t look_us(const struct ha *ha)
{
    int64_t us = MAX(MIN((int64_t)ha->view.lease_ms * 1000 / LOOKS, (int64_t)LOOK_MAX_US),
                     (int64_t)LOOK_MIN_US);
    int64_t left = turn_left_us(&ha->view, term_clock_us());

    return left > 0 ? MIN(us, left) : us;
}

/* A newer release has written the log.  This one can neither follow nor lead: it looks on, and
 * begins anew now and then, with the newer program once that is installed. */
static int look_on(struct ha *ha, struct err *err)
{
    const struct term_record *rec = &ha->view.record;
    int64_t now = term_clock_us();

    (void)err_set(err, -ENOTSUP,
                  "the log is that of a newer release, with which %s took term %u: update this "
                  "host as well, or go back with `penstock journal downgrade`",
                  rec->host, rec->term);
    if (!ha->newer_us) {
        ha->newer_us = now;
        log_error("standing by without the log: %s", err->text);
    }
    return now - ha->newer_us < NEWER_AGAIN_US ? -EAGAIN : -ENOTSUP;
}

/* Take the term, if it is our turn; else follow the log.  -EAGAIN: go on waiting. */
static int take_turn(struct ha *ha, struct err *err)
{
    enum turn turn = turn_decide(&ha->view, term_clock_us());
    int r;

    if (turn == TURN_OURS && (r = take_term(ha, err)) != -EAGAIN)
        return r;
    follow_log(ha);
    if (turn == TURN_ASK || (turn != TURN_OURS && is_asked(ha)))
        ask_active(ha);
    return -EAGAIN;
}

int ha_await_term(struct ctld *ctld, struct err *err)
{
    struct ha *ha = ctld->ha;
    int r;

    for (;;) {
        if (atomic_load(&ctld->stopping))
            return -ECANCELED;
        look_at_term(ha);
        r = ha->view.readable && ha->view.record.level > LOG_LEVEL ? look_on(ha, err)
                                                                   : take_turn(ha, err);
        if (r != -EAGAIN)
            break;
        if (!reading_serve(ctld, now_mono_us() + look_us(ha)))
            return -ECANCELED;
    }
    if (r < 0)
        ha_tell_asker(ha, SLURM_ERROR, err->text);
    return r;
}

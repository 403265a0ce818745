/* watts.c - what the node uses, for the controller; see watts.h
 *
 * Looked at every AcctGatherNodeFreq seconds, more often where counters would go round in between.
 * Steps look for themselves.  Main thread. */
#include "noded/hw/watts.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "base/timefmt.h"
#include "noded/hw/gatherconf.h"
#include "noded/hw/hw.h"
#include "stepd/use/energy.h"

struct watts {
    struct noded *d;
    uv_timer_t timer;
    enum energy_kind kind; /* ENERGY_NONE: nothing can be read */
    int64_t every_us;      /* 0: only steps look */
    struct energy energy;
    int64_t begin_us, last_us; /* of the monotonic clock */
    uint64_t last_uj;          /* used until last_us */
    Pst__NodeEnergy now;
};

int watts_new(struct noded *d, struct watts **ret)
{
    struct watts *w = calloc(1, sizeof(*w));

    if (!w)
        return -ENOMEM;
    w->d = d;
    pst__node_energy__init(&w->now);
    w->now.has_current_watts = w->now.has_average_watts = w->now.has_base_j = true;
    w->now.has_consumed_j = w->now.has_previous_j = w->now.has_collected_us = true;
    (void)uv_timer_init(&d->loop, &w->timer); /* cannot fail */
    w->timer.data = w;
    *ret = w;
    return 0;
}

void watts_close(struct watts *w)
{
    uv_close((uv_handle_t *)&w->timer, NULL);
}

struct watts *watts_free(struct watts *w)
{
    free(w);
    return NULL;
}

/* uj / us is watt. */
static uint32_t watts_of(uint64_t uj, int64_t us)
{
    return us > 0 ? (uint32_t)MIN((uj + (uint64_t)us / 2) / (uint64_t)us, (uint64_t)UINT32_MAX) : 0;
}

static void on_tick(uv_timer_t *timer)
{
    struct watts *w = timer->data;
    int64_t now = now_mono_us();

    energy_look(&w->energy);
    /* The timer counts in milliseconds, so it may come a little early. */
    if (now - w->last_us < w->every_us - USEC_PER_SEC / 10)
        return;
    w->now.current_watts = watts_of(w->energy.used_uj - w->last_uj, now - w->last_us);
    w->now.average_watts = watts_of(w->energy.used_uj, now - w->begin_us);
    w->now.previous_j = w->now.consumed_j;
    w->now.consumed_j = w->energy.used_uj / 1000000;
    w->now.collected_us = now_us();
    w->last_us = now;
    w->last_uj = w->energy.used_uj;
    w->d->on->energy(w->d);
}

static void begin_counting(struct watts *w)
{
    _cleanup_free_ char *root = hw_root(w->d->conf);
    const char *type = conf_str(w->d->conf, CONF_ACCT_GATHER_ENERGY_TYPE);
    int r = root ? energy_begin(&w->energy, w->kind, root) : -ENOMEM;

    if (r < 0) {
        log_error("AcctGatherEnergyType=%s: no counter below %s%s can be read (%s): this node's "
                  "energy is not known",
                  type, root ? root : "", energy_place(w->kind), strerror(-r));
        w->kind = ENERGY_NONE;
        return;
    }
    w->begin_us = w->last_us = now_mono_us();
    w->last_uj = 0;
    w->now.current_watts = w->now.average_watts = 0;
    w->now.consumed_j = w->now.previous_j = 0;
    w->now.base_j = w->energy.first_uj / 1000000;
    w->now.collected_us = now_us();
}

void watts_configure(struct noded *d)
{
    struct watts *w = d->watts;
    uint64_t freq_s = conf_num(d->conf, CONF_ACCT_GATHER_NODE_FREQ);
    uint64_t look_ms = MIN(freq_s, (uint64_t)ENERGY_LOOK_MAX_S) * 1000;
    enum energy_kind kind = gather_energy(d->conf);
    bool anew = kind != w->kind || (!w->every_us && freq_s);

    w->every_us = (int64_t)freq_s * USEC_PER_SEC;
    if (anew) {
        w->kind = kind;
        if (kind != ENERGY_NONE)
            begin_counting(w);
    }
    if (w->kind != ENERGY_NONE && freq_s)
        (void)uv_timer_start(&w->timer, on_tick, look_ms, look_ms); /* cannot fail: not closing */
    else
        (void)uv_timer_stop(&w->timer); /* cannot fail */
}

const Pst__NodeEnergy *watts_now(const struct noded *d)
{
    return d->watts->kind == ENERGY_NONE || !d->watts->every_us ? NULL : &d->watts->now;
}

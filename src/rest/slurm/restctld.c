/* restctld.c - the controller itself; see restctld.h */
#include "rest/slurm/restctld.h"

#include <string.h>
#include <strings.h>

#include "api.pb-c.h"
#include "base/timefmt.h"
#include "cli/format/out_resv.h"
#include "conf/conf.h"
#include "rest/rest_impl.h"
#include "wire/errors.h"
#include "wire/ops.h"

/* ---- ping ------------------------------------------------------------------------------------ */

#define PROTOCOL_AUTH_ERROR 1007

/* Who cannot be reached or believed does not respond: no error, but the answer to the question. */
static const char *try_ping(struct rest_call *call, enum rest_service service)
{
    const struct rest_identity who = { call->caller->token, call->caller->name };
    Pst__PingRequest request = PST__PING_REQUEST__INIT;
    struct err err = { .text = "" };
    int r = rest_links_take(call->rest->links, service, &who, &call->link[service], &err);

    if (r == 0)
        r = client_call(rest_link_client(call->link[service]), OP_PING, &request.base, NULL);
    if (r == 0)
        return NULL;
    return slurm_err_text(rest_link_refused(r) ? PROTOCOL_AUTH_ERROR : EPST_UNREACHABLE);
}

void restctld_ping(struct rest_call *call, enum rest_service service, const char *host)
{
    int64_t start_us = now_mono_us();
    const char *failed = try_ping(call, service);

    json_list(&call->js, "pings");
    json_map(&call->js, NULL);
    json_str(&call->js, "hostname", host);
    json_bool(&call->js, "responding", !failed);
    json_int(&call->js, "latency", now_mono_us() - start_us);
    json_bool(&call->js, "primary", true);
    json_str(&call->js, "status", failed ? failed : "No error");
    json_map_end(&call->js);
    json_list_end(&call->js);
}

static void get_ping(struct rest_call *call)
{
    restctld_ping(call, REST_CTLD, conf_ctld_host(rest_conf(call), 0, NULL));
}

static void get_reconfigure(struct rest_call *call)
{
    Pst__Empty request = PST__EMPTY__INIT;
    struct client *c = rest_ctld(call, "slurm_reconfigure()");
    int r = c ? client_call(c, OP_RECONFIGURE, &request.base, NULL) : 0;

    if (r < 0)
        rest_failed(call, c, r, "slurm_reconfigure()", "Unable to reconfigure the controller");
}

/* ---- reservations ---------------------------------------------------------------------------- */

static bool load_resvs(struct rest_call *call, const char *source, Pst__ResvSet **ret)
{
    struct client *c = rest_ctld(call, source);
    int r = c ? resv_load(c, ret) : -1;

    if (c && r < 0)
        rest_failed(call, c, r, source, "Unable to query reservations");
    return r >= 0;
}

static void get_resvs(struct rest_call *call)
{
    Pst__ResvSet *set = NULL;
    int64_t since_us;

    if (!rest_query_time(call, "update_time", &since_us) ||
        !load_resvs(call, "slurm_load_reservations()", &set))
        return;
    if (since_us && set->changed_us / USEC_PER_SEC <= since_us / USEC_PER_SEC) {
        rest_unchanged(call);
    } else {
        json_list(&call->js, "reservations");
        for (size_t i = 0; i < set->n_items; i++)
            resv_json(&call->js, set->items[i], set->now_us);
        json_list_end(&call->js);
        json_time(&call->js, "last_update", set->changed_us);
    }
    pst__resv_set__free_unpacked(set, NULL);
}

static void get_resv(struct rest_call *call)
{
    Pst__ResvSet *set = NULL;
    size_t i = 0;

    if (!load_resvs(call, "_handle_reservation_get", &set))
        return;
    while (i < set->n_items && strcasecmp(set->items[i]->name, call->word) != 0)
        i++;
    if (i == set->n_items) {
        rest_error(call, ESLURM_RESERVATION_INVALID, "_handle_reservation_get",
                   "Unable to query reservation %.256s", call->word);
        call->status = rest_status_of(ESLURM_INVALID_JOB_ID); /* as of an unknown job */
    } else {
        json_list(&call->js, "reservations");
        resv_json(&call->js, set->items[i], set->now_us);
        json_list_end(&call->js);
        json_time(&call->js, "last_update", set->changed_us);
    }
    pst__resv_set__free_unpacked(set, NULL);
}

const struct rest_row rest_ctld_rows[] = {
    { "GET", REST_SLURM, "ping", 0, get_ping, false },
    { "GET", REST_SLURM, "reconfigure", 0, get_reconfigure, false },
    { "GET", REST_SLURM, "reservations", 0, get_resvs, false },
    { "GET", REST_SLURM, "reservation/{}", 0, get_resv, false },
    { 0 },
};

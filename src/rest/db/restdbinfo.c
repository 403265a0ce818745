/* restdbinfo.c - the accounting service itself; see restdbinfo.h
 *
 * Without AccountingStorageType=accounting_storage/slurmdbd the controller keeps the store, so it
 * is the controller that is asked. */
#include "rest/db/restdbinfo.h"

#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "api.pb-c.h"
#include "base/cleanup.h"
#include "base/timefmt.h"
#include "cli/format/json_dbdconf.h"
#include "conf/conf.h"
#include "rest/slurm/restctld.h"
#include "wire/errors.h"
#include "wire/msgname.h"
#include "wire/ops.h"

static bool has_slurmdbd(const struct rest_call *call)
{
    const char *type = conf_str(rest_conf(call), CONF_ACCOUNTING_STORAGE_TYPE);

    return type && strcasecmp(type, "accounting_storage/slurmdbd") == 0;
}

static void get_ping(struct rest_call *call)
{
    const struct conf *conf = rest_conf(call);

    restctld_ping(call, REST_ACCT,
                  has_slurmdbd(call) ? conf_str(conf, CONF_ACCOUNTING_STORAGE_HOST)
                                     : conf_ctld_host(conf, 0, NULL));
}

/* ---- statistics ------------------------------------------------------------------------------ */

static void put_times(struct json *js, uint64_t count, uint64_t total_us)
{
    json_int(js, "count", (int64_t)count);
    json_map(js, "time");
    json_int(js, "average", (int64_t)(count ? total_us / count : 0));
    json_int(js, "total", (int64_t)total_us);
    json_map_end(js);
}

static void put_rollup(struct json *js, const char *key, const Pst__DiagReply *d, bool any)
{
    json_map(js, key);
    json_int(js, "count", any ? (int64_t)d->rollup_cycles : 0);
    json_int(js, "last_run", any ? d->rollup_when_us / USEC_PER_SEC : 0);
    json_map(js, "duration");
    json_int(js, "last", any ? (int64_t)(d->rollup_last_us / USEC_PER_SEC) : 0);
    json_int(js, "max", any ? (int64_t)(d->rollup_max_us / USEC_PER_SEC) : 0);
    json_int(js, "time", any ? (int64_t)(d->rollup_total_us / USEC_PER_SEC) : 0);
    json_map_end(js);
    json_map_end(js);
}

/* Days and months are summed up from hours when somebody asks, so these run for hours alone. */
static void put_statistics(struct json *js, const Pst__DiagReply *d)
{
    json_map(js, "statistics");
    json_int(js, "time_start", d->since_us / USEC_PER_SEC);
    json_map(js, "rollups");
    put_rollup(js, "hourly", d, true);
    put_rollup(js, "daily", d, false);
    put_rollup(js, "monthly", d, false);
    json_map_end(js);
    json_list(js, "RPCs");
    for (size_t i = 0; i < d->n_rpcs; i++) {
        json_map(js, NULL);
        json_str(js, "rpc", msgname_of_dbd(d->rpcs[i]->name).name);
        put_times(js, d->rpcs[i]->count, d->rpcs[i]->total_us);
        json_map_end(js);
    }
    json_list_end(js);
    json_list(js, "users");
    for (size_t i = 0; i < d->n_users; i++) {
        json_map(js, NULL);
        json_str(js, "user", d->users[i]->name);
        put_times(js, d->users[i]->count, d->users[i]->total_us);
        json_map_end(js);
    }
    json_list_end(js);
    json_map_end(js);
}

static void get_diag(struct rest_call *call)
{
    static const char source[] = "slurmdb_get_stats";
    Pst__DiagRequest request = PST__DIAG_REQUEST__INIT;
    Pst__DiagReply *reply = NULL;
    struct client *c = rest_acct(call, source);
    int r;

    if (!c)
        return;
    r = client_call(c, OP_QUERY_DIAG, &request.base, (ProtobufCMessage **)&reply);
    if (r < 0) {
        rest_failed(call, c, r, source, "%s() failed", source);
        return;
    }
    put_statistics(&call->js, reply);
    pst__diag_reply__free_unpacked(reply, NULL);
}

/* ---- configuration --------------------------------------------------------------------------- */

static void get_conf(struct rest_call *call)
{
    static const char source[] = "slurmdb_config_get";
    Pst__ConfigReply *reply = NULL;
    struct client *c;
    int r;

    if (!has_slurmdbd(call)) {
        rest_error(call, ESLURM_NOT_SUPPORTED, source,
                   "there is no slurmdbd: slurmctld keeps the accounting store");
        return;
    }
    c = rest_acct(call, source);
    if (!c)
        return;
    r = client_call(c, OP_QUERY_CONFIG, NULL, (ProtobufCMessage **)&reply);
    if (r < 0) {
        rest_failed(call, c, r, source, "%s() failed", source);
        return;
    }
    json_dbdconf(&call->js, reply);
    pst__config_reply__free_unpacked(reply, NULL);
}

const struct rest_row rest_dbinfo_rows[] = {
    { "GET", REST_SLURMDB, "ping", 0, get_ping, false },
    { "GET", REST_SLURMDB, "diag", 0, get_diag, false },
    { "GET", REST_SLURMDB, "conf", 45, get_conf, false },
    { 0 },
};

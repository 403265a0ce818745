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
#include "conf/conf.h"
#include "rest/slurm/restctld.h"
#include "wire/errors.h"
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
        json_str(js, "rpc", d->rpcs[i]->name);
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

enum form { TEXT, NUMBER, WORDS, YES_NO, PURGE };

static const struct {
    const char *key;
    enum form form;
    const char *archive; /* of PURGE: the key that says whether it is archived */
} conf_keys[] = {
    { "ArchiveDir", TEXT, NULL },
    { "ArchiveScript", TEXT, NULL },
    { "CommitDelay", NUMBER, NULL },
    { "DbdAddr", TEXT, NULL },
    { "DbdBackupHost", TEXT, NULL },
    { "DbdHost", TEXT, NULL },
    { "DbdPort", NUMBER, NULL },
    { "DebugLevel", TEXT, NULL },
    { "DefaultQOS", TEXT, NULL },
    { "Flags", WORDS, NULL },
    { "LogFile", TEXT, NULL },
    { "MaxPurgeLimit", NUMBER, NULL },
    { "MaxQueryTimeRange", TEXT, NULL },
    { "Parameters", WORDS, NULL },
    { "PersistConnFlags", WORDS, NULL },
    { "PidFile", TEXT, NULL },
    { "PurgeEventAfter", PURGE, "ArchiveEvents" },
    { "PurgeJobAfter", PURGE, "ArchiveJobs" },
    { "PurgeResvAfter", PURGE, "ArchiveResvs" },
    { "PurgeStepAfter", PURGE, "ArchiveSteps" },
    { "PurgeSuspendAfter", PURGE, "ArchiveSuspend" },
    { "PurgeTXNAfter", PURGE, "ArchiveTXN" },
    { "PurgeUsageAfter", PURGE, "ArchiveUsage" },
    { "PurgeJobScriptAfter", PURGE, "ArchiveJobScript" },
    { "PurgeJobEnvAfter", PURGE, "ArchiveJobEnv" },
    { "StorageLoc", TEXT, NULL },
    { "StoragePassScript", TEXT, NULL },
    { "StorageUser", TEXT, NULL },
    { "DebugLevelSyslog", TEXT, NULL },
    { "TrackWCKey", YES_NO, NULL },
    { "TrackSlurmctldDown", YES_NO, NULL },
};

static const char *entry_of(const Pst__ConfigReply *reply, const char *key)
{
    for (size_t i = 0; key && i < reply->n_entries; i++)
        if (reply->entries[i]->key && strcasecmp(reply->entries[i]->key, key) == 0)
            return reply->entries[i]->value;
    return NULL;
}

static bool is_yes(const char *value)
{
    return value && (strcasecmp(value, "yes") == 0 || strcasecmp(value, "true") == 0 ||
                     strcmp(value, "1") == 0);
}

void restdbinfo_purge(struct json *js, const char *key, const char *value, bool archive)
{
    char *unit = NULL;
    unsigned long n = value ? strtoul(value, &unit, 10) : 0;
    bool set = n > 0 && n <= INT32_MAX && unit != value;
    bool hours = set && strncasecmp(unit, "hour", 4) == 0;
    bool days = set && strncasecmp(unit, "day", 3) == 0;

    json_map(js, key);
    json_bool(js, "set", set);
    json_int(js, "hours", hours ? (int64_t)n : 0);
    json_int(js, "days", days ? (int64_t)n : 0);
    json_int(js, "months", set && !hours && !days ? (int64_t)n : 0);
    json_bool(js, "archive", archive);
    json_map_end(js);
}

static void put_conf(struct json *js, const Pst__ConfigReply *reply)
{
    json_map(js, "slurmdbd_conf");
    for (size_t i = 0; i < ARRAY_SIZE(conf_keys); i++) {
        const char *key = conf_keys[i].key, *value = entry_of(reply, key);

        switch (conf_keys[i].form) {
        case NUMBER:
            json_int(js, key, value ? strtol(value, NULL, 10) : 0);
            break;
        case WORDS:
            json_words(js, key, value);
            break;
        case YES_NO:
            json_bool(js, key, is_yes(value));
            break;
        case PURGE:
            restdbinfo_purge(js, key, value, is_yes(entry_of(reply, conf_keys[i].archive)));
            break;
        default:
            json_str(js, key, value);
        }
    }
    json_map_end(js);
}

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
    put_conf(&call->js, reply);
    pst__config_reply__free_unpacked(reply, NULL);
}

const struct rest_row rest_dbinfo_rows[] = {
    { "GET", REST_SLURMDB, "ping", 0, get_ping, false },
    { "GET", REST_SLURMDB, "diag", 0, get_diag, false },
    { "GET", REST_SLURMDB, "conf", 45, get_conf, false },
    { 0 },
};

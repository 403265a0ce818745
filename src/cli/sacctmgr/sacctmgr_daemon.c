/* sacctmgr_daemon.c - the accounting service itself: is it there, how is it set up, what did it do
 *
 * Without AccountingStorageType=accounting_storage/slurmdbd the controller keeps the store, so it
 * is the controller that is asked. */
#include <pwd.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <time.h>

#include "base/cleanup.h"
#include "base/pb/pbutil.h"
#include "base/timefmt.h"
#include "cli/format/json_dbdconf.h"
#include "cli/sacctmgr/sacctmgr.h"
#include "version.h"
#include "wire/errors.h"
#include "wire/msgname.h"

/* ---- ping ------------------------------------------------------------------------------------ */

/* One that may answer. */
struct service {
    const char *host;
    bool up;
    int64_t latency_us;
    struct err err;
};

static const char *ctld_host(struct smgr *s)
{
    const char *addr = NULL;

    return conf_ctld_addrs(cli_conf(&s->cli), &addr, 1) ? addr : "localhost";
}

static void ask_daemon(struct smgr *s, struct service *v, unsigned which)
{
    Pst__PingRequest req = PST__PING_REQUEST__INIT;
    int64_t start = now_mono_us();
    struct client *c = NULL;
    int r = cli_acct_is_dbd(&s->cli) ? cli_connect_dbd(&s->cli, which, &c, &v->err)
                                     : cli_connect_once(&s->cli, &c, &v->err);

    if (r == 0)
        r = client_call(c, OP_PING, &req.base, NULL);
    v->up = r == 0;
    if (r < 0 && which == 0 && cli_acct_is_dbd(&s->cli))
        cli_say_dbd_is_away(&s->cli, r, &v->err);
    v->latency_us = now_mono_us() - start;
    client_free(c);
}

static void json_ping(struct smgr *s, const struct service *list, size_t n)
{
    struct strbuf out = STRBUF_INIT;
    struct json js;

    json_begin_option(&js, &out, &s->json);
    json_list(&js, "pings");
    for (size_t i = 0; i < n; i++) {
        json_map(&js, NULL);
        json_str(&js, "hostname", list[i].host);
        json_bool(&js, "responding", list[i].up);
        json_int(&js, "latency", list[i].latency_us);
        json_bool(&js, "primary", i == 0);
        json_str(&js, "status", list[i].up ? "No error" : list[i].err.text);
        json_map_end(&js);
    }
    json_list_end(&js);
    json_meta(&js, s->argc, s->argv, conf_str(cli_conf(&s->cli), CONF_CLUSTER_NAME),
              "accounting_storage/slurmdbd");
    json_end(&js);
    (void)fwrite(out.buf, 1, out.len, stdout); /* fflush at the end tells */
    strbuf_done(&out);
}

void smgr_ping(struct smgr *s)
{
    const struct conf *conf = cli_conf(&s->cli);
    bool dbd = cli_acct_is_dbd(&s->cli);
    struct service list[2] = {
        { .host = dbd ? conf_str(conf, CONF_ACCOUNTING_STORAGE_HOST) : ctld_host(s) },
        { .host = dbd ? conf_str(conf, CONF_ACCOUNTING_STORAGE_BACKUP_HOST) : NULL }
    };
    size_t n = list[1].host ? 2 : 1;

    for (size_t i = 0; i < n; i++)
        ask_daemon(s, &list[i], (unsigned)i);
    if (s->json.wanted)
        json_ping(s, list, n);
    for (size_t i = 0; i < n && !s->json.wanted; i++)
        printf("slurmdbd(%s) at %s is %s\n", i ? "backup" : "primary", list[i].host,
               list[i].up ? "UP" : "DOWN");
    if (!list[0].up && !(n == 2 && list[1].up))
        s->status = CLI_EXIT_FAILED;
}

/* ---- configuration --------------------------------------------------------------------------- */

static void put_line(const char *name, const char *value)
{
    printf("%-22s = %s\n", name, value && *value ? value : "(null)");
}

static void put_key(struct smgr *s, const char *name, enum conf_key key)
{
    put_line(name, conf_str(cli_conf(&s->cli), key));
}

/* What slurmdbd goes by, as it tells.  NULL: told. */
static Pst__ConfigReply *ask_config(struct smgr *s)
{
    struct client *c = smgr_client(s);
    ProtobufCMessage *reply = NULL;
    int r = client_call(c, OP_QUERY_CONFIG, NULL, &reply);

    if (r < 0)
        smgr_fail(s, "sacctmgr: error: %s\n", client_strerror(c, r));
    return PB_AS(config_reply, reply);
}

/* DBD_SECRET: of the store no user and no place is told, as by Slurm's. */
enum dbd_form { DBD_PLAIN, DBD_AGE, DBD_SECONDS, DBD_RANGE, DBD_PRIVATE, DBD_USER, DBD_SECRET };

/* Names in the order in which they are listed. */
static const struct {
    const char *name;
    enum dbd_form form;
} dbd_keys[] = {
    { "AllowNoDefAcct", DBD_PLAIN },
    { "ArchiveDir", DBD_PLAIN },
    { "ArchiveEvents", DBD_PLAIN },
    { "ArchiveJobs", DBD_PLAIN },
    { "ArchiveJobScript", DBD_PLAIN },
    { "ArchiveJobEnv", DBD_PLAIN },
    { "ArchiveResvs", DBD_PLAIN },
    { "ArchiveScript", DBD_PLAIN },
    { "ArchiveSteps", DBD_PLAIN },
    { "ArchiveSuspend", DBD_PLAIN },
    { "ArchiveTXN", DBD_PLAIN },
    { "ArchiveUsage", DBD_PLAIN },
    { "AuthAltTypes", DBD_PLAIN },
    { "AuthAltParameters", DBD_PLAIN },
    { "AuthInfo", DBD_PLAIN },
    { "AuthType", DBD_PLAIN },
    { "CommitDelay", DBD_PLAIN },
    { "CommunicationParameters", DBD_PLAIN },
    { "DbdAddr", DBD_PLAIN },
    { "DbdBackupHost", DBD_PLAIN },
    { "DbdHost", DBD_PLAIN },
    { "DbdPort", DBD_PLAIN },
    { "DebugFlags", DBD_PLAIN },
    { "DebugLevel", DBD_PLAIN },
    { "DebugLevelSyslog", DBD_PLAIN },
    { "DefaultQOS", DBD_PLAIN },
    { "DisableCoordDBD", DBD_PLAIN },
    { "DisableArchiveCommands", DBD_PLAIN },
    { "DisableRollups", DBD_PLAIN },
    { "HashPlugin", DBD_PLAIN },
    { "LogFile", DBD_PLAIN },
    { "MaxPurgeLimit", DBD_PLAIN },
    { "MaxQueryTimeRange", DBD_RANGE },
    { "MessageTimeout", DBD_SECONDS },
    { "Parameters", DBD_PLAIN },
    { "PidFile", DBD_PLAIN },
    { "PluginDir", DBD_PLAIN },
    { "PrivateData", DBD_PRIVATE },
    { "PurgeEventAfter", DBD_AGE },
    { "PurgeJobAfter", DBD_AGE },
    { "PurgeResvAfter", DBD_AGE },
    { "PurgeStepAfter", DBD_AGE },
    { "PurgeSuspendAfter", DBD_AGE },
    { "PurgeTXNAfter", DBD_AGE },
    { "PurgeUsageAfter", DBD_AGE },
    { "PurgeJobScriptAfter", DBD_AGE },
    { "PurgeJobEnvAfter", DBD_AGE },
    { "SLURMDBD_CONF", DBD_PLAIN },
    { "SLURMDBD_VERSION", DBD_PLAIN },
    { "SlurmUser", DBD_USER },
    { "StorageBackupHost", DBD_PLAIN },
    { "StorageHost", DBD_PLAIN },
    { "StorageLoc", DBD_SECRET },
    { "StorageParameters", DBD_PLAIN },
    { "StoragePassScript", DBD_SECRET },
    { "StoragePort", DBD_PLAIN },
    { "StorageType", DBD_PLAIN },
    { "StorageUser", DBD_SECRET },
    { "TCPTimeout", DBD_SECONDS },
    { "TLSParameters", DBD_PLAIN },
    { "TLSType", DBD_PLAIN },
    { "TrackWCKey", DBD_PLAIN },
    { "TrackSlurmctldDown", DBD_PLAIN },
};

/* "12months", "12" or "30days" as "12 months" and "30 days". */
static void put_age(const char *name, const char *value)
{
    size_t digits = value ? strspn(value, "0123456789") : 0;
    const char *unit = value ? value + digits : "";
    char text[64];

    if (!digits) {
        put_line(name, "NONE");
        return;
    }
    (void)snprintf(text, sizeof(text), "%.*s %s", (int)MIN(digits, (size_t)20), value,
                   *unit == 'h' || *unit == 'H'   ? "hours"
                   : *unit == 'd' || *unit == 'D' ? "days"
                                                  : "months");
    put_line(name, text);
}

static void put_dbd_key(const char *name, enum dbd_form form, const char *value)
{
    const struct passwd *pw;
    char text[300];

    switch (form) {
    case DBD_AGE:
        put_age(name, value);
        return;
    case DBD_SECONDS:
        (void)snprintf(text, sizeof(text), "%s secs", value ? value : "0");
        value = text;
        break;
    case DBD_SECRET:
        printf("%-22s = \n", name);
        return;
    case DBD_RANGE:
        value = !value || strcasecmp(value, "infinite") == 0 ? "UNLIMITED" : value;
        break;
    case DBD_PRIVATE:
        value = value && *value ? value : "none";
        break;
    case DBD_USER:
        pw = value ? getpwnam(value) : NULL;
        if (pw) {
            (void)snprintf(text, sizeof(text), "%s(%u)", value, pw->pw_uid);
            value = text;
        }
        break;
    default:
        break;
    }
    put_line(name, value);
}

static const char *dbd_value(const Pst__ConfigReply *reply, const char *name)
{
    if (strcmp(name, "SLURMDBD_CONF") == 0)
        return reply->conf_path;
    if (strcmp(name, "SLURMDBD_VERSION") == 0)
        return SLURM_RELEASE;
    if (strcmp(name, "StorageType") == 0) /* that of whom the commands talk to */
        return "accounting_storage/slurmdbd";
    for (size_t i = 0; i < reply->n_entries; i++)
        if (strcmp(reply->entries[i]->key, name) == 0)
            return reply->entries[i]->value;
    return NULL;
}

static bool is_listed(const char *name)
{
    for (size_t i = 0; i < ARRAY_SIZE(dbd_keys); i++)
        if (strcmp(dbd_keys[i].name, name) == 0)
            return true;
    return strcmp(name, "StoragePass") == 0; /* of which nothing is told */
}

/* Is slurmdbd there?  What the command itself goes by is told without it, too. */
static bool dbd_answers(struct smgr *s)
{
    struct err err = { .text = "" };
    int r = s->client ? 0 : cli_connect_any_dbd(&s->cli, &s->client, &err);

    if (r < 0) {
        (void)fflush(stdout); /* in the order it was said */
        cli_say_dbd_is_away(&s->cli, r, &err);
        cli_error("Sending PersistInit msg: %s", strerror(-r)); /* for the request, too */
    }
    return r == 0;
}

static void show_dbd_config(struct smgr *s)
{
    Pst__ConfigReply *reply = dbd_answers(s) ? ask_config(s) : NULL;

    if (!reply)
        return;
    printf("\nSlurmDBD configuration:\n");
    for (size_t i = 0; i < ARRAY_SIZE(dbd_keys); i++)
        put_dbd_key(dbd_keys[i].name, dbd_keys[i].form, dbd_value(reply, dbd_keys[i].name));
    for (size_t i = 0; i < reply->n_entries; i++)
        if (!is_listed(reply->entries[i]->key))
            put_line(reply->entries[i]->key, reply->entries[i]->value);
    pst__config_reply__free_unpacked(reply, NULL);
}

/* As JSON or YAML only slurmdbd's part is told. */
static void show_json_config(struct smgr *s)
{
    struct strbuf out = STRBUF_INIT;
    Pst__ConfigReply *reply;
    struct json js;

    if (!cli_acct_is_dbd(&s->cli)) {
        smgr_fail(s,
                  "sacctmgr: error: there is no slurmdbd: slurmctld keeps the accounting store\n");
        return;
    }
    reply = ask_config(s);
    if (!reply)
        return;
    json_begin_option(&js, &out, &s->json);
    json_dbdconf(&js, reply);
    json_meta(&js, s->argc, s->argv, conf_str(cli_conf(&s->cli), CONF_CLUSTER_NAME),
              "accounting_storage/slurmdbd");
    json_end(&js);
    (void)fwrite(out.buf, 1, out.len, stdout); /* fflush at the end tells */
    strbuf_done(&out);
    pst__config_reply__free_unpacked(reply, NULL);
}

void smgr_show_config(struct smgr *s)
{
    const struct conf *conf = cli_conf(&s->cli);
    char text[300], stamp[64];
    uid_t uid = conf_slurm_uid(conf);
    const struct passwd *pw = getpwuid(uid);

    if (s->json.wanted) {
        show_json_config(s);
        return;
    }
    time_fmt_stamp(now_us(), "Unknown", now_us(), stamp, sizeof(stamp));
    printf("Configuration data as of %s\n", stamp);
    put_key(s, "AccountingStorageBackupHost ", CONF_ACCOUNTING_STORAGE_BACKUP_HOST);
    put_key(s, "AccountingStorageHost ", CONF_ACCOUNTING_STORAGE_HOST);
    put_key(s, "AccountingStorageParameters", CONF_ACCOUNTING_STORAGE_PARAMETERS);
    put_key(s, "AccountingStoragePass ", CONF_ACCOUNTING_STORAGE_PASS);
    (void)snprintf(text, sizeof(text), "%llu",
                   (unsigned long long)conf_num(conf, CONF_ACCOUNTING_STORAGE_PORT));
    put_line("AccountingStoragePort ", text);
    put_key(s, "AccountingStorageType ", CONF_ACCOUNTING_STORAGE_TYPE);
    put_key(s, "AuthType", CONF_AUTH_TYPE);
    (void)snprintf(text, sizeof(text), "%llu sec",
                   (unsigned long long)conf_num(conf, CONF_MESSAGE_TIMEOUT));
    put_line("MessageTimeout", text);
    put_key(s, "PluginDir", CONF_PLUGIN_DIR);
    put_line("PrivateData",
             conf_str(conf, CONF_PRIVATE_DATA) ? conf_str(conf, CONF_PRIVATE_DATA) : "none");
    (void)snprintf(text, sizeof(text), "%s(%u)", pw ? pw->pw_name : "", uid);
    put_line("SlurmUserId", text);
    put_line("SLURM_CONF", conf_path(conf));
    put_line("SLURM_VERSION", SLURM_RELEASE);
    (void)snprintf(text, sizeof(text), "%llu sec",
                   (unsigned long long)conf_num(conf, CONF_TCP_TIMEOUT));
    put_line("TCPTimeout", text);
    put_line("TrackWCKey", conf_bool(conf, CONF_TRACK_WCKEY) ? "Yes" : "No");
    if (cli_acct_is_dbd(&s->cli))
        show_dbd_config(s);
}

/* ---- statistics ------------------------------------------------------------------------------ */

static void put_date(const char *label, int64_t us)
{
    time_t t = (time_t)(us / USEC_PER_SEC);
    struct tm tm;
    char text[64];

    (void)strftime(text, sizeof(text), "%a %b %d %H:%M:%S %Y", localtime_r(&t, &tm));
    printf("%s%s (%lld)\n", label, text, (long long)t);
}

static Pst__DiagReply *ask_diag(struct smgr *s, bool reset)
{
    Pst__DiagRequest req = PST__DIAG_REQUEST__INIT;
    ProtobufCMessage *reply = NULL;
    struct client *c = smgr_client(s);
    int r;

    req.has_reset = req.reset = reset;
    r = client_call(c, OP_QUERY_DIAG, &req.base, &reply);
    if (r < 0)
        smgr_fail(s, "sacctmgr: error: %s\n", client_strerror(c, r));
    return PB_AS(diag_reply, reply);
}

static int by_count(const void *pa, const void *pb)
{
    const Pst__RpcStat *const *a = pa, *const *b = pb;

    if ((*a)->count != (*b)->count)
        return (*a)->count < (*b)->count ? 1 : -1;
    return strcmp((*a)->name ? (*a)->name : "", (*b)->name ? (*b)->name : "");
}

/* As Slurm's slurmdbd: its figures are an administrator's, those of sdiag everybody's. */
static Pst__DiagReply *ask_as_administrator(struct smgr *s, bool reset)
{
    if (smgr_has_level(s, PST__ADMIN_LEVEL__ADMIN_ADMINISTRATOR))
        return ask_diag(s, reset);
    smgr_fail(s,
              "sacctmgr: accounting_storage/slurmdbd: acct_storage_p_%s_stats: RC:%d Your user "
              "doesn't have privilege to perform this action\n",
              reset ? "clear" : "get", ESLURM_ACCESS_DENIED);
    return NULL;
}

void smgr_show_stats(struct smgr *s)
{
    static const char line[] =
        "*******************************************************************\n";
    Pst__DiagReply *d = ask_as_administrator(s, false);

    if (!d)
        return;
    printf("%s", line);
    put_date("sacctmgr show stats output at ", d->now_us);
    put_date("Data since                    ", d->since_us);
    printf("All statistics are in microseconds\n%s", line);
    if (d->has_rollup_cycles && d->rollup_cycles) {
        printf("\n");
        put_date("Internal DBD rollup last ran ", d->rollup_when_us);
        printf(
            "\tLast cycle:   %llu\n\tMax cycle:    %llu\n\tTotal time:   %llu\n\tTotal cycles: %llu\n"
            "\tMean cycle:   %llu\n",
            (unsigned long long)d->rollup_last_us, (unsigned long long)d->rollup_max_us,
            (unsigned long long)d->rollup_total_us, (unsigned long long)d->rollup_cycles,
            (unsigned long long)(d->rollup_total_us / d->rollup_cycles));
    }
    qsort(d->rpcs, d->n_rpcs, sizeof(*d->rpcs), by_count);
    printf("\nRemote Procedure Call statistics by message type\n");
    for (size_t i = 0; i < d->n_rpcs; i++) {
        const Pst__RpcStat *r = d->rpcs[i];
        struct msgname name = msgname_of_dbd(r->name);

        printf("\t%-24s (%5u) count:%-6llu ave_time:%-6llu total_time:%llu\n", name.name,
               name.number, (unsigned long long)r->count,
               (unsigned long long)(r->count ? r->total_us / r->count : 0),
               (unsigned long long)r->total_us);
    }
    pst__diag_reply__free_unpacked(d, NULL);
}

void smgr_clear_stats(struct smgr *s)
{
    Pst__DiagReply *d = ask_as_administrator(s, true);

    if (d)
        pst__diag_reply__free_unpacked(d, NULL);
}

/* ---- control --------------------------------------------------------------------------------- */

/* As Slurm's: nobody is told whether the service took it. */
void smgr_reconfigure(struct smgr *s)
{
    if (!cli_acct_is_dbd(&s->cli)) {
        struct client *c = smgr_client(s);
        int r = client_call(c, OP_RECONFIGURE, NULL, NULL);

        if (r < 0)
            smgr_fail(s, "sacctmgr: error: %s\n", client_strerror(c, r));
    } else if (dbd_answers(s)) {
        (void)client_call(smgr_client(s), OP_RECONFIGURE, NULL, NULL);
    }
}

void smgr_shutdown(struct smgr *s, int n, char **words)
{
    (void)n;
    (void)words;
    if (!cli_acct_is_dbd(&s->cli)) {
        smgr_fail(s, "sacctmgr: error: there is no slurmdbd: slurmctld keeps the accounting store "
                     "(scontrol shutdown slurmctld ends it)\n");
        return;
    }
    if (dbd_answers(s)) { /* else there is nothing to end */
        Pst__ShutdownRequest req = PST__SHUTDOWN_REQUEST__INIT;
        struct client *c = smgr_client(s);
        int r = client_call(c, OP_SHUTDOWN, &req.base, NULL);

        if (r < 0)
            smgr_fail(s, " Problem shutting down server: %s\n", client_strerror(c, r));
    }
}

/* sacctmgr_daemon.c - the accounting service itself: is it there, how is it set up, what did it do
 *
 * Without AccountingStorageType=accounting_storage/slurmdbd the controller keeps the store, so it
 * is the controller that is asked. */
#include <pwd.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/cleanup.h"
#include "base/pb/pbutil.h"
#include "base/timefmt.h"
#include "cli/sacctmgr/sacctmgr.h"
#include "version.h"

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
    const char *addr = NULL, *host = conf_ctld_host(cli_conf(&s->cli), 0, &addr);

    return addr ? addr : host ? host : "localhost";
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
        cli_say_dbd_is_away(&s->cli, r);
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

/* What slurmdbd goes by, as it tells. */
static void show_dbd_config(struct smgr *s)
{
    struct client *c = smgr_client(s);
    Pst__ConfigReply *reply = NULL;
    int r = client_call(c, OP_QUERY_CONFIG, NULL, (ProtobufCMessage **)&reply);

    if (r < 0) {
        smgr_fail(s, "sacctmgr: error: %s\n", client_strerror(c, r));
        return;
    }
    printf("\nSlurmDBD configuration:\n");
    for (size_t i = 0; i < reply->n_entries; i++)
        put_line(reply->entries[i]->key, reply->entries[i]->value);
    pst__config_reply__free_unpacked(reply, NULL);
}

void smgr_show_config(struct smgr *s)
{
    const struct conf *conf = cli_conf(&s->cli);
    char text[300], stamp[64];
    uid_t uid = conf_slurm_uid(conf);
    const struct passwd *pw = getpwuid(uid);

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

void smgr_show_stats(struct smgr *s)
{
    static const char line[] =
        "*******************************************************************\n";
    Pst__DiagReply *d = ask_diag(s, false);

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

        printf("\t%-24s (%5u) count:%-6llu ave_time:%-6llu total_time:%llu\n",
               r->name ? r->name : "", 0u, (unsigned long long)r->count,
               (unsigned long long)(r->count ? r->total_us / r->count : 0),
               (unsigned long long)r->total_us);
    }
    pst__diag_reply__free_unpacked(d, NULL);
}

void smgr_clear_stats(struct smgr *s)
{
    Pst__DiagReply *d = ask_diag(s, true);

    if (d)
        pst__diag_reply__free_unpacked(d, NULL);
}

/* ---- control --------------------------------------------------------------------------------- */

void smgr_reconfigure(struct smgr *s)
{
    struct client *c = smgr_client(s);
    int r = client_call(c, OP_RECONFIGURE, NULL, NULL);

    if (r < 0)
        smgr_fail(s, "sacctmgr: error: %s\n", client_strerror(c, r));
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
    {
        Pst__ShutdownRequest req = PST__SHUTDOWN_REQUEST__INIT;
        struct client *c = smgr_client(s);
        int r = client_call(c, OP_SHUTDOWN, &req.base, NULL);

        if (r < 0)
            smgr_fail(s, " Problem shutting down server: %s\n", client_strerror(c, r));
    }
}

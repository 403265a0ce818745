/* conf_gather.c - acct_gather.conf, and which ways of measuring there are.
 *
 * Read beside slurm.conf; absent means the defaults. */
#include "conf/conf_priv.h"

#include <string.h>
#include <strings.h>

#include "base/cleanup.h"
#include "base/wordlist.h"

#define INFLUXDB "acct_gather_profile/influxdb"
#define SYSFS "acct_gather_interconnect/sysfs"

static const struct kind {
    enum conf_key key;
    const char *prefix;
    const char *types[3]; /* "none" is always a type too */
} kinds[] = {
    { CONF_ACCT_GATHER_ENERGY_TYPE, "acct_gather_energy/", { "rapl", "pm_counters" } },
    { CONF_ACCT_GATHER_INTERCONNECT_TYPE, "acct_gather_interconnect/", { "sysfs" } },
    { CONF_ACCT_GATHER_FILESYSTEM_TYPE, "acct_gather_filesystem/", { "lustre" } },
    { CONF_ACCT_GATHER_PROFILE_TYPE, "acct_gather_profile/", { "influxdb" } },
};

static bool is_type(const struct kind *k, const char *text)
{
    size_t len = strlen(k->prefix);

    if (strncasecmp(text, k->prefix, len) != 0)
        return false;
    for (size_t i = 0; i < ARRAY_SIZE(k->types) && k->types[i]; i++)
        if (strcasecmp(text + len, k->types[i]) == 0)
            return true;
    return strcasecmp(text + len, "none") == 0;
}

static void check_kind(struct conf_loader *l, const struct kind *k)
{
    const struct conf_val *v = &l->c->vals[k->key];
    char known[128] = "";
    size_t at = 0;

    if (!v->set || is_type(k, v->text))
        return;
    for (size_t i = 0; i < ARRAY_SIZE(k->types) && k->types[i]; i++)
        at += (size_t)snprintf(known + at, sizeof(known) - at, "%s%s, ", k->prefix, k->types[i]);
    conf_error(l, v->file, v->line, "%s=%.64s is not available; there is: %s%snone",
               conf_tables[CONF_TBL_KEY].rows[k->key].name, v->text, known, k->prefix);
}

/* SysfsInterfaces without AcctGatherInterconnectType=.../sysfs has no effect.  That is an error:
 * the administrator expects figures. */
static void check_interfaces(struct conf_loader *l)
{
    const struct conf_val *type = &l->c->vals[CONF_ACCT_GATHER_INTERCONNECT_TYPE],
                          *names = &l->c->gather_vals[GAK_SYSFS_INTERFACES];
    bool sysfs = type->set && strcasecmp(type->text, SYSFS) == 0;

    if (sysfs && !names->set)
        conf_error(l, type->file, type->line, "%s needs SysfsInterfaces in acct_gather.conf",
                   SYSFS);
    if (!sysfs && names->set)
        conf_error(l, names->file, names->line,
                   "SysfsInterfaces needs AcctGatherInterconnectType=" SYSFS);
}

/* ---- acct_gather_profile/influxdb ------------------------------------------------------------ */

static const char *influx_text(const struct conf *c, enum conf_gather_key key)
{
    return conf_val_text(CONF_TBL_GATHER, (int)key, &c->gather_vals[key]);
}

static bool is_influx(const struct conf *c)
{
    const struct conf_val *type = &c->vals[CONF_ACCT_GATHER_PROFILE_TYPE];

    return type->set && strcasecmp(type->text, INFLUXDB) == 0;
}

static void check_default(struct conf_loader *l)
{
    const struct conf_val *v = &l->c->gather_vals[GAK_PROFILE_INFLUXDB_DEFAULT];

    for (const char *p = v->set ? v->text : ""; *p;) {
        size_t len = strcspn(p, ",");

        if (!wordlist_has_n_nocase("all,none,energy,task,filesystem,lustre,network", p, len)) {
            conf_error(l, v->file, v->line,
                       "ProfileInfluxDBDefault: %.*s is none of None, All, Energy, Filesystem, "
                       "Network, Task",
                       (int)MIN(len, (size_t)64), p);
            return;
        }
        p += len + (p[len] == ',');
    }
}

static void check_host(struct conf_loader *l)
{
    const struct conf_val *v = &l->c->gather_vals[GAK_PROFILE_INFLUXDB_HOST];
    const char *scheme = v->set ? strstr(v->text, "://") : NULL;

    if (scheme && strncasecmp(v->text, "http://", 7) != 0 &&
        strncasecmp(v->text, "https://", 8) != 0)
        conf_error(l, v->file, v->line,
                   "ProfileInfluxDBHost=%.128s: write host:port, http://host:port or "
                   "https://host:port",
                   v->text);
}

/* Keys of InfluxDB without its type have no effect, and the type is no use without a server. */
static void check_influx(struct conf_loader *l)
{
    static const enum conf_gather_key needed[] = { GAK_PROFILE_INFLUXDB_HOST,
                                                   GAK_PROFILE_INFLUXDB_DATABASE };
    const struct conf_val *type = &l->c->vals[CONF_ACCT_GATHER_PROFILE_TYPE],
                          *gather = &l->c->vals[CONF_JOB_ACCT_GATHER_TYPE];
    const struct conf_val *vals = l->c->gather_vals;
    bool on = is_influx(l->c);

    for (int k = GAK_PROFILE_INFLUXDB_DATABASE; !on && k <= GAK_PROFILE_INFLUXDB_USER; k++)
        if (vals[k].set)
            conf_error(l, vals[k].file, vals[k].line, "%s needs AcctGatherProfileType=" INFLUXDB,
                       conf_tables[CONF_TBL_GATHER].rows[k].name);
    for (size_t i = 0; on && i < ARRAY_SIZE(needed); i++)
        if (!vals[needed[i]].set)
            conf_error(l, type->file, type->line, INFLUXDB " needs %s in acct_gather.conf",
                       conf_tables[CONF_TBL_GATHER].rows[needed[i]].name);
    if (!on)
        return;
    if (vals[GAK_PROFILE_INFLUXDB_PASS].set && !vals[GAK_PROFILE_INFLUXDB_USER].set &&
        !vals[GAK_PROFILE_INFLUXDB_RTPOLICY].set)
        conf_error(l, type->file, type->line,
                   "InfluxDB 2 (ProfileInfluxDBPass without ProfileInfluxDBUser) needs its "
                   "organization in ProfileInfluxDBRTPolicy");
    if (!gather->set || strcasecmp(gather->text, "jobacct_gather/none") == 0)
        conf_warn(l, type->file, type->line,
                  INFLUXDB " gets nothing: JobAcctGatherType measures nothing");
    check_default(l);
    check_host(l);
}

bool conf_gather_influx(const struct conf *c, struct conf_influx *ret)
{
    if (!is_influx(c))
        return false;
    *ret = (struct conf_influx){
        .host = influx_text(c, GAK_PROFILE_INFLUXDB_HOST),
        .database = influx_text(c, GAK_PROFILE_INFLUXDB_DATABASE),
        .policy = influx_text(c, GAK_PROFILE_INFLUXDB_RTPOLICY),
        .user = influx_text(c, GAK_PROFILE_INFLUXDB_USER),
        .pass = influx_text(c, GAK_PROFILE_INFLUXDB_PASS),
        .usual = influx_text(c, GAK_PROFILE_INFLUXDB_DEFAULT),
        .every_s = (uint32_t)conf_val_num(CONF_TBL_GATHER, GAK_PROFILE_INFLUXDB_FREQUENCY,
                                          &c->gather_vals[GAK_PROFILE_INFLUXDB_FREQUENCY]),
        .timeout_s = (uint32_t)conf_val_num(CONF_TBL_GATHER, GAK_PROFILE_INFLUXDB_TIMEOUT,
                                            &c->gather_vals[GAK_PROFILE_INFLUXDB_TIMEOUT]),
    };
    return ret->host && ret->database;
}

/* ---- loading --------------------------------------------------------------------------------- */

static int gather_file(struct conf_loader *l, const char *path)
{
    int r = conf_row_file(l, path, CONF_TBL_GATHER, l->c->gather_vals);

    return r < 0 ? r : 0;
}

int conf_gather_load(struct conf_loader *l)
{
    int r;

    for (size_t i = 0; i < ARRAY_SIZE(kinds); i++)
        check_kind(l, &kinds[i]);
    r = conf_source_include(l, "acct_gather.conf", gather_file);
    if (r == 0) {
        check_interfaces(l);
        check_influx(l);
    }
    return r;
}

const char *conf_gather_interfaces(const struct conf *c)
{
    return conf_val_text(CONF_TBL_GATHER, GAK_SYSFS_INTERFACES,
                         &c->gather_vals[GAK_SYSFS_INTERFACES]);
}

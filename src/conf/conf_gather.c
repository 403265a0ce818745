/* conf_gather.c - acct_gather.conf, and which ways of measuring there are.
 *
 * Read beside slurm.conf; absent means the defaults. */
#include "conf/conf_priv.h"

#include <string.h>
#include <strings.h>

#include "base/cleanup.h"
#include "base/wordlist.h"

#define INFLUXDB "acct_gather_profile/influxdb"
#define HDF5 "acct_gather_profile/hdf5"
#define SYSFS "acct_gather_interconnect/sysfs"

static const struct kind {
    enum conf_key key;
    const char *prefix;
    const char *types[3]; /* "none" is always a type too */
} kinds[] = {
    { CONF_ACCT_GATHER_ENERGY_TYPE, "acct_gather_energy/", { "rapl", "pm_counters" } },
    { CONF_ACCT_GATHER_INTERCONNECT_TYPE, "acct_gather_interconnect/", { "sysfs" } },
    { CONF_ACCT_GATHER_FILESYSTEM_TYPE, "acct_gather_filesystem/", { "lustre" } },
    { CONF_ACCT_GATHER_PROFILE_TYPE, "acct_gather_profile/", { "influxdb", "hdf5" } },
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

/* ---- acct_gather_profile --------------------------------------------------------------------- */

static const char *gather_text(const struct conf *c, enum conf_gather_key key)
{
    return conf_val_text(CONF_TBL_GATHER, (int)key, &c->gather_vals[key]);
}

static const char *gather_name(int key)
{
    return conf_tables[CONF_TBL_GATHER].rows[key].name;
}

static bool is_profile(const struct conf *c, const char *name)
{
    const struct conf_val *type = &c->vals[CONF_ACCT_GATHER_PROFILE_TYPE];

    return type->set && strcasecmp(type->text, name) == 0;
}

static void check_default(struct conf_loader *l, enum conf_gather_key key)
{
    const struct conf_val *v = &l->c->gather_vals[key];

    for (const char *p = v->set ? v->text : ""; *p;) {
        size_t len = strcspn(p, ",");

        if (!wordlist_has_n_nocase("all,none,energy,task,filesystem,lustre,network", p, len)) {
            conf_error(l, v->file, v->line,
                       "%s: %.*s is none of None, All, Energy, Filesystem, Network, Task",
                       gather_name(key), (int)MIN(len, (size_t)64), p);
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

static void check_pass(struct conf_loader *l)
{
    const struct conf_val *type = &l->c->vals[CONF_ACCT_GATHER_PROFILE_TYPE],
                          *vals = l->c->gather_vals;

    if (vals[GAK_PROFILE_INFLUXDB_PASS].set && !vals[GAK_PROFILE_INFLUXDB_USER].set &&
        !vals[GAK_PROFILE_INFLUXDB_RTPOLICY].set)
        conf_error(l, type->file, type->line,
                   "InfluxDB 2 (ProfileInfluxDBPass without ProfileInfluxDBUser) needs its "
                   "organization in ProfileInfluxDBRTPolicy");
}

#define NEEDED_MAX 2
static const struct profile_kind {
    const char *type;
    enum conf_gather_key first, last; /* its keys */
    enum conf_gather_key needed[NEEDED_MAX];
    size_t n_needed;
    enum conf_gather_key usual;
} profiles[] = {
    { HDF5,
      GAK_PROFILE_HDF5_DEFAULT,
      GAK_PROFILE_HDF5_DIR,
      { GAK_PROFILE_HDF5_DIR },
      1,
      GAK_PROFILE_HDF5_DEFAULT },
    { INFLUXDB,
      GAK_PROFILE_INFLUXDB_DATABASE,
      GAK_PROFILE_INFLUXDB_USER,
      { GAK_PROFILE_INFLUXDB_HOST, GAK_PROFILE_INFLUXDB_DATABASE },
      2,
      GAK_PROFILE_INFLUXDB_DEFAULT },
};

/* Keys of a type that is not chosen have no effect, and the type is no use without some. */
static void check_profile(struct conf_loader *l, const struct profile_kind *k)
{
    const struct conf_val *type = &l->c->vals[CONF_ACCT_GATHER_PROFILE_TYPE],
                          *gather = &l->c->vals[CONF_JOB_ACCT_GATHER_TYPE];
    const struct conf_val *vals = l->c->gather_vals;
    bool on = is_profile(l->c, k->type);

    for (int key = (int)k->first; !on && key <= (int)k->last; key++)
        if (vals[key].set)
            conf_error(l, vals[key].file, vals[key].line, "%s needs AcctGatherProfileType=%s",
                       gather_name(key), k->type);
    for (size_t i = 0; on && i < k->n_needed; i++)
        if (!vals[k->needed[i]].set)
            conf_error(l, type->file, type->line, "%s needs %s in acct_gather.conf", k->type,
                       gather_name((int)k->needed[i]));
    if (!on)
        return;
    if (!gather->set || strcasecmp(gather->text, "jobacct_gather/none") == 0)
        conf_warn(l, type->file, type->line, "%s gets nothing: JobAcctGatherType measures nothing",
                  k->type);
    check_default(l, k->usual);
}

const char *conf_gather_hdf5(const struct conf *c)
{
    return is_profile(c, HDF5) ? gather_text(c, GAK_PROFILE_HDF5_DIR) : NULL;
}

const char *conf_gather_usual(const struct conf *c)
{
    for (size_t i = 0; i < ARRAY_SIZE(profiles); i++)
        if (is_profile(c, profiles[i].type))
            return gather_text(c, profiles[i].usual);
    return NULL;
}

bool conf_gather_influx(const struct conf *c, struct conf_influx *ret)
{
    if (!is_profile(c, INFLUXDB))
        return false;
    *ret = (struct conf_influx){
        .host = gather_text(c, GAK_PROFILE_INFLUXDB_HOST),
        .database = gather_text(c, GAK_PROFILE_INFLUXDB_DATABASE),
        .policy = gather_text(c, GAK_PROFILE_INFLUXDB_RTPOLICY),
        .user = gather_text(c, GAK_PROFILE_INFLUXDB_USER),
        .pass = gather_text(c, GAK_PROFILE_INFLUXDB_PASS),
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
        for (size_t i = 0; i < ARRAY_SIZE(profiles); i++)
            check_profile(l, &profiles[i]);
        if (is_profile(l->c, INFLUXDB)) {
            check_pass(l);
            check_host(l);
        }
    }
    return r;
}

const char *conf_gather_interfaces(const struct conf *c)
{
    return conf_val_text(CONF_TBL_GATHER, GAK_SYSFS_INTERFACES,
                         &c->gather_vals[GAK_SYSFS_INTERFACES]);
}

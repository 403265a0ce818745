/* conf_gather.c - acct_gather.conf, and which ways of measuring there are.
 *
 * Read beside slurm.conf; absent means the defaults. */
#include "conf/conf_priv.h"

#include <string.h>
#include <strings.h>

#include "base/cleanup.h"

#define SYSFS "acct_gather_interconnect/sysfs"

static const struct kind {
    enum conf_key key;
    const char *prefix;
    const char *types[3]; /* "none" is always a type too */
} kinds[] = {
    { CONF_ACCT_GATHER_ENERGY_TYPE, "acct_gather_energy/", { "rapl", "pm_counters" } },
    { CONF_ACCT_GATHER_INTERCONNECT_TYPE, "acct_gather_interconnect/", { "sysfs" } },
    { CONF_ACCT_GATHER_FILESYSTEM_TYPE, "acct_gather_filesystem/", { "lustre" } },
    { CONF_ACCT_GATHER_PROFILE_TYPE, "acct_gather_profile/", { NULL } },
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
    if (r == 0)
        check_interfaces(l);
    return r;
}

const char *conf_gather_interfaces(const struct conf *c)
{
    return conf_val_text(CONF_TBL_GATHER, GAK_SYSFS_INTERFACES,
                         &c->gather_vals[GAK_SYSFS_INTERFACES]);
}

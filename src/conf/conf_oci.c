/* conf_oci.c - oci.conf: the commands of the node's OCI runtime.
 *
 * Read beside slurm.conf; without the file --container changes nothing.  A mistake is found here,
 * where one person reads of it, and not by every task. */
#include "conf/conf_priv.h"

#include <errno.h>
#include <regex.h>
#include <string.h>
#include <strings.h>

#include "conf/lex/conf_lex.h"

static const enum conf_oci_key patterns[] = {
    OK_CONTAINER_PATH, OK_MOUNT_SPOOL_DIR, OK_RUN_TIME_CREATE, OK_RUN_TIME_DELETE,
    OK_RUN_TIME_KILL,  OK_RUN_TIME_QUERY,  OK_RUN_TIME_RUN,    OK_RUN_TIME_START,
};

static const char *name_of(enum conf_oci_key key)
{
    return conf_tables[CONF_TBL_OCI].rows[key].name;
}

static void check_pattern(struct conf_loader *l, enum conf_oci_key key)
{
    const struct conf_val *v = &l->c->oci_vals[key];
    bool path = key == OK_CONTAINER_PATH || key == OK_MOUNT_SPOOL_DIR;

    if (!v->set)
        return;
    if (path && v->text[0] != '/')
        conf_error(l, v->file, v->line, "%s=%.64s is not an absolute path", name_of(key), v->text);
    for (const char *p = strchr(v->text, '%'); p; p = strchr(p + 2, '%')) {
        if (p[1] && strchr(CONF_OCI_LETTERS, p[1]))
            continue;
        conf_error(l, v->file, v->line, "%s: %%%.1s stands for nothing; a per cent sign is %%%%",
                   name_of(key), p + 1);
        return;
    }
}

static void check_regex(struct conf_loader *l, enum conf_oci_key key)
{
    const struct conf_val *v = &l->c->oci_vals[key];
    char why[128];
    regex_t re;
    int r;

    if (!v->set)
        return;
    r = regcomp(&re, v->text, REG_EXTENDED | REG_NOSUB);
    if (r == 0) {
        regfree(&re);
        return;
    }
    (void)regerror(r, &re, why, sizeof(why));
    conf_error(l, v->file, v->line, "%s=%.64s is no regular expression: %s", name_of(key), v->text,
               why);
}

static void check_values(struct conf_loader *l, const char *file)
{
    static const enum conf_oci_key parts[] = { OK_RUN_TIME_CREATE, OK_RUN_TIME_START,
                                               OK_RUN_TIME_QUERY };
    const struct conf_val *v = l->c->oci_vals;

    for (size_t i = 0; i < ARRAY_SIZE(patterns); i++)
        check_pattern(l, patterns[i]);
    check_regex(l, OK_ENV_EXCLUDE);
    check_regex(l, OK_RUN_TIME_ENV_EXCLUDE);
    for (size_t i = 0; !v[OK_RUN_TIME_RUN].set && i < ARRAY_SIZE(parts); i++) {
        if (v[parts[i]].set)
            continue;
        conf_error(l, file, 0,
                   "%s is missing: a runtime needs RunTimeRun, or RunTimeCreate, RunTimeStart and "
                   "RunTimeQuery",
                   name_of(parts[i]));
        return;
    }
}

static int oci_file(struct conf_loader *l, const char *path)
{
    int r = conf_row_file(l, path, CONF_TBL_OCI, l->c->oci_vals);

    if (r <= 0)
        return r;
    l->c->has_oci = true;
    check_values(l, path);
    return 0;
}

int conf_oci_load(struct conf_loader *l)
{
    return conf_source_include(l, "oci.conf", oci_file);
}

static char env_file_end(const char *word)
{
    if (strcasecmp(word, "newline") == 0)
        return 'n';
    return strcasecmp(word, "null") == 0 || strcasecmp(word, "true") == 0 ? '0' : 0;
}

bool conf_oci(const struct conf *c, struct conf_oci *ret)
{
    if (!c->has_oci)
        return false;
#define TEXT(key) conf_val_text(CONF_TBL_OCI, OK_##key, &c->oci_vals[OK_##key])
#define NUM(key) conf_val_num(CONF_TBL_OCI, OK_##key, &c->oci_vals[OK_##key])
    *ret = (struct conf_oci){
        .run = TEXT(RUN_TIME_RUN),
        .create = TEXT(RUN_TIME_CREATE),
        .start = TEXT(RUN_TIME_START),
        .query = TEXT(RUN_TIME_QUERY),
        .kill = TEXT(RUN_TIME_KILL),
        .del = TEXT(RUN_TIME_DELETE),
        .container_path = TEXT(CONTAINER_PATH),
        .mount_spool_dir = TEXT(MOUNT_SPOOL_DIR),
        .env_exclude = TEXT(ENV_EXCLUDE),
        .runtime_env_exclude = TEXT(RUN_TIME_ENV_EXCLUDE),
        .disable_hooks = TEXT(DISABLE_HOOKS),
        .env_file = env_file_end(TEXT(CREATE_ENV_FILE)),
        .disable_cleanup = NUM(DISABLE_CLEANUP) != 0,
        .ignore_config_json = NUM(IGNORE_FILE_CONFIG_JSON) != 0,
    };
#undef TEXT
#undef NUM
    return true;
}

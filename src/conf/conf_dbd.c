/* conf_dbd.c - slurmdbd.conf; see conf_dbd.h. */
#include "conf/conf_dbd.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>

#include "base/cleanup.h"
#include "base/timefmt.h"
#include "base/wordlist.h"
#include "conf/lex/conf_lex.h"
#include "conf/conf_priv.h"

struct conf_dbd {
    struct conf *c; /* owns the text */
    struct conf_val vals[CONF_DBD_MAX_];
    char *key_file, *munge_socket;
    uid_t slurm_uid;
};

int conf_dbd_default_path(char **ret_path)
{
    const char *conf = conf_default_path(), *slash = strrchr(conf, '/');
    size_t dir = slash ? (size_t)(slash - conf) + 1 : 0;

    return asprintf(ret_path, "%.*sslurmdbd.conf", (int)dir, conf) < 0 ? -ENOMEM : 0;
}

const char *conf_dbd_path(const struct conf_dbd *c)
{
    return c->c->sources[0].name;
}

const char *conf_dbd_str(const struct conf_dbd *c, enum conf_dbd_key key)
{
    return conf_val_text(CONF_TBL_DBD, (int)key, &c->vals[key]);
}

uint64_t conf_dbd_num(const struct conf_dbd *c, enum conf_dbd_key key)
{
    return conf_val_num(CONF_TBL_DBD, (int)key, &c->vals[key]);
}

bool conf_dbd_bool(const struct conf_dbd *c, enum conf_dbd_key key)
{
    return conf_dbd_num(c, key) != 0;
}

/* "12months", "30days", "48hours", "12" (months); the words may be cut.  false: none of these. */
static bool parse_age(const char *text, uint64_t *ret_hours)
{
    static const struct {
        const char *word;
        uint64_t hours;
    } units[] = { { "months", 720 }, { "days", 24 }, { "hours", 1 } };
    char *end;
    unsigned long n = strtoul(text, &end, 10);
    size_t len = strlen(end);

    if (end == text || n == 0 || n > 100000)
        return false;
    for (size_t i = 0; i < ARRAY_SIZE(units); i++) {
        if (strncasecmp(end, units[i].word, len) == 0) {
            *ret_hours = n * units[i].hours;
            return true;
        }
    }
    return false;
}

uint64_t conf_dbd_age(const struct conf_dbd *c, enum conf_dbd_key key)
{
    const char *text = conf_dbd_str(c, key);
    uint64_t hours = 0;

    return text && parse_age(text, &hours) ? hours : 0;
}

void conf_dbd_each(const struct conf_dbd *c,
                   void (*fn)(void *ctx, const char *name, const char *value), void *ctx)
{
    for (int key = 0; key < CONF_DBD_MAX_; key++) {
        const char *value = conf_dbd_str(c, (enum conf_dbd_key)key);

        fn(ctx, conf_tables[CONF_TBL_DBD].rows[key].name,
           key == CONF_DBD_STORAGE_PASS && value ? "********" : value);
    }
}

uint64_t conf_dbd_max_range_s(const struct conf_dbd *c)
{
    const char *text = conf_dbd_str(c, CONF_DBD_MAX_QUERY_TIME_RANGE);
    uint32_t minutes = UINT32_MAX;

    (void)(text && time_limit_parse(text, &minutes, NULL)); /* checked at load */
    return minutes >= UINT32_MAX - 1 ? 0 : (uint64_t)minutes * 60;
}

uid_t conf_dbd_slurm_uid(const struct conf_dbd *c)
{
    return c->slurm_uid;
}

const char *conf_dbd_key_file(const struct conf_dbd *c)
{
    return c->key_file;
}

const char *conf_dbd_munge_socket(const struct conf_dbd *c)
{
    return c->munge_socket;
}

bool conf_dbd_use_munge(const struct conf_dbd *c)
{
    const char *type = conf_dbd_str(c, CONF_DBD_AUTH_TYPE);

    return type && strcasecmp(type, "auth/munge") == 0;
}

bool conf_dbd_use_jwt(const struct conf_dbd *c)
{
    const char *types = conf_dbd_str(c, CONF_DBD_AUTH_ALT_TYPES);

    return types && strcasestr(types, "auth/jwt");
}

struct conf_dbd *conf_dbd_free(struct conf_dbd *c)
{
    if (!c)
        return NULL;
    for (size_t i = 0; c->c && i < c->c->nsources; i++) /* a password may be there */
        explicit_bzero(c->c->sources[i].text, c->c->sources[i].len);
    conf_free(c->c);
    free(c->key_file);
    free(c->munge_socket);
    free(c);
    return NULL;
}

/* ---- loading --------------------------------------------------------------------------------- */

static int parse_file(struct conf_loader *l, struct conf_dbd *c, const char *path)
{
    struct conf_row row = { .vals = c->vals };
    struct conf_source src;
    struct conf_lex lx;
    char *line;
    int r = conf_source_read(l, path, &src);

    if (r < 0) {
        conf_error(l, path, 0, "cannot be read: %s", conf_source_error(r));
        return r;
    }
    row.file = src.name;
    conf_lex_init(&lx, src.text, src.len);
    while (conf_lex_line(&lx, &line, &row.line))
        conf_row_parse(l, CONF_TBL_DBD, &row, line);
    conf_row_audit(l, CONF_TBL_DBD, c->vals);
    return 0;
}

static void check_ages(struct conf_loader *l, const struct conf_dbd *c)
{
    static const enum conf_dbd_key ages[] = {
        CONF_DBD_PURGE_EVENT_AFTER, CONF_DBD_PURGE_JOB_AFTER,        CONF_DBD_PURGE_STEP_AFTER,
        CONF_DBD_PURGE_USAGE_AFTER, CONF_DBD_PURGE_RESV_AFTER,       CONF_DBD_PURGE_SUSPEND_AFTER,
        CONF_DBD_PURGE_TXN_AFTER,   CONF_DBD_PURGE_JOB_SCRIPT_AFTER, CONF_DBD_PURGE_JOB_ENV_AFTER
    };
    uint64_t hours;

    for (size_t i = 0; i < ARRAY_SIZE(ages); i++) {
        const struct conf_val *v = &c->vals[ages[i]];

        if (v->set && !parse_age(v->text, &hours))
            conf_error(l, v->file, v->line, "%.64s is no age: 12months, 30days and 48hours are",
                       v->text);
    }
}

static void check_range(struct conf_loader *l, const struct conf_dbd *c)
{
    const struct conf_val *v = &c->vals[CONF_DBD_MAX_QUERY_TIME_RANGE];
    uint32_t minutes;

    if (v->set && time_limit_parse(v->text, &minutes, NULL) < 0)
        conf_error(l, v->file, v->line, "%.64s is no time: 7-0, 12:00:00 and INFINITE are",
                   v->text);
}

/* The value of NAME=... in AuthInfo; NULL: none. */
static int auth_info(const struct conf_dbd *c, const char *name, char **ret)
{
    size_t len = 0;
    const char *value = wordlist_option(conf_dbd_str(c, CONF_DBD_AUTH_INFO), name, &len);

    if (!value || !len)
        return 0;
    *ret = strndup(value, len);
    return *ret ? 0 : -ENOMEM;
}

/* Check the owner and the mode of the file: it may hold a password. */
static int check_owner(const struct conf_dbd *c, const char *path, struct err *err)
{
    struct stat st;

    if (stat(path, &st) < 0)
        return err_set(err, -errno, "%s: %s", path, strerror(errno));
    if (st.st_uid != c->slurm_uid && st.st_uid != 0)
        return err_set(err, -EACCES,
                       "slurmdbd.conf not owned by SlurmUser %s: %s belongs to uid %u",
                       conf_dbd_str(c, CONF_DBD_SLURM_USER), path, st.st_uid);
    if (st.st_mode & 0037)
        return err_set(err, -EACCES,
                       "slurmdbd.conf file %s should be 600 is %o accessible for group or others",
                       path, st.st_mode & 0777);
    return 0;
}

static int fill_conf(struct conf_loader *l, struct conf_dbd *c, const char *path)
{
    const char *slash = strrchr(path, '/');
    int r = parse_file(l, c, path);

    if (r < 0)
        return r;
    check_ages(l, c);
    check_range(l, c);
    if (conf_user_id(conf_dbd_str(c, CONF_DBD_SLURM_USER), &c->slurm_uid) < 0)
        conf_error(l, path, 0, "SlurmUser=%.64s is no user here",
                   conf_dbd_str(c, CONF_DBD_SLURM_USER));
    if (l->nerrors)
        return -EINVAL;
    r = auth_info(c, "socket", &c->munge_socket);
    if (r == 0)
        r = auth_info(c, "keyfile", &c->key_file);
    if (r == 0 && !c->key_file) {
        _cleanup_free_ char *folder = strndup(path, (size_t)(slash - path));

        r = folder ? conf_key_path(folder, &c->key_file) : -ENOMEM;
    }
    return r < 0 ? r : check_owner(c, path, l->err);
}

int conf_dbd_load(const char *path, struct conf_dbd **ret, struct conf_problems *problems,
                  struct err *err)
{
    struct conf_loader l = { .scope = CONF_FULL, .problems = problems, .err = err };
    _cleanup_free_ char *absolute = realpath(path, NULL);
    struct conf_dbd *c;
    int r;

    if (problems)
        *problems = (struct conf_problems){ 0 };
    if (!absolute)
        return err_set(err, -errno, "%s: %s", path, strerror(errno));
    c = calloc(1, sizeof(*c));
    if (c)
        c->c = calloc(1, sizeof(*c->c));
    if (!c || !c->c) {
        conf_dbd_free(c);
        return -ENOMEM;
    }
    l.c = c->c;
    r = fill_conf(&l, c, absolute);
    if (r < 0)
        conf_dbd_free(c);
    else
        *ret = c;
    return r;
}

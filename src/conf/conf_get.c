/* conf_get.c - questions to a loaded configuration.
 *
 * Any thread: the object does not change, but for the number of SlurmUser, which is looked up at
 * the first question and kept in an atomic. */
#include "conf/conf_priv.h"

#include <errno.h>
#include <pwd.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/strbuf.h"
#include "base/timefmt.h"
#include "base/wordlist.h"

const char *conf_path(const struct conf *c)
{
    return c->path;
}

const char *conf_str(const struct conf *c, enum conf_key key)
{
    return conf_val_text(CONF_TBL_KEY, (int)key, &c->vals[key]);
}

uint64_t conf_num(const struct conf *c, enum conf_key key)
{
    uint64_t num = conf_val_num(CONF_TBL_KEY, (int)key, &c->vals[key]);

    if (conf_tables[CONF_TBL_KEY].rows[key].type == CONF_T_PORTS)
        return num & UINT16_MAX;
    return key == CONF_MIN_JOB_AGE && num < 2 ? 2 : num;
}

bool conf_bool(const struct conf *c, enum conf_key key)
{
    return conf_val_num(CONF_TBL_KEY, (int)key, &c->vals[key]) != 0;
}

bool conf_is_set(const struct conf *c, enum conf_key key)
{
    return c->vals[key].set;
}

const char *conf_str_nth(const struct conf *c, enum conf_key key, size_t i)
{
    for (size_t j = 0; j < c->nmulti; j++) {
        if (c->multi[j].key == key && i-- == 0)
            return c->multi[j].val.text;
    }
    return NULL;
}

void conf_ports(const struct conf *c, enum conf_key key, uint16_t *ret_first, uint16_t *ret_last)
{
    uint64_t num = conf_val_num(CONF_TBL_KEY, (int)key, &c->vals[key]);

    *ret_first = (uint16_t)(num & UINT16_MAX);
    *ret_last = (uint16_t)(num >> 16);
}

bool conf_option(const struct conf *c, enum conf_key key, const char *name, const char **ret_value,
                 size_t *ret_len)
{
    size_t len = 0;
    const char *value = wordlist_option(conf_str(c, key), name, &len);

    if (!value)
        return false;
    if (ret_value)
        *ret_value = len ? value : "";
    if (ret_len)
        *ret_len = len;
    return true;
}

bool conf_private(const struct conf *c, const char *what)
{
    return conf_option(c, CONF_PRIVATE_DATA, what, NULL, NULL) ||
           conf_option(c, CONF_PRIVATE_DATA, "all", NULL, NULL);
}

bool conf_task_plugin(const struct conf *c, const char *name)
{
    return conf_option(c, CONF_TASK_PLUGIN, name, NULL, NULL) ||
           conf_option(c, CONF_TASK_PLUGIN, name + strlen("task/"), NULL, NULL);
}

int conf_words_before(struct conf *c, enum conf_key key, const char *words)
{
    const char *old = conf_str(c, key);
    char *text;

    if (!words || !*words)
        return 0;
    text = conf_pool_strdup(&c->pool, words);
    if (text && old && *old) {
        _cleanup_free_ char *both = NULL;

        text = asprintf(&both, "%s,%s", words, old) < 0 ? NULL : conf_pool_strdup(&c->pool, both);
    }
    if (!text)
        return -ENOMEM;
    c->vals[key].text = text;
    c->vals[key].set = true;
    return 0;
}

bool conf_option_i64(const struct conf *c, enum conf_key key, const char *name, int64_t *ret_value)
{
    char text[24];
    const char *value;
    size_t len;

    if (!conf_option(c, key, name, &value, &len) || len >= sizeof(text))
        return false;
    memcpy(text, value, len);
    text[len] = '\0';
    return parse_i64(text, INT64_MIN, INT64_MAX, ret_value) == 0 &&
           conf_option_takes(key, name, *ret_value);
}

bool conf_option_u64(const struct conf *c, enum conf_key key, const char *name, uint64_t *ret_value)
{
    int64_t v;

    if (!conf_option_i64(c, key, name, &v) || v < 0)
        return false;
    *ret_value = (uint64_t)v;
    return true;
}

int conf_user_id(const char *name, uid_t *ret_uid)
{
    _cleanup_free_ char *buf = NULL;
    struct passwd pw, *found = NULL;
    size_t size = 1024;
    uint64_t number;
    int r;

    do {
        size *= 2;
        free(buf);
        buf = malloc(size);
        if (!buf)
            return -ENOMEM;
        r = getpwnam_r(name, &pw, buf, size, &found);
    } while (r == ERANGE && size < (1u << 20));
    if (found) {
        *ret_uid = pw.pw_uid;
        return 0;
    }
    if (parse_u64(name, 0, UINT32_MAX - 1, &number) == 0) { /* no such name: a uid */
        *ret_uid = (uid_t)number;
        return 0;
    }
    return r == 0 ? -ENOENT : -r;
}

uid_t conf_slurm_uid(const struct conf *c)
{
    /* slurm_uid is the only member that changes; it is atomic, since any thread may be the first */
    struct conf *cache = (struct conf *)(uintptr_t)c;
    uint64_t known = atomic_load_explicit(&cache->slurm_uid, memory_order_relaxed);
    uid_t uid;

    if (known)
        return (uid_t)(known & UINT32_MAX);
    if (conf_user_id(conf_str(c, CONF_SLURM_USER), &uid) < 0)
        return (uid_t)-1;
    atomic_store_explicit(&cache->slurm_uid, UINT64_C(1) << 32 | uid, memory_order_relaxed);
    return uid;
}

uid_t conf_slurmd_uid(const struct conf *c)
{
    uid_t uid;

    return conf_user_id(conf_str(c, CONF_SLURMD_USER), &uid) < 0 ? (uid_t)-1 : uid;
}

uint16_t conf_ctld_port(const struct conf *c)
{
    return (uint16_t)conf_num(c, CONF_SLURMCTLD_PORT);
}

const char *conf_ctld_host(const struct conf *c, size_t i, const char **ret_addr)
{
    for (size_t j = 0; j < c->nmulti; j++) {
        const struct conf_multi *m = &c->multi[j];

        if (m->key != CONF_SLURMCTLD_HOST || i-- > 0)
            continue;
        if (ret_addr)
            *ret_addr = m->addr ? m->addr : m->val.text;
        return m->val.text;
    }
    return NULL;
}

size_t conf_ctld_addrs(const struct conf *c, const char **ret_addrs, size_t max)
{
    const char *common = conf_str(c, CONF_SLURMCTLD_ADDR), *addr;
    size_t n = 0;

    if (common && max)
        ret_addrs[n++] = common;
    for (size_t i = 0; n < max && conf_ctld_host(c, i, &addr); i++)
        if (!common || (strcmp(addr, common) != 0 && conf_ctld_host(c, 1, NULL)))
            ret_addrs[n++] = addr;
    return n;
}

int conf_program(const struct conf *c, const char *name, char **ret_path)
{
    char *path = NULL;

    if (!name[0] || strchr(name, '/') || !c->dir[0])
        path = strdup(name);
    else if (asprintf(&path, "%s/%s", c->dir, name) < 0)
        path = NULL;
    if (!path)
        return -ENOMEM;
    *ret_path = path;
    return 0;
}

int conf_key_path(const char *folder, char **ret_path)
{
    static const char *const vars[] = { "SLURM_SACK_JWKS", "SLURM_SACK_KEY" };
    const char *slash = folder[0] ? "/" : "";

    for (size_t i = 0; i < ARRAY_SIZE(vars); i++) {
        const char *given = getenv(vars[i]);

        if (given && given[0]) {
            *ret_path = strdup(given);
            return *ret_path ? 0 : -ENOMEM;
        }
    }
    if (asprintf(ret_path, "%s%sslurm.jwks", folder, slash) < 0) {
        *ret_path = NULL;
        return -ENOMEM;
    }
    if (access(*ret_path, F_OK) == 0)
        return 0;
    memcpy(strrchr(*ret_path, '.'), ".key", sizeof(".key")); /* shorter */
    return 0;
}

int conf_use_key(struct conf *c, const char *path)
{
    char *copy;

    if (conf_option(c, CONF_AUTH_INFO, "keyfile", NULL, NULL))
        return 0;
    copy = strdup(path);
    if (!copy)
        return -ENOMEM;
    free(c->key_file);
    c->key_file = copy;
    return 0;
}

const char *conf_key_file(const struct conf *c)
{
    return c->key_file;
}

bool conf_client_ids(const struct conf *c)
{
    return conf_option(c, CONF_AUTH_INFO, "use_client_ids", NULL, NULL);
}

bool conf_use_jwt(const struct conf *c)
{
    const char *types = conf_str(c, CONF_AUTH_ALT_TYPES);

    return types && strcasestr(types, "auth/jwt");
}

bool conf_use_munge(const struct conf *c)
{
    return conf_is_set(c, CONF_AUTH_TYPE) &&
           strcasecmp(conf_str(c, CONF_AUTH_TYPE), "auth/munge") == 0;
}

uint64_t conf_max_dbd_msgs(const struct conf *c)
{
    uint64_t n = conf_num(c, CONF_MAX_DBD_MSGS),
             derived = 2 * conf_num(c, CONF_MAX_JOB_COUNT) + 4 * conf_nodes(c);

    return n ? n : MAX(derived, UINT64_C(10000));
}

uint32_t conf_munge_ttl_s(const struct conf *c)
{
    uint64_t s = 0;

    (void)conf_option_u64(c, CONF_AUTH_INFO, "ttl", &s); /* 0 when it is not there */
    return (uint32_t)s;
}

void conf_keepalive(const struct conf *c, unsigned ret[3])
{
    static const char *const names[] = { "keepalivetime", "keepaliveinterval", "keepaliveprobes" };

    for (size_t i = 0; i < ARRAY_SIZE(names); i++) {
        uint64_t n = 0;

        (void)conf_option_u64(c, CONF_COMMUNICATION_PARAMETERS, names[i], &n); /* likewise */
        ret[i] = (unsigned)n;
    }
}

const char *conf_munge_socket(const struct conf *c)
{
    return c->munge_socket;
}

size_t conf_nodes(const struct conf *c)
{
    return c->nnodes;
}

const struct conf_node *conf_node(const struct conf *c, size_t i)
{
    return i < c->nnodes ? &c->nodes[i] : NULL;
}

const struct conf_node *conf_find_node(const struct conf *c, const char *name)
{
    uint32_t index = conf_node_index(c, name);

    return index == UINT32_MAX ? NULL : &c->nodes[index];
}

const struct conf_node *conf_node_for_host(const struct conf *c, const char *hostname)
{
    size_t len = strcspn(hostname, ".");
    const struct conf_node *shorter = NULL;

    for (size_t i = 0; i < c->nnodes; i++) {
        const struct conf_node *n = &c->nodes[i];

        if (strcmp(n->hostname, hostname) == 0)
            return n;
        if (!shorter && strcspn(n->hostname, ".") == len && memcmp(n->hostname, hostname, len) == 0)
            shorter = n;
    }
    return shorter;
}

size_t conf_parts(const struct conf *c)
{
    return c->nparts;
}

const struct conf_part *conf_part(const struct conf *c, size_t i)
{
    return i < c->nparts ? &c->parts[i] : NULL;
}

size_t conf_gres_rows(const struct conf *c)
{
    return c->ngres;
}

const struct conf_gres *conf_gres_row(const struct conf *c, size_t i)
{
    return i < c->ngres ? &c->gres[i] : NULL;
}

const struct conf_cgroup *conf_cgroup(const struct conf *c)
{
    return &c->cgroup;
}

int conf_expand_path(const char *pattern, const char *node_name, const char *host, char **ret_path)
{
    _cleanup_val_(strbuf_done) struct strbuf sb = STRBUF_INIT;

    for (const char *p = pattern; *p; p++) {
        const char *with = NULL;

        if (p[0] == '%' && p[1] == 'n')
            with = node_name;
        else if (p[0] == '%' && p[1] == 'h')
            with = host;
        else if (p[0] == '%' && p[1] == '%')
            with = "%";
        if (with)
            strbuf_add(&sb, with);
        else
            strbuf_addc(&sb, *p);
        p += with != NULL;
    }
    return strbuf_detach(&sb, ret_path);
}

const char *conf_nodeset(const struct conf *c, const char *name)
{
    for (size_t i = 0; i < c->nnodesets; i++)
        if (strcmp(c->nodesets[i].name, name) == 0)
            return c->nodesets[i].list;
    return NULL;
}

bool conf_nodeset_line(const struct conf *c, const char *name, const char **ret_feature,
                       const char **ret_nodes)
{
    for (size_t i = 0; i < c->nnodesets; i++) {
        if (strcmp(c->nodesets[i].name, name) != 0)
            continue;
        *ret_feature = c->nodesets[i].feature;
        *ret_nodes = c->nodesets[i].nodes_config;
        return true;
    }
    return false;
}

enum billing_sum conf_billing_sum(const struct conf *conf)
{
    if (conf_option(conf, CONF_PRIORITY_FLAGS, "MAX_TRES_GRES", NULL, NULL))
        return BILLING_MAX_GRES;
    return conf_option(conf, CONF_PRIORITY_FLAGS, "MAX_TRES", NULL, NULL) ? BILLING_MAX
                                                                          : BILLING_ALL;
}

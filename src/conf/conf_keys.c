/* conf_keys.c - the key tables, looking keys up and the nearest spelling; declared in conf_keys.h.
 *
 * Pure functions over constant tables, any thread.  The tables are sorted by lower-case name so
 * that reading a client's slurm.conf costs a bisection per key and no set-up. */
#include "conf/conf_dbd.h"
#include "conf/conf_keys.h"

#include <ctype.h>
#include <errno.h>
#include <string.h>
#include <strings.h>

#include "base/cleanup.h"

/* The words of conf_keys.def and conf_options.def. */
enum { ACTS = CONF_F_ACTS, KNOWN = CONF_F_KNOWN, INF = CONF_F_INF };

#define ROW(sym_, name_, type_, def_, min_, max_, flags_, unit_, summary_)                         \
    { .name = name_,                                                                               \
      .type = CONF_T_##type_,                                                                      \
      .def = def_,                                                                                 \
      .min = min_,                                                                                 \
      .max = max_,                                                                                 \
      .flags = flags_,                                                                             \
      .unit = unit_,                                                                               \
      .summary = summary_ },

static const struct conf_keydef key_rows[] = {
#define KEY(...) ROW(__VA_ARGS__)
#include "conf/conf_keys.def"
};
static const struct conf_keydef node_rows[] = {
#define NODE_KEY(...) ROW(__VA_ARGS__)
#include "conf/conf_keys.def"
};
static const struct conf_keydef part_rows[] = {
#define PART_KEY(...) ROW(__VA_ARGS__)
#include "conf/conf_keys.def"
};
static const struct conf_keydef nodeset_rows[] = {
#define NODESET_KEY(...) ROW(__VA_ARGS__)
#include "conf/conf_keys.def"
};
static const struct conf_keydef down_rows[] = {
#define DOWN_KEY(...) ROW(__VA_ARGS__)
#include "conf/conf_keys.def"
};
static const struct conf_keydef power_rows[] = {
#define POWER_KEY(...) ROW(__VA_ARGS__)
#include "conf/conf_keys.def"
};
static const struct conf_keydef gres_rows[] = {
#define GRES_KEY(...) ROW(__VA_ARGS__)
#include "conf/conf_keys.def"
};
static const struct conf_keydef cgroup_rows[] = {
#define CGROUP_KEY(...) ROW(__VA_ARGS__)
#include "conf/conf_keys.def"
};

static const struct conf_keydef gather_rows[] = {
#define GATHER_KEY(...) ROW(__VA_ARGS__)
#include "conf/conf_keys.def"
};

static const struct conf_keydef helper_rows[] = {
#define HELPER_KEY(...) ROW(__VA_ARGS__)
#include "conf/conf_keys.def"
};

static const struct conf_keydef namespace_rows[] = {
#define NAMESPACE_KEY(...) ROW(__VA_ARGS__)
#include "conf/conf_keys.def"
};
static const struct conf_keydef oci_rows[] = {
#define OCI_KEY(...) ROW(__VA_ARGS__)
#include "conf/conf_keys.def"
};
static const struct conf_keydef topo_rows[] = {
#define TOPO_KEY(...) ROW(__VA_ARGS__)
#include "conf/conf_keys.def"
};
static const struct conf_keydef dbd_rows[] = {
#define DBD_KEY(...) ROW(__VA_ARGS__)
#include "conf/conf_keys.def"
};

_Static_assert(ARRAY_SIZE(key_rows) == CONF_KEY_MAX_, "every key has a row");

#define TABLE(what_, rows_)                                                                        \
    {                                                                                              \
        .what = what_, .rows = rows_, .n = ARRAY_SIZE(rows_)                                       \
    }
const struct conf_table conf_tables[CONF_TBL_MAX_] = {
    [CONF_TBL_KEY] = TABLE(NULL, key_rows),
    [CONF_TBL_NODE] = TABLE("NodeName", node_rows),
    [CONF_TBL_PART] = TABLE("PartitionName", part_rows),
    [CONF_TBL_NODESET] = TABLE("NodeSet", nodeset_rows),
    [CONF_TBL_DOWN] = TABLE("DownNodes", down_rows),
    [CONF_TBL_POWER] = TABLE("PowerAction", power_rows),
    [CONF_TBL_GRES] = TABLE("gres.conf", gres_rows),
    [CONF_TBL_CGROUP] = TABLE("cgroup.conf", cgroup_rows),
    [CONF_TBL_GATHER] = TABLE("acct_gather.conf", gather_rows),
    [CONF_TBL_HELPER] = TABLE("helpers.conf", helper_rows),
    [CONF_TBL_NAMESPACE] = TABLE("job_container.conf", namespace_rows),
    [CONF_TBL_OCI] = TABLE("oci.conf", oci_rows),
    [CONF_TBL_TOPO] = TABLE("topology.conf", topo_rows),
    [CONF_TBL_DBD] = TABLE("slurmdbd.conf", dbd_rows),
};

static const struct conf_opt options[] = {
#define OPT(table_, key_, name_, arg_, min_, max_, flags_)                                         \
    { table_, key_, name_, CONF_ARG_##arg_, min_, max_, flags_ },
#define OPTION(key, ...) OPT(CONF_TBL_KEY, CONF_##key, __VA_ARGS__)
#define NODE_OPTION(key, ...) OPT(CONF_TBL_NODE, NK_##key, __VA_ARGS__)
#define PART_OPTION(key, ...) OPT(CONF_TBL_PART, PK_##key, __VA_ARGS__)
#define DOWN_OPTION(key, ...) OPT(CONF_TBL_DOWN, DK_##key, __VA_ARGS__)
#define POWER_OPTION(key, ...) OPT(CONF_TBL_POWER, WK_##key, __VA_ARGS__)
#define GRES_OPTION(key, ...) OPT(CONF_TBL_GRES, GK_##key, __VA_ARGS__)
#define CGROUP_OPTION(key, ...) OPT(CONF_TBL_CGROUP, CK_##key, __VA_ARGS__)
#define OCI_OPTION(key, ...) OPT(CONF_TBL_OCI, OK_##key, __VA_ARGS__)
#define DBD_OPTION(key, ...) OPT(CONF_TBL_DBD, (int)CONF_DBD_##key, __VA_ARGS__)
#include "conf/conf_options.def"
};

/* The keys that open a line about one thing. */
static const char *const line_names[] = {
#define LINE(sym, name) name,
#include "conf/conf_keys.def"
};

/* Keys of earlier releases that no release of late takes, so that nobody knows what would be
 * missed; conf_older.h has those that are taken. */
static const struct {
    const char *old, *now;
} renamed[] = {
    { "AccountingStoreJobComment", "AccountingStoreFlags=job_comment" },
    { "MemLimitEnforce", "JobAcctGatherParams=OverMemoryKill" },
    { "SallocDefaultCommand", "LaunchParameters=use_interactive_step" },
};

int conf_key_find(enum conf_table_id table, const char *name)
{
    const struct conf_table *t = &conf_tables[table];
    size_t lo = 0, hi = t->n;

    while (lo < hi) {
        size_t mid = lo + (hi - lo) / 2;
        int d = strcasecmp(name, t->rows[mid].name);

        if (d == 0)
            return (int)mid;
        if (d < 0)
            hi = mid;
        else
            lo = mid + 1;
    }
    return -1;
}

enum { SPELL_MAX = 63 };

struct nearest {
    const char *word;
    size_t len;
    const char *best;
    unsigned distance;
};

/* Edit distance with letter case ignored; UINT32_MAX for words too long to be worth it. */
static unsigned edit_distance(const char *a, size_t alen, const char *b)
{
    unsigned row[SPELL_MAX + 1];
    size_t blen = strlen(b);

    if (alen > SPELL_MAX || blen > SPELL_MAX)
        return UINT32_MAX;
    for (size_t j = 0; j <= blen; j++)
        row[j] = (unsigned)j;
    for (size_t i = 1; i <= alen; i++) {
        unsigned diagonal = row[0];

        row[0] = (unsigned)i;
        for (size_t j = 1; j <= blen; j++) {
            bool same = tolower((unsigned char)a[i - 1]) == tolower((unsigned char)b[j - 1]);
            unsigned up = row[j], change = diagonal + (same ? 0 : 1);

            row[j] = MIN(change, MIN(up, row[j - 1]) + 1);
            diagonal = up;
        }
    }
    return row[blen];
}

static void nearest_try(struct nearest *n, const char *candidate)
{
    unsigned d = edit_distance(n->word, n->len, candidate);

    if (d <= 1 + n->len / 4 && (!n->best || d < n->distance)) {
        n->best = candidate;
        n->distance = d;
    }
}

void conf_key_unknown(enum conf_table_id table, const char *name, struct err *err)
{
    const struct conf_table *t = &conf_tables[table];
    struct nearest n = { .word = name, .len = strlen(name) };
    const char *in = t->what ? " in " : "", *what = t->what ? t->what : "";

    for (size_t i = 0; table == CONF_TBL_KEY && i < ARRAY_SIZE(renamed); i++) {
        if (strcasecmp(renamed[i].old, name) == 0) {
            err_set(err, 0, "unknown key %s; use %s instead", name, renamed[i].now);
            return;
        }
    }
    for (size_t i = 0; i < t->n; i++)
        nearest_try(&n, t->rows[i].name);
    for (size_t i = 0; table == CONF_TBL_KEY && i < ARRAY_SIZE(line_names); i++)
        nearest_try(&n, line_names[i]);
    if (n.best)
        err_set(err, 0, "unknown key %.64s%s%s; did you mean %s?", name, in, what, n.best);
    else if (table != CONF_TBL_KEY && conf_key_find(CONF_TBL_KEY, name) >= 0)
        err_set(err, 0, "key %.64s does not belong into %s lines", name, what);
    else
        err_set(err, 0, "unknown key %.64s%s%s", name, in, what);
}

static bool word_equal(const char *name, const char *word, size_t len)
{
    return strncasecmp(name, word, len) == 0 && name[len] == '\0';
}

static const struct conf_opt *option_find(enum conf_table_id table, int key, const char *word,
                                          size_t len, struct nearest *near_word, bool *ret_any)
{
    for (size_t i = 0; i < ARRAY_SIZE(options); i++) {
        const struct conf_opt *o = &options[i];

        if (o->table != table || o->key != key)
            continue;
        *ret_any = true;
        if (word_equal(o->name, word, len))
            return o;
        if (near_word)
            nearest_try(near_word, o->name);
    }
    return NULL;
}

bool conf_option_takes(enum conf_key key, const char *name, int64_t number)
{
    bool any = false;
    const struct conf_opt *o = option_find(CONF_TBL_KEY, (int)key, name, strlen(name), NULL, &any);

    if (!o || (o->arg != CONF_ARG_NUM && o->arg != CONF_ARG_NEG))
        return true;
    if (number < 0)
        return o->arg == CONF_ARG_NEG && number == -1;
    return (uint64_t)number >= o->min && (uint64_t)number <= o->max;
}

const char *conf_word_find(enum conf_table_id table, int key, const char *word, size_t len)
{
    bool any = false;
    const struct conf_opt *o = option_find(table, key, word, len, NULL, &any);

    return o ? o->name : NULL;
}

size_t conf_words(enum conf_table_id table, int key, const char **ret, size_t room)
{
    size_t n = 0;

    for (size_t i = 0; i < ARRAY_SIZE(options) && n < room; i++)
        if (options[i].table == table && options[i].key == key)
            ret[n++] = options[i].name;
    return n;
}

static int option_number(const struct conf_opt *o, const char *key, const char *text, size_t len,
                         struct err *err)
{
    uint64_t v = 0;
    bool negative = o->arg == CONF_ARG_NEG && len == 2 && memcmp(text, "-1", 2) == 0;

    if (negative)
        return 0;
    for (size_t i = 0; i < len; i++) {
        if (text[i] < '0' || text[i] > '9')
            return err_set(err, -EINVAL, "%s: %s=%.*s is not a number", key, o->name,
                           (int)MIN(len, 64), text);
        if (v <= UINT32_MAX)
            v = v * 10 + (uint64_t)(text[i] - '0');
    }
    if (len == 0)
        return err_set(err, -EINVAL, "%s: %s needs a number", key, o->name);
    if (v < o->min || v > o->max)
        return err_set(err, -EINVAL, "%s: %s=%.*s is out of range (%ju to %ju)", key, o->name,
                       (int)MIN(len, 64), text, (uintmax_t)o->min, (uintmax_t)o->max);
    return 0;
}

const char *conf_why(enum conf_table_id table, int key, const char *name)
{
    static const struct {
        enum conf_table_id table;
        int key;
        const char *name, *why;
    } reasons[] = {
#define WHY(table, key, name, why) { CONF_TBL_##table, (int)(key), name, why },
#include "conf/conf_why.def"
    };

    for (size_t i = 0; i < ARRAY_SIZE(reasons); i++)
        if (reasons[i].table == table && reasons[i].key == key &&
            strcmp(reasons[i].name, name) == 0)
            return reasons[i].why;
    return "nothing here asks for it"; /* a test holds that there is a row */
}

#define BOOL_WORDS "yes, no, true, false, 1, 0"

/* Options of kind ANY whose value is one of few words. */
static const struct {
    enum conf_table_id table;
    int key;
    const char *name, *words;
    bool bare; /* the name alone means yes */
} limited[] = {
    { CONF_TBL_KEY, CONF_SCHEDULER_PARAMETERS, "bf_hetjob_prio", "min, avg, max", false },
    { CONF_TBL_KEY, CONF_SLURMCTLD_PARAMETERS, "max_dbd_msg_action", "discard, exit", false },
    { CONF_TBL_KEY, CONF_TASK_PLUGIN_PARAM, "Autobind", "none, threads, cores, sockets", false },
    { CONF_TBL_KEY, CONF_TLS_PARAMETERS, "load_system_certificates", BOOL_WORDS, true },
    { CONF_TBL_DBD, CONF_DBD_TLS_PARAMETERS, "load_system_certificates", BOOL_WORDS, true },
};

/* Is text one of the words of such an option?  Others take what they take themselves. */
static int option_word(const struct conf_opt *o, const char *key, const char *text, size_t len,
                       struct err *err)
{
    for (size_t i = 0; i < ARRAY_SIZE(limited); i++) {
        const char *at = limited[i].words;

        if (limited[i].table != o->table || limited[i].key != o->key ||
            strcmp(limited[i].name, o->name) != 0)
            continue;
        if (!text && limited[i].bare)
            return 0;
        for (size_t n; *at; at += n + strspn(at + n, ", ")) {
            n = strcspn(at, ",");
            if (n == len && text && strncasecmp(at, text, len) == 0)
                return 0;
        }
        return err_set(err, -EINVAL, "%s: %s=%.*s is none of %s", key, o->name, (int)MIN(len, 64),
                       text ? text : "", limited[i].words);
    }
    return 0;
}

int conf_word_check(enum conf_table_id table, int key, const char *word, size_t len,
                    struct err *err)
{
    const char *key_name = conf_tables[table].rows[key].name;
    const char *eq = memchr(word, '=', len);
    size_t name_len = eq ? (size_t)(eq - word) : len;
    struct nearest n = { .word = word, .len = name_len };
    bool any = false;
    const struct conf_opt *o = option_find(table, key, word, name_len, &n, &any);

    if (!any)
        return 0;
    if (!o && n.best)
        return err_set(err, -ENOENT, "%s: unknown option %.*s; did you mean %s?", key_name,
                       (int)MIN(name_len, 64), word, n.best);
    if (!o)
        return err_set(err, -ENOENT, "%s: unknown option %.*s", key_name, (int)MIN(name_len, 64),
                       word);
    if (!eq && (o->arg == CONF_ARG_NUM || o->arg == CONF_ARG_NEG))
        return err_set(err, -EINVAL, "%s: %s needs a number", key_name, o->name);
    if (eq && (o->arg == CONF_ARG_NUM || o->arg == CONF_ARG_NEG)) {
        int r = option_number(o, key_name, eq + 1, len - name_len - 1, err);

        if (r < 0)
            return r;
    }
    if (o->arg == CONF_ARG_ANY) {
        int r = option_word(o, key_name, eq ? eq + 1 : NULL, eq ? len - name_len - 1 : 0, err);

        if (r < 0)
            return r;
    }
    if ((o->flags & CONF_F_KNOWN) && (conf_tables[table].rows[key].flags & CONF_F_ACTS))
        return err_set(err, -EOPNOTSUPP, "%s: option %s is accepted without effect: %s", key_name,
                       o->name, conf_why(table, key, o->name));
    return 0;
}

const char *conf_debug_flag(const char *name)
{
    for (size_t i = 0; i < ARRAY_SIZE(options); i++)
        if (options[i].table == CONF_TBL_KEY && options[i].key == CONF_DEBUG_FLAGS &&
            strcasecmp(options[i].name, name) == 0)
            return options[i].name;
    return NULL;
}

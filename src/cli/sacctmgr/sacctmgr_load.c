/* sacctmgr_load.c - a file of accounts into the store
 *
 * The file is read whole before anything is asked.  QOS it names are made first, since accounts
 * refer to them by number; all the rest is one request, done whole or not at all. */
#include <errno.h>
#include <search.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/cleanup.h"
#include "base/pb/pbutil.h"
#include "base/timefmt.h"
#include "cli/sacctmgr/sacctmgr.h"
#include "cli/sacctmgr/sacctmgr_file.h"
#include "cli/sacctmgr/sacctmgr_loaded.h"
#include "wire/errors.h"

#define OPS_OF_REQUEST 20000u /* more are sent in several requests */

struct file_entry {
    enum flat_kind kind;
    unsigned line;
    char *text; /* owns what parsed points into */
    struct flat_line parsed;
    const char *parent; /* account above, or of the user */
};

struct load {
    struct smgr *s;
    const char *path;
    char *cluster;
    struct file_entry **entries;
    size_t n;
    Pst__AcctOp **ops;
    size_t n_ops, cap_ops;
    void *have;        /* tree of keys: what is there, see key_of() */
    void *defaults[2]; /* trees of pairs: default account and key of users in the cluster */
    bool clean, has_cluster;
    struct smgr_loaded *rows; /* what is new */
    size_t n_rows, n_qos;     /* ... and the QOS among it */
    struct strbuf changes;    /* defaults of users, a line each */
    const char *word;         /* that named the file */
};

/* ---- the file -------------------------------------------------------------------------------- */

static void tell_no_cluster(struct load *l)
{
    printf(" Nothing new added.\n");
    smgr_fail(l->s, " You need to specify a cluster name first with 'Cluster - $NAME' in your "
                    "file\n");
}

static bool add_entry(struct load *l, const char *text, unsigned number, const char **parent)
{
    struct file_entry *e = xmalloc_or_die(sizeof(*e));
    struct err err = { .text = "" };

    e->text = xstrdup_or_die(text);
    e->line = number;
    if (flat_parse(e->text, &e->parsed, &err) < 0) {
        if (!l->cluster && e->parsed.kind == FLAT_NOTHING)
            tell_no_cluster(l);
        else
            smgr_fail(l->s, " error: %s:%u: %s\n", l->path, number, err.text);
        free(e->text);
        free(e);
        return false;
    }
    e->kind = e->parsed.kind;
    if (e->kind == FLAT_NOTHING) {
        free(e->text);
        free(e);
        return true;
    }
    if (e->kind == FLAT_PARENT)
        *parent = e->parsed.name;
    e->parent = *parent;
    l->entries = xrealloc_or_die(l->entries, l->n + 1, sizeof(*l->entries));
    l->entries[l->n++] = e;
    if (e->kind == FLAT_CLUSTER && !l->cluster)
        l->cluster = xstrdup_or_die(e->parsed.name);
    return true;
}

static bool read_file(struct load *l)
{
    _cleanup_fclose_ FILE *f = fopen(l->path, "re");
    _cleanup_free_ char *line = NULL;
    const char *parent = "root";
    unsigned number = 0;
    size_t cap = 0;
    bool ok = true;
    ssize_t len;

    if (!f) {
        smgr_fail(l->s, " Unable to read \"%s\": %s\n", l->word, strerror(errno));
        return false;
    }
    while (ok && (len = getline(&line, &cap, f)) >= 0) {
        number++;
        if (len > (ssize_t)FLAT_LINE_MAX) {
            smgr_fail(l->s, " error: %s:%u: the line is longer than %u bytes\n", l->path, number,
                      FLAT_LINE_MAX);
            ok = false;
        } else {
            ok = add_entry(l, line, number, &parent);
        }
    }
    if (ok && ferror(f)) {
        smgr_fail(l->s, " Unable to read \"%s\": %s\n", l->word, strerror(errno));
        return false;
    }
    if (ok && !l->cluster && l->n)
        tell_no_cluster(l);
    else if (ok && !l->cluster)
        printf(" Nothing new added.\n");
    return ok && l->cluster;
}

/* ---- what is there --------------------------------------------------------------------------- */

static int compare_keys(const void *a, const void *b)
{
    return strcmp(a, b);
}

/* Takes key. */
static void know_name(struct load *l, char *key)
{
    char **at = tsearch(key, &l->have, compare_keys);

    if (!at)
        check_mem_or_die(-ENOMEM);
    else if (*at != key)
        free(key); /* it was known */
}

static bool is_known(struct load *l, const char *key)
{
    return tfind(key, &l->have, compare_keys) != NULL;
}

static char *key_of(const char *account, const char *user, const char *partition)
{
    char *key = xasprintf_or_die("%s/%s/%s", account, user ? user : "", partition ? partition : "");

    for (char *c = key; *c; c++)
        if (*c >= 'A' && *c <= 'Z')
            *c = (char)(*c - 'A' + 'a');
    return key;
}

static bool is_there(struct load *l, const char *account, const char *user, const char *partition)
{
    _cleanup_free_ char *key = key_of(account, user, partition);

    return is_known(l, key);
}

#define ANY_PARTITION "any one" /* no partition has this name */

static void know_user_assoc(struct load *l, const char *account, const char *user,
                            const char *partition)
{
    know_name(l, key_of(account, user, partition));
    if (user && *user)
        know_name(l, key_of(account, user, ANY_PARTITION));
}

enum { DEFAULT_ACCOUNT, DEFAULT_KEY };

/* A pair: a user's name, and behind its end the name of his default. */
static void know_default(struct load *l, int which, const char *user, const char *name)
{
    size_t len = strlen(user) + 1, size = strlen(name) + 1;
    char *pair = xmalloc_or_die(len + size);
    char **at;

    memcpy(pair, user, len);
    memcpy(pair + len, name, size);
    at = tsearch(pair, &l->defaults[which], compare_keys);
    if (!at)
        check_mem_or_die(-ENOMEM);
    else if (*at != pair)
        free(pair); /* the first counts */
}

static const char *known_default(struct load *l, int which, const char *user)
{
    char **at = tfind(user, &l->defaults[which], compare_keys);

    return at ? *at + strlen(*at) + 1 : NULL;
}

static int know_wckey(void *ctx, const ProtobufCMessage *record, const struct query_info *info)
{
    const Pst__WckeyRecord *k = (const Pst__WckeyRecord *)record;

    (void)info;
    know_name(ctx, xasprintf_or_die("key %s of %s", k->name, k->user));
    if (k->is_default)
        know_default(ctx, DEFAULT_KEY, k->user, k->name);
    return 0;
}

static int know_assoc(void *ctx, const ProtobufCMessage *record, const struct query_info *info)
{
    const Pst__AssocRecord *a = (const Pst__AssocRecord *)record;
    struct load *l = ctx;

    (void)info;
    l->has_cluster = true;
    if (a->user && *a->user && a->is_default)
        know_default(l, DEFAULT_ACCOUNT, a->user, a->account);
    if (!l->clean ||
        (strcasecmp(a->account, "root") == 0 && (!a->user || strcmp(a->user, "root") == 0)))
        know_user_assoc(l, a->account, a->user, a->partition);
    return 0;
}

static int know_user(void *ctx, const ProtobufCMessage *record, const struct query_info *info)
{
    (void)info;
    know_name(ctx, xasprintf_or_die("user %s", ((const Pst__UserRecord *)record)->name));
    return 0;
}

static int know_account(void *ctx, const ProtobufCMessage *record, const struct query_info *info)
{
    (void)info;
    know_name(ctx, xasprintf_or_die("account %s", ((const Pst__AccountRecord *)record)->name));
    return 0;
}

static bool look_up(struct load *l)
{
    static const Pst__AcctCond all = PST__ACCT_COND__INIT;
    Pst__AcctCond where = PST__ACCT_COND__INIT;
    char *clusters[] = { l->cluster };

    where.n_clusters = 1;
    where.clusters = clusters;
    return smgr_list(l->s, PST__ACCT_ENTITY__ACCT_ASSOC, &where, know_assoc, l) &&
           smgr_list(l->s, PST__ACCT_ENTITY__ACCT_WCKEY, &where, know_wckey, l) &&
           smgr_list(l->s, PST__ACCT_ENTITY__ACCT_USER, &all, know_user, l) &&
           smgr_list(l->s, PST__ACCT_ENTITY__ACCT_ACCOUNT, &all, know_account, l);
}

/* ---- operations ------------------------------------------------------------------------------ */

static const Pst__AcctOp *add_op(struct load *l, Pst__AcctVerb verb, Pst__AcctEntity entity,
                                 struct smgr_line *line)
{
    Pst__AcctOp *op = xmalloc_or_die(sizeof(*op));

    pst__acct_op__init(op);
    op->has_verb = op->has_entity = 1;
    op->verb = verb;
    op->entity = entity;
    op->where = TAKE_PTR(line->where);
    op->set = TAKE_PTR(line->set);
    if (l->n_ops == l->cap_ops) {
        l->cap_ops = l->cap_ops ? l->cap_ops * 2 : 64;
        l->ops = xrealloc_or_die(l->ops, l->cap_ops, sizeof(*l->ops));
    }
    l->ops[l->n_ops++] = op;
    return op;
}

static struct smgr_loaded *add_row(struct load *l, enum smgr_loaded_kind kind,
                                   const Pst__AcctOp *op)
{
    l->rows = xrealloc_or_die(l->rows, l->n_rows + 1, sizeof(*l->rows));
    l->rows[l->n_rows] = (struct smgr_loaded){ .kind = kind, .op = op };
    return &l->rows[l->n_rows++];
}

static void add_name(char ***list, size_t *n, const char *name)
{
    smgr_add_string(list, n, name, strlen(name));
    for (char *c = (*list)[*n - 1]; *c; c++)
        if (*c >= 'A' && *c <= 'Z')
            *c = (char)(*c - 'A' + 'a');
}

/* Names from before, and what is said by the place in the file. */
static bool is_passed_over(const char *name)
{
    static const char *const names[] = { "Classification", "Partition", "Coordinator", "ID",
                                         "ParentID" };

    for (size_t i = 0; i < ARRAY_SIZE(names); i++)
        if (strcasecmp(name, names[i]) == 0)
            return true;
    return false;
}

static const char *option_of(const struct file_entry *e, const char *name)
{
    for (size_t i = 0; i < e->parsed.n; i++)
        if (strcasecmp(e->parsed.options[i].name, name) == 0)
            return e->parsed.options[i].value;
    return NULL;
}

/* An entry's options as settings; false: told. */
static bool put_settings(struct load *l, const struct file_entry *e, enum smgr_entity entity,
                         bool no_preempt, struct smgr_line *line)
{
    if (!smgr_parse(l->s, entity, SMGR_ADD, 0, NULL, line))
        return false;
    line->from_file = true;
    for (size_t i = 0; i < e->parsed.n && !line->failed; i++) {
        const char *name = e->parsed.options[i].name;

        if (is_passed_over(name) || (no_preempt && strcasecmp(name, "Preempt") == 0))
            continue;
        if (!smgr_set_option(line, name, e->parsed.options[i].value)) {
            smgr_fail(l->s, " Unknown option: %s=%s\n", name, e->parsed.options[i].value);
            line->failed = true;
        }
    }
    if (line->failed)
        smgr_fail(l->s, " Problem with line(%u)\n Problem with requests: Unspecified error\n",
                  e->line);
    return !line->failed;
}

static bool make_cluster(struct load *l, const struct file_entry *e, struct smgr_line *line)
{
    const Pst__AcctOp *op;

    if (!put_settings(l, e, SMGR_CLUSTER, false, line))
        return false;
    add_name(&line->where->names, &line->where->n_names, l->cluster);
    op = add_op(l, l->has_cluster ? PST__ACCT_VERB__ACCT_MODIFY : PST__ACCT_VERB__ACCT_ADD,
                PST__ACCT_ENTITY__ACCT_CLUSTER, line);
    if (!l->has_cluster || l->clean)
        add_row(l, SMGR_LOADED_CLUSTER, op);
    if (!l->has_cluster) {
        know_name(l, key_of("root", NULL, NULL));
        know_name(l, key_of("root", "root", NULL));
        l->has_cluster = true;
    }
    return true;
}

static bool make_account(struct load *l, const struct file_entry *e, struct smgr_line *line)
{
    bool there = is_there(l, e->parsed.name, NULL, NULL);
    _cleanup_free_ char *known = xasprintf_or_die("account %s", e->parsed.name);
    const Pst__AcctOp *op;

    if (!put_settings(l, e, SMGR_ACCOUNT, false, line))
        return false;
    add_name(&line->where->names, &line->where->n_names, e->parsed.name);
    add_name(&line->where->clusters, &line->where->n_clusters, l->cluster);
    if (!there || strcasecmp(e->parent, "root") != 0)
        check_mem_or_die(pb_set_str(&line->set->parent, e->parent));
    op = add_op(l, there ? PST__ACCT_VERB__ACCT_MODIFY : PST__ACCT_VERB__ACCT_ADD,
                PST__ACCT_ENTITY__ACCT_ACCOUNT, line);
    if (!there) {
        know_name(l, key_of(e->parsed.name, NULL, NULL));
        add_row(l, SMGR_LOADED_ACCOUNT, op)->unknown = !is_known(l, known);
    }
    return true;
}

/* Default account and keys are set once all associations are there: see make_defaults(). */
static void drop_defaults(Pst__AcctSet *set)
{
    free(set->default_account);
    set->default_account = NULL;
    for (size_t i = 0; i < set->n_wckeys; i++)
        free(set->wckeys[i]);
    set->n_wckeys = 0;
    if (set->user) {
        free(set->user->default_wckey);
        set->user->default_wckey = NULL;
    }
    if (set->user && !set->user->has_admin_level) {
        pst__user_record__free_unpacked(set->user, NULL);
        set->user = NULL;
    }
}

static void say_default(struct load *l, int which, const char *user, const char *name)
{
    const char *before = known_default(l, which, user);

    if (!name || !*name || (before && strcasecmp(before, name) == 0))
        return;
    strbuf_addf(&l->changes, "%-30s for %-7s %-10.10s %8s -> %s\n",
                which == DEFAULT_KEY ? " Changed Default WCKey" : " Changed Default Account",
                "User", user,
                before                 ? before
                : which == DEFAULT_KEY ? ""
                                       : "(null)",
                name);
    if (!before)
        know_default(l, which, user, name);
}

/* What is said of a user whom the store has already; of a new one his table says it. */
static void say_changes(struct load *l, const struct file_entry *e)
{
    const char *user = e->parsed.name, *keys = option_of(e, "WCKeys");
    _cleanup_free_ char *known = xasprintf_or_die("user %s", user);
    _cleanup_free_ char *words = xstrdup_or_die(keys ? keys : "");
    struct strbuf added = STRBUF_INIT;
    char *save = NULL;

    if (!is_known(l, known))
        return;
    say_default(l, DEFAULT_ACCOUNT, user, option_of(e, "DefaultAccount"));
    say_default(l, DEFAULT_KEY, user, option_of(e, "DefaultWCKey"));
    for (char *w = strtok_r(words, ",", &save); w; w = strtok_r(NULL, ",", &save)) {
        _cleanup_free_ char *key = xasprintf_or_die("key %s of %s", w, user);

        if (is_known(l, key))
            continue;
        strbuf_addf(&added, "%s%s", added.len ? "," : "", w);
        know_name(l, TAKE_PTR(key));
    }
    if (added.len)
        strbuf_addf(&l->changes, " Adding WCKey(s) '%s' for user '%s'\n", strbuf_str(&added), user);
    strbuf_done(&added);
}

static bool make_user(struct load *l, const struct file_entry *e, struct smgr_line *line)
{
    const char *partition = option_of(e, "Partition");
    bool there = is_there(l, e->parent, e->parsed.name, partition);
    struct smgr_loaded *row;
    const Pst__AcctOp *op;
    _cleanup_free_ char *known = xasprintf_or_die("user %s", e->parsed.name);

    say_changes(l, e);
    if (!put_settings(l, e, SMGR_USER, false, line))
        return false;
    drop_defaults(line->set);
    add_name(&line->where->names, &line->where->n_names, e->parsed.name);
    add_name(&line->where->clusters, &line->where->n_clusters, l->cluster);
    add_name(&line->where->accounts, &line->where->n_accounts, e->parent);
    if (partition)
        add_name(&line->where->partitions, &line->where->n_partitions, partition);
    if (!there && line->set->user && is_known(l, known)) {
        /* the user is there, the association is not: the level is set by itself */
        struct smgr_line level = { 0 };

        if (!smgr_parse(l->s, SMGR_USER, SMGR_ADD, 0, NULL, &level))
            return false;
        add_name(&level.where->names, &level.where->n_names, e->parsed.name);
        level.set->user = TAKE_PTR(line->set->user);
        add_op(l, PST__ACCT_VERB__ACCT_MODIFY, PST__ACCT_ENTITY__ACCT_USER, &level);
    }
    op = add_op(l, there ? PST__ACCT_VERB__ACCT_MODIFY : PST__ACCT_VERB__ACCT_ADD,
                PST__ACCT_ENTITY__ACCT_USER, line);
    if (!there) {
        know_user_assoc(l, e->parent, e->parsed.name, partition);
        row = add_row(l, SMGR_LOADED_USER, op);
        row->unknown = !is_known(l, known);
        row->default_account = option_of(e, "DefaultAccount");
        if (!row->default_account) /* his first account */
            row->default_account = e->parent;
        row->default_wckey = option_of(e, "DefaultWCKey");
    }
    if (!is_known(l, known))
        know_name(l, xstrdup_or_die(known));
    return true;
}

/* Has the user an association of the account, of whatever partition? */
static bool user_has_account(struct load *l, const char *user, const char *account)
{
    return is_there(l, account, user, ANY_PARTITION);
}

/* One operation about the user in the cluster, its line begun. */
static bool begin_user_op(struct load *l, const struct file_entry *e, struct smgr_line *line)
{
    if (!smgr_parse(l->s, SMGR_USER, SMGR_ADD, 0, NULL, line))
        return false;
    add_name(&line->where->names, &line->where->n_names, e->parsed.name);
    add_name(&line->where->clusters, &line->where->n_clusters, l->cluster);
    return true;
}

/* What a line says of the user, not of the association.  Lines repeat it: an operation that changes
 * nothing does no harm, so the first line of a user is taken. */
static bool make_defaults_of(struct load *l, const struct file_entry *e)
{
    const char *account = option_of(e, "DefaultAccount"), *keys = option_of(e, "WCKeys");
    const char *key = option_of(e, "DefaultWCKey");
    struct smgr_line line = { 0 };

    if ((keys && *keys) || (key && *key)) {
        if (!begin_user_op(l, e, &line))
            return false;
        (void)(keys && smgr_set_option(&line, "WCKeys", keys));
        (void)(key && smgr_set_option(&line, "DefaultWCKey", key));
        add_op(l, PST__ACCT_VERB__ACCT_ADD, PST__ACCT_ENTITY__ACCT_USER, &line);
        smgr_line_done(&line);
    }
    if (account && *account && user_has_account(l, e->parsed.name, account)) {
        if (!begin_user_op(l, e, &line))
            return false;
        check_mem_or_die(pb_set_str(&line.set->default_account, account));
        add_op(l, PST__ACCT_VERB__ACCT_MODIFY, PST__ACCT_ENTITY__ACCT_USER, &line);
        smgr_line_done(&line);
    }
    return true;
}

static bool make_defaults(struct load *l)
{
    for (size_t i = 0; i < l->n; i++) {
        const struct file_entry *e = l->entries[i];
        _cleanup_free_ char *told = NULL;

        if (e->kind != FLAT_USER)
            continue;
        told = xasprintf_or_die("defaults of %s", e->parsed.name);
        if (is_known(l, told))
            continue;
        if (option_of(e, "DefaultAccount") || option_of(e, "WCKeys"))
            know_name(l, TAKE_PTR(told));
        if (!make_defaults_of(l, e))
            return false;
    }
    return true;
}

/* In the file, or in any cluster of the store. */
static bool account_is_there(struct load *l, const char *name)
{
    _cleanup_free_ char *known = xasprintf_or_die("account %s", name);

    return is_there(l, name, NULL, NULL) || is_known(l, known);
}

/* Coordinators, once all accounts and users are there. */
static bool make_coordinators(struct load *l)
{
    for (size_t i = 0; i < l->n; i++) {
        const struct file_entry *e = l->entries[i];
        const char *list = e->kind == FLAT_USER ? option_of(e, "Coordinator") : NULL;
        struct smgr_line line = { 0 };
        _cleanup_free_ char *words = list ? xstrdup_or_die(list) : NULL;
        char *save = NULL;

        if (!words)
            continue;
        if (!smgr_parse(l->s, SMGR_COORD, SMGR_ADD, 0, NULL, &line))
            return false;
        add_name(&line.where->users, &line.where->n_users, e->parsed.name);
        for (char *w = strtok_r(words, ",", &save); w; w = strtok_r(NULL, ",", &save))
            if (account_is_there(l, w))
                add_name(&line.where->accounts, &line.where->n_accounts, w);
            else /* a dump names those of other clusters too */
                printf("%s:%u: there is no account %s for %s to coordinate\n", l->path, e->line, w,
                       e->parsed.name);
        if (line.where->n_accounts)
            add_op(l, PST__ACCT_VERB__ACCT_ADD, PST__ACCT_ENTITY__ACCT_COORD, &line);
        smgr_line_done(&line);
    }
    return true;
}

static int clean_account(void *ctx, const ProtobufCMessage *record, const struct query_info *info)
{
    const Pst__AssocRecord *a = (const Pst__AssocRecord *)record;
    struct smgr_line line = { 0 };
    struct load *l = ctx;
    bool user = a->user && *a->user;

    (void)info;
    if (strcasecmp(a->account, "root") == 0
            ? !user || strcmp(a->user, "root") == 0
            : user || !a->parent_account || strcasecmp(a->parent_account, "root") != 0)
        return 0;
    if (!smgr_parse(l->s, user ? SMGR_USER : SMGR_ACCOUNT, SMGR_ADD, 0, NULL, &line))
        return -EINVAL;
    add_name(&line.where->names, &line.where->n_names, user ? a->user : a->account);
    add_name(&line.where->clusters, &line.where->n_clusters, l->cluster);
    if (user)
        add_name(&line.where->accounts, &line.where->n_accounts, a->account);
    add_op(l, PST__ACCT_VERB__ACCT_DELETE,
           user ? PST__ACCT_ENTITY__ACCT_USER : PST__ACCT_ENTITY__ACCT_ACCOUNT, &line);
    return 0;
}

static bool make_clean(struct load *l)
{
    Pst__AcctCond where = PST__ACCT_COND__INIT;
    char *clusters[] = { l->cluster };

    where.n_clusters = 1;
    where.clusters = clusters;
    return smgr_list(l->s, PST__ACCT_ENTITY__ACCT_ASSOC, &where, clean_account, l);
}

/* Accounts stand in the file before what is below them. */
static bool has_parent(struct load *l, const struct file_entry *e)
{
    if (is_there(l, e->parsed.name, NULL, NULL))
        return true;
    printf(" Nothing new added.\n");
    smgr_fail(l->s,
              " line(%u) You need to add this parent (%s) as a child before you can add children "
              "to it.\n",
              e->line, e->parsed.name);
    return false;
}

static bool make_ops(struct load *l)
{
    if (l->clean && !make_clean(l))
        return false;
    for (size_t i = 0; i < l->n; i++) {
        const struct file_entry *e = l->entries[i];
        struct smgr_line line = { 0 };
        bool ok = true;

        if (e->kind == FLAT_CLUSTER)
            ok = make_cluster(l, e, &line);
        else if (e->kind == FLAT_ACCOUNT)
            ok = make_account(l, e, &line);
        else if (e->kind == FLAT_USER)
            ok = make_user(l, e, &line);
        else if (e->kind == FLAT_PARENT)
            ok = has_parent(l, e);
        smgr_line_done(&line);
        if (!ok)
            return false;
    }
    return make_defaults(l) && make_coordinators(l);
}

/* ---- QOS ------------------------------------------------------------------------------------- */

static bool make_qos(struct load *l, bool preempt)
{
    for (size_t i = 0; i < l->n; i++) {
        const struct file_entry *e = l->entries[i];
        struct smgr_line line = { 0 };
        uint32_t id;
        bool there;

        if (e->kind != FLAT_QOS || (preempt && !option_of(e, "Preempt")))
            continue;
        there = smgr_qos_id(l->s, e->parsed.name, &id);
        if (!put_settings(l, e, SMGR_QOS, !preempt, &line)) {
            smgr_line_done(&line);
            return false;
        }
        add_name(&line.where->names, &line.where->n_names, e->parsed.name);
        l->n_qos += !there;
        add_op(l, there ? PST__ACCT_VERB__ACCT_MODIFY : PST__ACCT_VERB__ACCT_ADD,
               PST__ACCT_ENTITY__ACCT_QOS, &line);
        smgr_line_done(&line);
    }
    return true;
}

/* ---- sending --------------------------------------------------------------------------------- */

static void free_ops(struct load *l)
{
    for (size_t i = 0; i < l->n_ops; i++)
        pst__acct_op__free_unpacked(l->ops[i], NULL);
    free(l->ops);
    l->ops = NULL;
    l->n_ops = l->cap_ops = 0;
}

static bool send_some(struct load *l, size_t from, size_t n)
{
    Pst__AcctAdminRequest req = PST__ACCT_ADMIN_REQUEST__INIT;
    Pst__AcctAdminReply *reply;
    bool ok = true;

    req.n_ops = n;
    req.ops = l->ops + from;
    reply = smgr_request(l->s, &req);
    if (!reply)
        return false;
    for (size_t i = 0; i < reply->n_results && ok; i++) {
        const Pst__AcctOpResult *res = reply->results[i];
        const Pst__AcctOp *op = l->ops[from + i];

        if (!res->has_code || res->code == SLURM_NO_CHANGE_IN_DATA)
            continue;
        ok = false;
        smgr_fail(l->s, " error: %s: %s: %s\n", l->path,
                  op->where->n_names ? op->where->names[0] : "",
                  res->text ? res->text : slurm_err_text(res->code));
        for (size_t k = 0; k < res->n_lines; k++)
            smgr_fail(l->s, "  %s\n", res->lines[k]);
    }
    pst__acct_admin_reply__free_unpacked(reply, NULL);
    return ok;
}

static bool send_ops(struct load *l)
{
    bool ok = true;

    for (size_t at = 0; ok && at < l->n_ops; at += OPS_OF_REQUEST)
        ok = send_some(l, at, MIN(l->n_ops - at, OPS_OF_REQUEST));
    free_ops(l);
    return ok;
}

static void load_done(struct load *l)
{
    free_ops(l);
    for (size_t i = 0; i < l->n; i++) {
        free(l->entries[i]->text);
        free(l->entries[i]);
    }
    free(l->entries);
    free(l->rows);
    strbuf_done(&l->changes);
    tdestroy(l->have, free);
    for (int i = 0; i < 2; i++)
        tdestroy(l->defaults[i], free);
    free(l->cluster);
}

static bool names_new_qos(struct load *l)
{
    uint32_t id;

    for (size_t i = 0; i < l->n; i++)
        if (l->entries[i]->kind == FLAT_QOS && !smgr_qos_id(l->s, l->entries[i]->parsed.name, &id))
            return true;
    return false;
}

static bool load_qos(struct load *l)
{
    return make_qos(l, false) && send_ops(l) && make_qos(l, true) && send_ops(l);
}

/* What the file adds, as it is shown before it is done; false: nothing. */
static bool show_loaded(struct load *l)
{
    struct strbuf out = STRBUF_INIT;

    if (!l->n_rows && !l->n_qos && !l->changes.len) {
        printf(" Nothing new added.\n");
        return false;
    }
    smgr_put_loaded(l->s, l->rows, l->n_rows, strbuf_str(&l->changes), &out);
    fputs(strbuf_str(&out), stdout);
    strbuf_done(&out);
    return true;
}

/* Accounts name QOS by their numbers: where the file makes QOS, the question is asked before they
 * are made, else behind the tables. */
static bool load_all(struct load *l)
{
    bool first = names_new_qos(l), sent;

    if (first && (!smgr_commit(l->s) || !load_qos(l)))
        return false;
    if (!make_ops(l) || !show_loaded(l))
        return false;
    if (first)
        return send_ops(l);
    if (!smgr_commit(l->s))
        return true;
    sent = send_ops(l);
    return sent && load_qos(l);
}

static void run_load(struct load *l)
{
    int64_t start_us = now_mono_us();

    if (!read_file(l) || !look_up(l))
        return;
    printf("For cluster %s\n", l->cluster);
    if (!load_all(l))
        return;
    fflush(stdout);
    (void)fprintf(stderr, "sacctmgr: Done adding cluster in usec=%lld\n",
                  (long long)(now_mono_us() - start_us));
}

static bool refuse_load(struct smgr *s, const char *fmt, const char *word)
{
    smgr_fail(s, fmt, word);
    return false;
}

void smgr_load(struct smgr *s, int n, char **words)
{
    struct load l = { .s = s };
    bool good = true;

    if (!smgr_may_write(s, "load"))
        return;
    for (int i = 0; i < n; i++) {
        if (strncasecmp(words[i], "file=", 5) == 0)
            l.path = words[i] + 5, l.word = words[i];
        else if (strncasecmp(words[i], "cluster=", 8) == 0)
            l.cluster = l.cluster ? l.cluster : xstrdup_or_die(words[i] + 8);
        else if (smgr_is(words[i], "clean", 3))
            l.clean = true;
        else if (!strchr(words[i], '=') && !l.path)
            l.path = l.word = words[i];
        else
            good = refuse_load(s, " Unknown option: %s\n", words[i]);
    }
    if (!l.path)
        good = refuse_load(s, "%s", " No filename given, specify one with file=''\n");
    if (good)
        run_load(&l);
    load_done(&l);
}

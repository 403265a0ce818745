/* restdb.c - lists of the accounting store and conditions; see restdb.h */
#include "rest/db/restdb.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/cleanup.h"
#include "base/pb/pbutil.h"
#include "base/timefmt.h"
#include "wire/errors.h"
#include "wire/ops.h"

/* ---- lists ----------------------------------------------------------------------------------- */

static const ProtobufCMessageDescriptor *record_type(Pst__AcctEntity entity)
{
    switch (entity) {
    case PST__ACCT_ENTITY__ACCT_ACCOUNT:
        return &pst__account_record__descriptor;
    case PST__ACCT_ENTITY__ACCT_ASSOC:
        return &pst__assoc_record__descriptor;
    case PST__ACCT_ENTITY__ACCT_CLUSTER:
        return &pst__acct_cluster_record__descriptor;
    case PST__ACCT_ENTITY__ACCT_QOS:
        return &pst__qos_record__descriptor;
    case PST__ACCT_ENTITY__ACCT_INSTANCE:
        return &pst__acct_instance_record__descriptor;
    case PST__ACCT_ENTITY__ACCT_TRES:
        return &pst__tres_record__descriptor;
    case PST__ACCT_ENTITY__ACCT_USER:
        return &pst__user_record__descriptor;
    default:
        return &pst__wckey_record__descriptor;
    }
}

void restdb_no_memory(struct rest_call *call, const char *what)
{
    rest_error(call, ENOMEM, what, ERR_NOMEM);
}

int restdb_list(struct rest_call *call, const char *what, Pst__AcctEntity entity,
                const Pst__AcctCond *where, query_fn *fn, void *ctx)
{
    Pst__AcctListRequest request = PST__ACCT_LIST_REQUEST__INIT;
    struct client *c = rest_acct(call, what);
    struct query_info info;
    int r;

    if (!c)
        return -EREMOTEIO;
    request.has_entity = 1;
    request.entity = entity;
    request.where = (Pst__AcctCond *)where; /* only packed */
    r = query_run(c, OP_ACCT_LIST, &request.base, record_type(entity), fn, ctx, &info);
    if (r == -ENOMEM)
        restdb_no_memory(call, what);
    else if (r < 0 && r != -EPIPE)
        rest_failed(call, c, r, what, "%s() failed", what);
    return r;
}

struct keeping {
    ProtobufCMessage ***list;
    size_t *n;
};

static int keep_record(void *ctx, const ProtobufCMessage *record, const struct query_info *info)
{
    struct keeping *k = ctx;
    ProtobufCMessage **more;

    (void)info;
    if ((*k->n & (*k->n - 1)) == 0) { /* room for 1, 2, 4, 8 */
        more = reallocarray(*k->list, *k->n ? *k->n * 2 : 1, sizeof(*more));
        if (!more)
            return -ENOMEM;
        *k->list = more;
    }
    if (pb_dup(record, &(*k->list)[*k->n]) < 0)
        return -ENOMEM;
    (*k->n)++;
    return 0;
}

bool restdb_keep(struct rest_call *call, const char *what, Pst__AcctEntity entity,
                 const Pst__AcctCond *where, void *list, size_t *n)
{
    struct keeping k = { list, n };

    return restdb_list(call, what, entity, where, keep_record, &k) == 0;
}

void restdb_keep_done(void *list, size_t *n)
{
    ProtobufCMessage ***records = list;

    for (size_t i = 0; i < *n; i++)
        protobuf_c_message_free_unpacked((*records)[i], NULL);
    free(*records);
    *records = NULL;
    *n = 0;
}

bool restdb_load_names(struct rest_call *call, struct restdb_tables *t)
{
    Pst__AcctCond all = PST__ACCT_COND__INIT;

    all.has_with_deleted = all.with_deleted = 1; /* ids of the past mean something too */
    return restdb_keep(call, "slurmdb_tres_get", PST__ACCT_ENTITY__ACCT_TRES, &all, &t->names.tres,
                       &t->names.n_tres) &&
           restdb_keep(call, "slurmdb_qos_get", PST__ACCT_ENTITY__ACCT_QOS, &all, &t->names.qos,
                       &t->names.n_qos);
}

void restdb_tables_done(struct restdb_tables *t)
{
    restdb_keep_done(&t->names.tres, &t->names.n_tres);
    restdb_keep_done(&t->names.qos, &t->names.n_qos);
    restdb_keep_done(&t->people.assocs, &t->people.n_assocs);
    restdb_keep_done(&t->people.accounts, &t->people.n_accounts);
    restdb_keep_done(&t->people.wckeys, &t->people.n_wckeys);
}

/* ---- conditions ------------------------------------------------------------------------------ */

static bool add_word(struct rest_call *call, const char *name, const char *word, size_t len,
                     char ***list, size_t *n)
{
    char **more, *copy;

    if (len > RESTDB_WORD_MAX || *n >= RESTDB_WORDS_MAX) {
        rest_error(call, ESLURM_REST_INVALID_QUERY, name, "%s: %s", name,
                   len > RESTDB_WORD_MAX ? "a word is too long" : "too many words");
        return false;
    }
    more = reallocarray(*list, *n + 1, sizeof(*more));
    copy = strndup(word, len);
    if (more)
        *list = more;
    if (!more || !copy) {
        free(copy);
        restdb_no_memory(call, name);
        return false;
    }
    more[(*n)++] = copy;
    return true;
}

static bool add_list(struct rest_call *call, const char *name, const char *text, char ***list,
                     size_t *n)
{
    while (*text) {
        size_t len = strcspn(text, ","), blanks = strspn(text, " ");

        if (blanks < len && !add_word(call, name, text + blanks, len - blanks, list, n))
            return false;
        text += len + (text[len] == ',');
    }
    return true;
}

bool restdb_words(struct rest_call *call, const char *name, char ***list, size_t *n)
{
    bool good = true;

    for (size_t i = 0; i < call->n_query && good; i++)
        if (strcmp(call->query[i].name, name) == 0)
            good = add_list(call, name, call->query[i].value, list, n);
    return good;
}

bool restdb_word(struct rest_call *call, const char *word, char ***list, size_t *n)
{
    return add_word(call, "path", word, strlen(word), list, n);
}

static bool add_number(struct rest_call *call, const char *name, uint32_t number, uint32_t **list,
                       size_t *n)
{
    uint32_t *more = reallocarray(*list, *n + 1, sizeof(*more));

    if (!more) {
        restdb_no_memory(call, name);
        return false;
    }
    *list = more;
    more[(*n)++] = number;
    return true;
}

static void free_words(char **words, size_t n)
{
    for (size_t i = 0; i < n; i++)
        free(words[i]);
    free(words);
}

typedef bool number_fn(const char *word, const struct store_names *names, uint32_t *ret);

static bool plain_number(const char *word, const struct store_names *names, uint32_t *ret)
{
    uint64_t number;

    (void)names;
    if (parse_u64(word, 0, UINT32_MAX, &number) < 0)
        return false;
    *ret = (uint32_t)number;
    return true;
}

static bool qos_number(const char *word, const struct store_names *names, uint32_t *ret)
{
    *ret = restdb_qos_id(names, word);
    return *ret != UINT32_MAX || plain_number(word, names, ret);
}

static bool add_numbers(struct rest_call *call, const char *name, number_fn *number_of,
                        const struct store_names *names, uint32_t **list, size_t *n)
{
    char **words = NULL;
    size_t n_words = 0;
    bool good = restdb_words(call, name, &words, &n_words);

    for (size_t i = 0; i < n_words && good; i++) {
        uint32_t number = 0;

        good = number_of(words[i], names, &number);
        if (!good)
            rest_error(call, ESLURM_REST_INVALID_QUERY, name, "%s: there is no %.64s", name,
                       words[i]);
        else
            good = add_number(call, name, number, list, n);
    }
    free_words(words, n_words);
    return good;
}

bool restdb_ids(struct rest_call *call, const char *name, uint32_t **list, size_t *n)
{
    return add_numbers(call, name, plain_number, NULL, list, n);
}

bool restdb_qos(struct rest_call *call, const char *name, const struct store_names *names,
                uint32_t **list, size_t *n)
{
    return add_numbers(call, name, qos_number, names, list, n);
}

bool restdb_switch(const struct rest_call *call, const char *name, const char *older)
{
    return rest_query_true(call, name) || (older && rest_query_true(call, older));
}

static void set_switch(const struct rest_call *call, const char *name, const char *older,
                       protobuf_c_boolean *has, protobuf_c_boolean *value)
{
    *has = *value = restdb_switch(call, name, older);
}

bool restdb_assoc_where(struct rest_call *call, const struct store_names *names, Pst__AcctCond *w)
{
    const char *user = rest_query(call, "user");

    set_switch(call, "Include deleted associations", "with_deleted", &w->has_with_deleted,
               &w->with_deleted);
    set_switch(call, "Filter to only defaults", "only_defaults", &w->has_only_defaults,
               &w->only_defaults);
    set_switch(call, "Include the raw QOS or delta_qos", "with_raw_qos", &w->has_raw_qos,
               &w->raw_qos);
    set_switch(call, "Include sub acct information", "with_sub_accts", &w->has_with_sub_accounts,
               &w->with_sub_accounts);
    set_switch(call, "Exclude limits from parents", "without_parent_limits",
               &w->has_no_inherited_limits, &w->no_inherited_limits);
    w->has_no_users = w->no_users = user && !*user;
    return restdb_words(call, "account", &w->accounts, &w->n_accounts) &&
           restdb_words(call, "cluster", &w->clusters, &w->n_clusters) &&
           restdb_words(call, "partition", &w->partitions, &w->n_partitions) &&
           restdb_words(call, "parent_account", &w->parents, &w->n_parents) &&
           restdb_words(call, "user", &w->users, &w->n_users) &&
           restdb_ids(call, "id", &w->ids, &w->n_ids) &&
           restdb_qos(call, "qos", names, &w->qos_ids, &w->n_qos_ids) &&
           restdb_qos(call, "default_qos", names, &w->default_qos_ids, &w->n_default_qos_ids);
}

/* ---- finding --------------------------------------------------------------------------------- */

uint32_t restdb_qos_id(const struct store_names *names, const char *name)
{
    for (size_t i = 0; i < names->n_qos; i++)
        if (!names->qos[i]->deleted && strcasecmp(names->qos[i]->name, name) == 0)
            return names->qos[i]->qos_id;
    return UINT32_MAX;
}

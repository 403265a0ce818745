/* restdbset.c - changes of the accounting store; see restdbset.h */
#include "rest/db/restdbset.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/pb/pbutil.h"
#include "rest/db/restdb.h"
#include "wire/errors.h"
#include "wire/ops.h"

void restdb_changes_init(struct restdb_changes *ch, struct rest_call *call)
{
    *ch = (struct restdb_changes){ .call = call };
    pst__acct_admin_request__init(&ch->request);
}

static void drop_reply(struct restdb_changes *ch)
{
    if (ch->reply)
        pst__acct_admin_reply__free_unpacked(ch->reply, NULL);
    ch->reply = NULL;
}

void restdb_changes_done(struct restdb_changes *ch)
{
    pb_done(&ch->request.base);
    free(ch->labels);
    ch->labels = NULL;
    drop_reply(ch);
}

static void no_memory(struct restdb_changes *ch)
{
    if (!ch->failed)
        restdb_no_memory(ch->call, "slurmdbd");
    ch->failed = true;
}

void *restdb_record(struct restdb_changes *ch, void *field, const ProtobufCMessageDescriptor *type)
{
    ProtobufCMessage **at = field;

    if (!*at) {
        *at = calloc(1, type->sizeof_message);
        if (*at)
            protobuf_c_message_init(type, *at);
        else
            no_memory(ch);
    }
    return *at;
}

Pst__AcctOp *restdb_op(struct restdb_changes *ch, Pst__AcctVerb verb, Pst__AcctEntity entity,
                       const char *what, const char *source)
{
    size_t n = ch->request.n_ops;
    Pst__AcctOp **ops, *op = NULL;
    struct restdb_label *labels;

    if (n >= RESTDB_OPS_MAX) {
        if (!ch->failed)
            rest_error(ch->call, ESLURM_REST_QUERY_UNMET, source, "more than %d changes",
                       RESTDB_OPS_MAX);
        ch->failed = true;
        return NULL;
    }
    ops = reallocarray(ch->request.ops, n + 1, sizeof(Pst__AcctOp *));
    if (ops)
        ch->request.ops = ops;
    labels = reallocarray(ch->labels, n + 1, sizeof(*labels));
    if (labels)
        ch->labels = labels;
    if (!ops || !labels || !restdb_record(ch, &op, &pst__acct_op__descriptor)) {
        no_memory(ch);
        return NULL;
    }
    labels[n] = (struct restdb_label){ what, source };
    ops[n] = op;
    ch->request.n_ops = n + 1;
    op->has_verb = op->has_entity = 1;
    op->verb = verb;
    op->entity = entity;
    if (!restdb_record(ch, &op->where, &pst__acct_cond__descriptor) ||
        !restdb_record(ch, &op->set, &pst__acct_set__descriptor))
        return NULL;
    return op;
}

void restdb_op_drop(struct restdb_changes *ch)
{
    if (ch->request.n_ops)
        pst__acct_op__free_unpacked(ch->request.ops[--ch->request.n_ops], NULL);
}

void restdb_name_or_none(struct restdb_changes *ch, char ***list, size_t *n, const char *text)
{
    char **more = reallocarray(*list, *n + 1, sizeof(*more));
    char *copy = strdup(text ? text : "");

    if (more)
        *list = more;
    if (!more || !copy) {
        free(copy);
        no_memory(ch);
        return;
    }
    more[(*n)++] = copy;
}

void restdb_name(struct restdb_changes *ch, char ***list, size_t *n, const char *text)
{
    if (text && *text)
        restdb_name_or_none(ch, list, n, text);
}

void restdb_names(struct restdb_changes *ch, char ***list, size_t *n, const json_t *value)
{
    json_t *item;
    size_t i;

    if (json_array_size(value) > RESTDB_WORDS_MAX) {
        rest_error(ch->call, ESLURM_REST_QUERY_UNMET, "slurmdbd", "more than %d names",
                   RESTDB_WORDS_MAX);
        ch->failed = true;
        return;
    }
    json_array_foreach(value, i, item) restdb_name(ch, list, n, json_string_value(item));
    for (const char *text = json_string_value(value); text && *text;) {
        size_t len = strcspn(text, ",");
        _cleanup_free_ char *word = strndup(text, len);

        if (word)
            restdb_name(ch, list, n, word);
        else
            no_memory(ch);
        text += len + (text[len] == ',');
    }
}

void restdb_number(struct restdb_changes *ch, uint32_t **list, size_t *n, uint32_t number)
{
    uint32_t *more = reallocarray(*list, *n + 1, sizeof(*more));

    if (!more) {
        no_memory(ch);
        return;
    }
    *list = more;
    more[(*n)++] = number;
}

void restdb_text(struct restdb_changes *ch, char **field, const char *text)
{
    if (pb_set_str(field, text) < 0)
        no_memory(ch);
}

void restdb_unread(struct restdb_changes *ch, int r, const struct err *err, const char *source,
                   const char *name)
{
    if (r == -ENOMEM)
        no_memory(ch);
    else if (!ch->failed)
        rest_error(ch->call, ESLURM_REST_FAIL_PARSING, source, "%.128s: %s", name ? name : "",
                   err->text);
    ch->failed = true;
    ch->call->status = rest_status_of(ESLURM_REST_QUERY_UNMET); /* understood, but impossible */
}

/* What the store said of one operation. */
static bool tell_result(struct restdb_changes *ch, const Pst__AcctOpResult *res,
                        const struct restdb_label *label)
{
    if (!res->has_code || res->code == SLURM_NO_CHANGE_IN_DATA)
        return true;
    rest_error(ch->call, res->code, label->source, "%s() failed", label->what);
    if (res->text && *res->text && res->code != ESLURM_ACCESS_DENIED)
        rest_warning(ch->call, label->source, "%s", res->text + strspn(res->text, " "));
    for (size_t i = 0; i < res->n_lines; i++)
        rest_warning(ch->call, label->source, "%s", res->lines[i] + strspn(res->lines[i], " "));
    return false;
}

bool restdb_send(struct restdb_changes *ch)
{
    const char *source = ch->request.n_ops ? ch->labels[0].source : "slurmdbd";
    struct client *c;
    bool good = true;
    int r;

    drop_reply(ch);
    if (ch->failed)
        return false;
    if (!ch->request.n_ops)
        return true;
    c = rest_acct(ch->call, source);
    if (!c)
        return false;
    r = client_call(c, OP_ACCT_ADMIN, &ch->request.base, (ProtobufCMessage **)&ch->reply);
    if (r < 0) {
        rest_failed(ch->call, c, r, source, "%s() failed", ch->labels[0].what);
        return false;
    }
    for (size_t i = 0; i < MIN(ch->reply->n_results, ch->request.n_ops); i++)
        good &= tell_result(ch, ch->reply->results[i], &ch->labels[i]);
    return good;
}

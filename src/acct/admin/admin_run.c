/* admin_run.c - one request under way: records changed, results told, rights asked; see
 * admin_impl.h */
#include "acct/admin/admin_impl.h"

#include <errno.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/pb/pbutil.h"
#include "base/safetext.h"

/* ---- records --------------------------------------------------------------------------------- */

void run_fail_memory(struct admin_run *run)
{
    if (run->r == 0)
        run->r = -ENOMEM;
}

static bool make_room(struct admin_run *run)
{
    size_t cap = run->cap ? run->cap * 2 : 16;
    Pst__AcctChange **changes, **undo;

    if (run->n < run->cap)
        return true;
    changes = reallocarray(run->changes, cap, sizeof(Pst__AcctChange *));
    if (changes)
        run->changes = changes;
    undo = reallocarray(run->undo, cap, sizeof(Pst__AcctChange *));
    if (undo)
        run->undo = undo;
    if (!changes || !undo)
        return false;
    run->cap = cap;
    return true;
}

void *run_dup(struct admin_run *run, const void *rec)
{
    ProtobufCMessage *copy = NULL;

    if (run->r == 0 && pb_dup(rec, &copy) < 0)
        run_fail_memory(run);
    return copy;
}

/* Apply `change` and note it with the one that undoes it. */
static void run_change(struct admin_run *run, Pst__AcctChange *change, const Pst__AcctChange *undo)
{
    Pst__AcctChange *copy, *back;

    if (run->r < 0)
        return;
    change->has_version = 1;
    change->version = run->a->version + run->n + 1;
    if (!make_room(run)) {
        run_fail_memory(run);
        return;
    }
    copy = run_dup(run, change);
    back = run_dup(run, undo);
    if (copy && back)
        run->r = am_apply(run->a->am, change, &run->why);
    if (run->r < 0) {
        if (copy)
            pst__acct_change__free_unpacked(copy, NULL);
        if (back)
            pst__acct_change__free_unpacked(back, NULL);
        return;
    }
    run->changes[run->n] = copy;
    run->undo[run->n++] = back;
}

void run_put(struct admin_run *run, Pst__AcctChange *change)
{
    const Pst__AcctChange *present = am_present(run->a->am, change);
    Pst__AcctChange removal = PST__ACCT_CHANGE__INIT;

    if (!present)
        am_removal(change, &removal);
    run_change(run, change, present ? present : &removal);
}

void run_remove(struct admin_run *run, const Pst__AcctChange *put)
{
    const Pst__AcctChange *present = am_present(run->a->am, put);
    Pst__AcctChange removal = PST__ACCT_CHANGE__INIT;
    Pst__AcctChange *named;

    if (!present || run->r < 0)
        return;
    am_removal(present, &removal); /* borrows the name of a record that is about to go */
    named = run_dup(run, &removal);
    if (named)
        run_change(run, named, present);
    if (named)
        pst__acct_change__free_unpacked(named, NULL);
}

#define DEFINE_PUT(name, type, what)                                                               \
    void run_put_##name(struct admin_run *run, Pst__##type *rec)                                   \
    {                                                                                              \
        Pst__AcctChange change = PST__ACCT_CHANGE__INIT;                                           \
                                                                                                   \
        change.body_case = PST__ACCT_CHANGE__BODY_##what;                                          \
        change.name = rec;                                                                         \
        run_put(run, &change);                                                                     \
    }
DEFINE_PUT(account, AccountRecord, ACCOUNT)
DEFINE_PUT(user, UserRecord, USER)
DEFINE_PUT(assoc, AssocRecord, ASSOC)
DEFINE_PUT(qos, QosRecord, QOS)
DEFINE_PUT(wckey, WckeyRecord, WCKEY)
DEFINE_PUT(resource, ResourceRecord, RESOURCE)
DEFINE_PUT(cluster, AcctClusterRecord, CLUSTER)
DEFINE_PUT(tres, TresRecord, TRES)
DEFINE_PUT(federation, FederationRecord, FEDERATION)

/* ---- what an operation tells ----------------------------------------------------------------- */

void run_fail(struct admin_run *run, int code, const char *fmt, ...)
{
    _cleanup_val_(strbuf_done) struct strbuf sb = STRBUF_INIT;
    va_list ap;

    if (run->res->has_code)
        return;
    run->res->has_code = 1;
    run->res->code = code;
    if (!fmt)
        return;
    va_start(ap, fmt);
    strbuf_addv(&sb, fmt, ap);
    va_end(ap);
    if (strbuf_detach(&sb, &run->res->text) < 0)
        run_fail_memory(run);
}

bool run_ok(const struct admin_run *run)
{
    return run->r == 0 && !run->res->has_code;
}

void run_string(struct admin_run *run, char ***list, size_t *n, const char *text)
{
    char **more = reallocarray(*list, *n + 1, sizeof(char *));
    char *copy = strdup(text);

    if (more)
        *list = more;
    if (!more || !copy) {
        free(copy);
        run_fail_memory(run);
        return;
    }
    more[(*n)++] = copy;
}

/* The newest line stands behind the associations that are there by now. */
static void place_line(struct admin_run *run)
{
    Pst__AcctOpResult *res = run->res;
    uint32_t *more = reallocarray(res->line_at, res->n_lines, sizeof(*more));

    if (!more) {
        run_fail_memory(run);
        return;
    }
    res->line_at = more;
    while (res->n_line_at < res->n_lines)
        more[res->n_line_at++] = (uint32_t)res->n_assocs;
}

void run_line(struct admin_run *run, const char *fmt, ...)
{
    _cleanup_val_(strbuf_done) struct strbuf sb = STRBUF_INIT;
    va_list ap;

    va_start(ap, fmt);
    strbuf_addv(&sb, fmt, ap);
    va_end(ap);
    run_string(run, &run->res->lines, &run->res->n_lines, strbuf_str(&sb));
    place_line(run);
}

void run_name(struct admin_run *run, const char *name)
{
    run_string(run, &run->res->names, &run->res->n_names, name);
}

void run_assoc(struct admin_run *run, struct assoc *a)
{
    Pst__AcctOpResult *res = run->res;
    Pst__AssocRecord **more, told = PST__ASSOC_RECORD__INIT;
    struct assoc *parent = a->user ? NULL : a->parent;
    Pst__AssocRecord *copy;

    told.has_assoc_id = 1;
    told.assoc_id = a->id;
    told.cluster = a->rec->cluster;
    told.account = a->rec->account;
    told.user = a->rec->user;
    told.partition = a->rec->partition;
    told.parent_account = parent ? parent->rec->account : NULL;
    copy = run_dup(run, &told);
    more = copy ? reallocarray(res->assocs, res->n_assocs + 1, sizeof(Pst__AssocRecord *)) : NULL;
    if (!more) {
        if (copy)
            pst__assoc_record__free_unpacked(copy, NULL);
        run_fail_memory(run);
        return;
    }
    res->assocs = more;
    more[res->n_assocs++] = copy;
}

/* ---- rights ---------------------------------------------------------------------------------- */

bool run_good_name(struct admin_run *run, const char *name)
{
    size_t len = strlen(name);
    const char *control = safetext_control(name, "");

    if (control) {
        run_fail(run, ESLURM_BAD_NAME, "a name has no control character, this one at byte %zu",
                 (size_t)(control - name) + 1);
        return false;
    }
    if (strpbrk(name, ":,'\"|")) {
        run_fail(run, ESLURM_BAD_NAME, "\"%s\" can't be a name: one of : , ' \" | is in it", name);
        return false;
    }
    if (len && len <= SQL_KEY_MAX)
        return true;
    run_fail(run, ESLURM_BAD_NAME, "a name has 1 to %d bytes, this one %zu", SQL_KEY_MAX, len);
    return false;
}

bool run_is_admin(const struct admin_run *run)
{
    return run->level >= PST__ADMIN_LEVEL__ADMIN_ADMINISTRATOR;
}

bool run_is_operator(const struct admin_run *run)
{
    return run->level >= PST__ADMIN_LEVEL__ADMIN_OPERATOR;
}

bool run_may_account(struct admin_run *run, const char *cluster, const char *account)
{
    return run_is_operator(run) ||
           (!(run->who->rules & ADMIN_NO_COORDINATORS) &&
            am_is_coordinator(run->a->am, cluster, run->who->user, account));
}

bool run_is_any_coordinator(struct admin_run *run)
{
    const Pst__AccountRecord *acct;
    size_t pos = 0;

    if (run->who->rules & ADMIN_NO_COORDINATORS)
        return false;
    while ((acct = (const Pst__AccountRecord *)am_next(run->a->am, AM_ACCOUNT, &pos))) {
        if (acct->deleted)
            continue;
        if (acct->users_are_coords)
            for (struct assoc *a = am_of_user(run->a->am, run->who->user); a; a = a->next_of_user)
                if (strcasecmp(a->rec->account, acct->name) == 0)
                    return true;
        for (size_t i = 0; i < acct->n_coordinators; i++)
            if (strcmp(acct->coordinators[i], run->who->user) == 0)
                return true;
    }
    return false;
}

void run_deny_adding(struct admin_run *run, const Pst__AcctCond *where)
{
    for (size_t i = 0; i < where->n_names; i++)
        run_name(run, where->names[i]);
    run_deny(run);
}

void run_deny(struct admin_run *run)
{
    run_fail(run, ESLURM_ACCESS_DENIED, NULL);
}

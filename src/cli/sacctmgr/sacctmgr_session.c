/* sacctmgr_session.c - the connection to the accounting store, the question before a change, and
 * failures */
#include <errno.h>
#include <poll.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/pb/pbutil.h"
#include "base/timefmt.h"
#include "cli/sacctmgr/sacctmgr.h"
#include "wire/errors.h"
#include "wire/ops.h"

#define DECIDE_MS 30000
#define QUESTIONS_MAX 100 /* what is told of wrong characters of one answer */

/* ---- the store ------------------------------------------------------------------------------- */

void smgr_fail(struct smgr *s, const char *fmt, ...)
{
    va_list ap;

    (void)fflush(stdout); /* in the order it was said */
    va_start(ap, fmt);
    (void)vfprintf(stderr, fmt, ap); /* a failure to print a failure cannot be told */
    va_end(ap);
    s->status = CLI_EXIT_FAILED;
}

struct client *smgr_client(struct smgr *s)
{
    if (!s->client)
        s->client = cli_connect_acct_or_die(&s->cli);
    return s->client;
}

static void tell_failure(struct smgr *s, struct client *c, int r)
{
    const char *text = NULL;

    if (r == -EREMOTEIO)
        (void)client_error(c, &text);
    smgr_fail(s, "sacctmgr: error: %s\n", text && *text ? text : client_strerror(c, r));
}

/* A kept connection may have died since: once more then. */
static void drop_connection(struct smgr *s)
{
    s->client = client_free(s->client);
}

Pst__AcctAdminReply *smgr_request(struct smgr *s, const Pst__AcctAdminRequest *req)
{
    ProtobufCMessage *reply = NULL;
    struct client *c = smgr_client(s);
    int r = client_call(c, OP_ACCT_ADMIN, &req->base, &reply);

    if (r == 0) {
        smgr_forget_tables(s);
        return PB_AS(acct_admin_reply, reply);
    }
    tell_failure(s, c, r);
    if (r != -EREMOTEIO)
        drop_connection(s);
    return NULL;
}

bool smgr_list(struct smgr *s, Pst__AcctEntity entity, const Pst__AcctCond *where, query_fn *fn,
               void *ctx)
{
    static const ProtobufCMessageDescriptor *const types[] = {
        [PST__ACCT_ENTITY__ACCT_ACCOUNT] = &pst__account_record__descriptor,
        [PST__ACCT_ENTITY__ACCT_ASSOC] = &pst__assoc_record__descriptor,
        [PST__ACCT_ENTITY__ACCT_CLUSTER] = &pst__acct_cluster_record__descriptor,
        [PST__ACCT_ENTITY__ACCT_EVENT] = &pst__acct_event_record__descriptor,
        [PST__ACCT_ENTITY__ACCT_QOS] = &pst__qos_record__descriptor,
        [PST__ACCT_ENTITY__ACCT_RESOURCE] = &pst__resource_record__descriptor,
        [PST__ACCT_ENTITY__ACCT_TRES] = &pst__tres_record__descriptor,
        [PST__ACCT_ENTITY__ACCT_TXN] = &pst__acct_txn_record__descriptor,
        [PST__ACCT_ENTITY__ACCT_USER] = &pst__user_record__descriptor,
        [PST__ACCT_ENTITY__ACCT_WCKEY] = &pst__wckey_record__descriptor,
    };
    Pst__AcctListRequest req = PST__ACCT_LIST_REQUEST__INIT;
    struct client *c = smgr_client(s);
    struct query_info info;
    int r;

    req.has_entity = 1;
    req.entity = entity;
    req.where = (Pst__AcctCond *)where; /* only packed */
    r = query_run(
        c, OP_ACCT_LIST, &req.base,
        entity == PST__ACCT_ENTITY__ACCT_RESERVATION  ? &pst__acct_resv_record__descriptor
        : entity == PST__ACCT_ENTITY__ACCT_INSTANCE   ? &pst__acct_instance_record__descriptor
        : entity == PST__ACCT_ENTITY__ACCT_FEDERATION ? &pst__federation_record__descriptor
                                                      : types[entity],
        fn, ctx, &info);
    if (r == 0)
        return true;
    tell_failure(s, c, r);
    if (r != -EREMOTEIO)
        drop_connection(s);
    return false;
}

void smgr_forget_tables(struct smgr *s)
{
    for (size_t i = 0; i < s->names.n_tres; i++)
        pst__tres_record__free_unpacked(s->names.tres[i], NULL);
    for (size_t i = 0; i < s->names.n_qos; i++)
        pst__qos_record__free_unpacked(s->names.qos[i], NULL);
    free(s->names.tres);
    free(s->names.qos);
    s->names.tres = NULL;
    s->names.qos = NULL;
    s->names.n_tres = s->names.n_qos = 0;
    s->have_tres = s->have_qos = false;
}

/* ---- asking ---------------------------------------------------------------------------------- */

/* Read a character of the answer; -1: none came in time, or there are no more. */
static int read_answer(int64_t until_mono_us)
{
    struct pollfd p = { .fd = STDIN_FILENO, .events = POLLIN };
    int64_t left_ms = (until_mono_us - now_mono_us()) / 1000;
    unsigned char c;

    if (left_ms <= 0 || poll(&p, 1, (int)left_ms) <= 0)
        return -1;
    return read(STDIN_FILENO, &c, 1) == 1 ? c : -2;
}

/* The rest of the line of an answer: the prompt's commands are on the lines after it. */
static void skip_line(int c)
{
    struct pollfd p = { .fd = STDIN_FILENO, .events = POLLIN };
    unsigned char next = (unsigned char)c;

    while (c >= 0 && next != '\n' && poll(&p, 1, 0) > 0 && read(STDIN_FILENO, &next, 1) == 1)
        ;
}

bool smgr_ask(struct smgr *s, const char *question)
{
    int64_t until = now_mono_us() + DECIDE_MS * INT64_C(1000);
    int c;

    if (s->immediate)
        return true;
    printf("%s (You have 30 seconds to decide)\n(N/y): ", question);
    (void)fflush(stdout); /* it shows when it does */
    for (unsigned i = 0;; i++) {
        c = read_answer(until);
        if (i < QUESTIONS_MAX)
            printf("\n");
        if (c < 0 || strchr("nNyY\n", c ? c : ' '))
            break;
        if (i + 1 < QUESTIONS_MAX)
            printf("Y or N please\n(N/y): ");
        (void)fflush(stdout);
    }
    if (c == -2)
        printf("error: Inappropriate ioctl for device\n");
    if (s->prompting)
        skip_line(c);
    return c == 'y' || c == 'Y';
}

bool smgr_commit(struct smgr *s)
{
    if (smgr_ask(s, "Would you like to commit changes?"))
        return true;
    printf(" Changes Discarded\n");
    return false;
}

bool smgr_may_write(struct smgr *s, const char *verb)
{
    if (!s->readonly)
        return true;
    smgr_fail(s, "Can't run this command in readonly mode.\n");
    (void)verb;
    return false;
}

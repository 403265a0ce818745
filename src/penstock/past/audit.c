/* audit.c - penstock journal audit: who changed what, when, and from where; see audit.h
 *
 * Text of users is quoted: a line is a record, whatever a job is called. */
#include "penstock/past/audit.h"

#include <ctype.h>
#include <errno.h>
#include <getopt.h>
#include <inttypes.h>
#include <pwd.h>
#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "base/pb/pbutil.h"
#include "base/strbuf.h"
#include "base/timefmt.h"
#include "journal/journal.h"
#include "penstock/past/moment.h"
#include "penstock/penstock.h"
#include "wire/ops.h"

#define VALUE_BYTES 200 /* of a changed field, in a line */

/* ---- which ----------------------------------------------------------------------------------- */

/* The job that an event is about; 0: none. */
static uint32_t job_of(const Pst__Event *e)
{
    switch (e->body_case) {
    case PST__EVENT__BODY_JOB_PUT:
        return e->job_put->job_id;
    case PST__EVENT__BODY_JOB_PATCH:
        return e->job_patch->job_id;
    case PST__EVENT__BODY_STEP_PUT:
        return e->step_put->job_id;
    case PST__EVENT__BODY_STEP_PATCH:
        return e->step_patch->job_id;
    case PST__EVENT__BODY_JOB_PURGE:
        return e->job_purge;
    default:
        return 0;
    }
}

/* Kinds that somebody asks for; before who did was noted they alone tell. */
static bool is_asked(Pst__EventKind kind)
{
    switch (kind) {
    case PST__EVENT_KIND__EV_JOB_SUBMIT:
    case PST__EVENT_KIND__EV_JOB_UPDATE:
    case PST__EVENT_KIND__EV_JOB_HOLD:
    case PST__EVENT_KIND__EV_JOB_RELEASE:
    case PST__EVENT_KIND__EV_NODE_UPDATE:
    case PST__EVENT_KIND__EV_PART_UPDATE:
    case PST__EVENT_KIND__EV_TRIGGER_SET:
    case PST__EVENT_KIND__EV_CRONTAB_SET:
    case PST__EVENT_KIND__EV_RESV_CREATE:
    case PST__EVENT_KIND__EV_RESV_UPDATE:
    case PST__EVENT_KIND__EV_RESV_DELETE:
    case PST__EVENT_KIND__EV_ACCT:
        return true;
    default:
        return false;
    }
}

static bool has_asker(const Pst__Transaction *tx)
{
    bool asked = tx->has_uid;

    for (size_t i = 0; i < tx->n_events; i++)
        asked |= is_asked(tx->events[i]->kind);
    return asked;
}

static bool has_job(const Pst__Transaction *tx, uint32_t job)
{
    for (size_t i = 0; i < tx->n_events; i++)
        if (job_of(tx->events[i]) == job)
            return true;
    return false;
}

bool audit_matches(const struct audit_filter *f, const Pst__Transaction *tx)
{
    return tx->time_us >= f->from_us && tx->time_us <= f->until_us &&
           (!f->by_uid || (tx->has_uid && tx->uid == f->uid)) &&
           (!f->by_op || (tx->has_op && tx->op == f->op)) && (!f->job || has_job(tx, f->job)) &&
           (f->all || f->by_uid || f->by_op || has_asker(tx));
}

/* ---- printing -------------------------------------------------------------------------------- */

/* EV_JOB_SUBMIT as job-submit. */
static const char *kind_name(Pst__EventKind kind, char *buf, size_t size)
{
    const ProtobufCEnumValue *v =
        protobuf_c_enum_descriptor_get_value(&pst__event_kind__descriptor, kind);
    size_t n = 0;

    for (const char *p = v ? v->name + strlen("EV_") : "unknown"; *p && n + 1 < size; p++)
        buf[n++] = *p == '_' ? '-' : (char)tolower((unsigned char)*p);
    buf[n] = '\0';
    return buf;
}

/* The fields that an event changes; NULL: it brings or takes the whole. */
static const ProtobufCMessage *changes_of(const Pst__Event *e)
{
    switch (e->body_case) {
    case PST__EVENT__BODY_JOB_PATCH:
        return e->job_patch->set ? &e->job_patch->set->base : NULL;
    case PST__EVENT__BODY_STEP_PATCH:
        return e->step_patch->set ? &e->step_patch->set->base : NULL;
    case PST__EVENT__BODY_NODE_PATCH:
        return e->node_patch->set ? &e->node_patch->set->base : NULL;
    case PST__EVENT__BODY_PART_PATCH:
        return e->part_patch->set ? &e->part_patch->set->base : NULL;
    default:
        return NULL;
    }
}

/* What an event is about: the kind of object, and its name. */
static const char *object_of(const Pst__Event *e, char *name, size_t size)
{
    uint32_t job = job_of(e);

    if (job) {
        (void)snprintf(name, size, "%" PRIu32, job);
        return "job";
    }
    switch (e->body_case) {
    case PST__EVENT__BODY_NODE_PUT:
        (void)log_quote(e->node_put->name ? e->node_put->name : "", name, size);
        return "node";
    case PST__EVENT__BODY_NODE_PATCH:
        (void)snprintf(name, size, "%" PRIu32, e->node_patch->node_id);
        return "node_id";
    case PST__EVENT__BODY_NODE_REMOVE:
        (void)snprintf(name, size, "%" PRIu32, e->node_remove);
        return "node_id";
    case PST__EVENT__BODY_PART_PUT:
        (void)log_quote(e->part_put->name ? e->part_put->name : "", name, size);
        return "partition";
    case PST__EVENT__BODY_PART_PATCH:
        (void)log_quote(e->part_patch->name ? e->part_patch->name : "", name, size);
        return "partition";
    case PST__EVENT__BODY_PART_REMOVE:
        (void)log_quote(e->part_remove, name, size);
        return "partition";
    case PST__EVENT__BODY_RESV_PUT:
        (void)log_quote(e->resv_put->name ? e->resv_put->name : "", name, size);
        return "reservation";
    case PST__EVENT__BODY_RESV_REMOVE:
        (void)snprintf(name, size, "%" PRIu32, e->resv_remove);
        return "resv_id";
    case PST__EVENT__BODY_CRONTAB_PUT:
        (void)snprintf(name, size, "%" PRIu32, e->crontab_put->uid);
        return "crontab";
    case PST__EVENT__BODY_CRONTAB_END:
        (void)snprintf(name, size, "%" PRIu32, e->crontab_end->uid);
        return "crontab";
    default:
        return NULL;
    }
}

/* A message as one line of JSON, cut to VALUE_BYTES for people. */
static void print_changes(FILE *out, const ProtobufCMessage *m)
{
    _cleanup_free_ char *text = NULL;
    size_t len = 0;
    FILE *f = open_memstream(&text, &len);

    if (!f)
        return;
    (void)pb_json_write(f, m, -1); /* shows as an empty text */
    if (fclose(f) == 0)
        (void)fprintf(out, " %.*s%s", (int)MIN(len, (size_t)VALUE_BYTES), text,
                      len > VALUE_BYTES ? "..." : "");
}

/* Blobs and facts about the cluster come with others and are nobody's wish. */
static bool is_shown(const Pst__Event *e)
{
    return e->body_case != PST__EVENT__BODY_BLOB_PUT &&
           e->body_case != PST__EVENT__BODY_CLUSTER_SET &&
           e->body_case != PST__EVENT__BODY_JOB_NOTE;
}

static void print_text_event(FILE *out, const Pst__Event *e)
{
    const ProtobufCMessage *set = changes_of(e);
    char kind[64], name[256];
    const char *object = object_of(e, name, sizeof(name));

    (void)fprintf(out, " %s", kind_name(e->kind, kind, sizeof(kind)));
    if (object)
        (void)fprintf(out, " %s=%s", object, name);
    if (set)
        print_changes(out, set);
}

static void print_json_event(FILE *out, const Pst__Event *e)
{
    const ProtobufCMessage *set = changes_of(e);
    char kind[64], name[256];
    const char *object = object_of(e, name, sizeof(name));

    (void)fprintf(out, "{\"kind\":\"%s\"", kind_name(e->kind, kind, sizeof(kind)));
    if (object) {
        (void)fprintf(out, ",\"%s\":", object);
        pb_json_string(out, name);
    }
    if (set) {
        (void)fputs(",\"set\":", out);
        (void)pb_json_write(out, set, -1);
    }
    (void)fputc('}', out);
}

static const char *user_name(uint32_t uid, char *buf, size_t size)
{
    const struct passwd *pw = getpwuid(uid);

    (void)snprintf(buf, size, "%s", pw ? pw->pw_name : "");
    if (!pw)
        (void)snprintf(buf, size, "%" PRIu32, uid);
    return buf;
}

static const char *op_name(const Pst__Transaction *tx)
{
    const struct wire_op_info *info = tx->has_op ? wire_op_info(tx->op) : NULL;

    return info ? info->name : "-";
}

static const char *origin_of(const Pst__Transaction *tx)
{
    return tx->from ? tx->from : tx->has_op ? "local" : "-";
}

static bool is_address(const char *text)
{
    return *text && text[strspn(text, "0123456789abcdefABCDEF.:%")] == '\0';
}

static void print_text(FILE *out, uint64_t lsn, const Pst__Transaction *tx, const char *when)
{
    char user[128] = "-", from[160];

    if (tx->has_uid)
        (void)user_name(tx->uid, user, sizeof(user));
    (void)fprintf(out, "%" PRIu64 " %s %s %s %s", lsn, when, user,
                  tx->from && !is_address(tx->from) ? log_quote(tx->from, from, sizeof(from))
                                                    : origin_of(tx),
                  op_name(tx));
    for (size_t i = 0, n = 0; i < tx->n_events; i++) {
        if (!is_shown(tx->events[i]))
            continue;
        if (n++)
            (void)fputc(';', out);
        print_text_event(out, tx->events[i]);
    }
    (void)fputc('\n', out);
}

static void print_json(FILE *out, uint64_t lsn, const Pst__Transaction *tx, const char *when)
{
    char user[128];
    size_t n = 0;

    (void)fprintf(out, "{\"lsn\":%" PRIu64 ",\"time\":\"%s\",\"time_us\":%" PRId64, lsn, when,
                  tx->time_us);
    if (tx->has_uid) {
        (void)fprintf(out, ",\"uid\":%" PRIu32 ",\"user\":", tx->uid);
        pb_json_string(out, user_name(tx->uid, user, sizeof(user)));
    }
    if (tx->has_op) {
        (void)fprintf(out, ",\"op\":\"%s\",\"from\":", op_name(tx));
        pb_json_string(out, origin_of(tx));
    }
    (void)fputs(",\"events\":[", out);
    for (size_t i = 0; i < tx->n_events; i++) {
        if (!is_shown(tx->events[i]))
            continue;
        if (n++)
            (void)fputc(',', out);
        print_json_event(out, tx->events[i]);
    }
    (void)fputs("]}\n", out);
}

void audit_print(FILE *out, bool json, uint64_t lsn, const Pst__Transaction *tx)
{
    char when[64];

    time_fmt_stamp(tx->time_us, "-", tx->time_us, when, sizeof(when));
    if (json)
        print_json(out, lsn, tx, when);
    else
        print_text(out, lsn, tx, when);
}

/* ---- the command ----------------------------------------------------------------------------- */

struct audit {
    struct audit_filter filter;
    bool json;
    char state[INSTANCE_PATH_MAX];
    struct err err;
};

static int show_record(void *ctx, uint64_t lsn, bool snapshot, const uint8_t *data, size_t len)
{
    struct audit *a = ctx;
    Pst__Transaction *tx = pst__transaction__unpack(NULL, len, data);

    (void)snapshot;
    if (!tx)
        return err_set(&a->err, -EUCLEAN, "lsn %" PRIu64 ": the record is no transaction", lsn);
    if (audit_matches(&a->filter, tx))
        audit_print(stdout, a->json, lsn, tx);
    pst__transaction__free_unpacked(tx, NULL);
    return ferror(stdout) ? err_set(&a->err, -EIO, "cannot write: %s", strerror(errno)) : 0;
}

static int take_user(struct audit *a, const char *text)
{
    const struct passwd *pw = getpwnam(text);
    uint64_t uid = pw ? pw->pw_uid : 0;

    if (!pw && parse_u64(text, 0, UINT32_MAX, &uid) < 0)
        return usage_error("--user: there is no user %s", text);
    a->filter.by_uid = true;
    a->filter.uid = (uint32_t)uid;
    return STATUS_OK;
}

static int take_op(struct audit *a, const char *text)
{
    for (unsigned op = 0; op < OP_MAX_; op++) {
        const struct wire_op_info *info = wire_op_info(op);

        if (info && info->name && strcmp(info->name, text) == 0) {
            a->filter.by_op = true;
            a->filter.op = op;
            return STATUS_OK;
        }
    }
    return usage_error("--op: there is no operation %s (such as job-submit, node-update)", text);
}

static int take_time(const char *option, const char *text, int64_t *ret)
{
    struct err err = { .text = "" };

    if (time_when_parse(text, now_us(), false, ret, &err) < 0)
        return usage_error("--%s: %s", option, err.text);
    return STATUS_OK;
}

static int take_option(struct audit *a, int c, const char *arg, const char **state)
{
    uint64_t job;

    switch (c) {
    case 'u':
        return take_user(a, arg);
    case 'f':
        return take_time("from", arg, &a->filter.from_us);
    case 't':
        return take_time("until", arg, &a->filter.until_us);
    case 'o':
        return take_op(a, arg);
    case 'j':
        if (parse_u64(arg, 1, UINT32_MAX, &job) < 0)
            return usage_error("--job: %s is no job's number", arg);
        a->filter.job = (uint32_t)job;
        return STATUS_OK;
    case 's':
        *state = arg;
        return STATUS_OK;
    case 'a':
        a->filter.all = true;
        return STATUS_OK;
    case 'J':
        a->json = true;
        return STATUS_OK;
    default:
        return bad_option();
    }
}

static int print_audit(struct audit *a)
{
    uint64_t from = 0;
    struct err err = { .text = "" };
    int r = a->filter.from_us ? moment_first(a->state, a->filter.from_us, &from, &err) : 0;

    if (r == 0 && from != UINT64_MAX)
        r = journal_dump(a->state, from, UINT64_MAX, show_record, a, &err);
    if (r < 0)
        return say_error("%s", a->err.text[0] ? a->err.text : err.text);
    return STATUS_OK;
}

int cmd_journal_audit(int argc, char **argv)
{
    static const struct option longs[] = { { "user", required_argument, NULL, 'u' },
                                           { "from", required_argument, NULL, 'f' },
                                           { "until", required_argument, NULL, 't' },
                                           { "op", required_argument, NULL, 'o' },
                                           { "job", required_argument, NULL, 'j' },
                                           { "state", required_argument, NULL, 's' },
                                           { "all", no_argument, NULL, 'a' },
                                           { "json", no_argument, NULL, 'J' },
                                           { NULL, 0, NULL, 0 } };
    struct audit a = { .filter = { .until_us = INT64_MAX } };
    const char *state = NULL;
    int c, r = STATUS_OK;

    while (r == STATUS_OK && (c = getopt_long(argc, argv, "", longs, NULL)) != -1)
        r = take_option(&a, c, optarg, &state);
    if (r != STATUS_OK)
        return r;
    if (optind < argc)
        return usage_error("journal audit: unexpected argument: %s", argv[optind]);
    r = state ? journal_find(state, a.state) : journal_of_site(a.state);
    return r == STATUS_OK ? print_audit(&a) : r;
}

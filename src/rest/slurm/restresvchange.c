/* restresvchange.c - changes of reservations; see restresvchange.h */
#include "rest/slurm/restresvchange.h"

#include <errno.h>
#include <stdarg.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/hostlist.h"
#include "base/strbuf.h"
#include "base/timefmt.h"
#include "cli/query/resvkeys.h"
#include "rest/slurm/restkeys.h"
#include "wire/errors.h"
#include "wire/ops.h"

static const struct restkey resv_keys[] = {
    { "accounts", "Accounts", RESTKEY_TEXT },
    { "burst_buffer", "BurstBuffer", RESTKEY_TEXT },
    { "comment", "Comment", RESTKEY_TEXT },
    { "core_count", "CoreCnt", RESTKEY_NUMBER },
    { "end_time", "EndTime", RESTKEY_TIME },
    { "features", "Features", RESTKEY_TEXT },
    { "groups", "Groups", RESTKEY_TEXT },
    { "licenses", "Licenses", RESTKEY_TEXT },
    { "node_count", "NodeCnt", RESTKEY_NUMBER },
    { "node_list", "Nodes", RESTKEY_TEXT },
    { "partition", "PartitionName", RESTKEY_TEXT },
    { "start_time", "StartTime", RESTKEY_TIME },
    { "users", "Users", RESTKEY_TEXT },
    { 0 },
};

static int take_word(void *ctx, const char *word, struct err *err)
{
    return resvkeys_take(ctx, word, now_us(), err);
}

/* How the words of "flags" change the meaning of other members. */
struct resv_words {
    bool plus, minus; /* the duration is a change */
    bool per_node;    /* the tres are those of each node */
};

/* Words that the answers have and that follow from other members. */
static bool follows_from_others(const char *flag)
{
    return strcmp(flag, "SPEC_NODES") == 0 || strcmp(flag, "ALL_NODES") == 0 ||
           strcmp(flag, "REOCCURRING") == 0;
}

static bool give_word(struct rest_call *call, struct resvkeys *k, const char *field,
                      const char *source, const char *format, ...)
    __attribute__((format(printf, 5, 6)));

static bool give_word(struct rest_call *call, struct resvkeys *k, const char *field,
                      const char *source, const char *format, ...)
{
    _cleanup_val_(strbuf_done) struct strbuf word = STRBUF_INIT;
    struct err err = { .text = "" };
    va_list ap;

    va_start(ap, format);
    strbuf_addv(&word, format, ap);
    va_end(ap);
    if (resvkeys_take(k, strbuf_str(&word), now_us(), &err) == 0)
        return true;
    rest_error_said(call, ESLURM_REST_INVALID_QUERY, err.text, source, "Unable to take %s", field);
    return false;
}

/* One flag: of the reservation, NO_ and one to clear, or a word about other members. */
static bool take_flag(struct rest_call *call, struct resvkeys *k, const char *flag,
                      struct resv_words *w, const char *source)
{
    static const char no[] = "NO_";
    bool clear = strncmp(flag, no, strlen(no)) == 0 && strcmp(flag, "NO_HOLD_JOBS_AFTER_END") != 0;

    if (strcmp(flag, "DURATION_PLUS") == 0)
        w->plus = true;
    else if (strcmp(flag, "DURATION_MINUS") == 0)
        w->minus = true;
    else if (strcmp(flag, "TRES_PER_NODE") == 0)
        w->per_node = true;
    else if (strcmp(flag, "SKIP") == 0)
        return give_word(call, k, "flags", source, "Skip");
    else if (!follows_from_others(flag))
        return give_word(call, k, "flags", source, "Flags%s=%s", clear ? "-" : "+",
                         clear ? flag + strlen(no) : flag);
    return true;
}

static bool take_flags(struct rest_call *call, struct resvkeys *k, const json_t *resv,
                       struct resv_words *w, const char *source)
{
    json_t *flag;
    size_t i;

    json_array_foreach(json_object_get(resv, "flags"), i, flag)
    {
        if (!take_flag(call, k, json_string_value(flag), w, source))
            return false;
    }
    if (w->plus && w->minus) {
        rest_error(call, ESLURM_REST_INVALID_QUERY, source,
                   "flags: DURATION_PLUS and DURATION_MINUS exclude each other");
        return false;
    }
    return true;
}

static bool take_duration(struct rest_call *call, struct resvkeys *k, const json_t *resv,
                          const struct resv_words *w, const char *source)
{
    struct rest_number n = rest_number(json_object_get(resv, "duration"));
    const char *text = rest_text(resv, "duration"); /* "1-00:00", as scontrol takes it */

    if (n.infinite)
        return give_word(call, k, "duration", source, "Duration=UNLIMITED");
    if (n.set)
        return give_word(call, k, "duration", source, "Duration%s=%llu",
                         w->plus    ? "+"
                         : w->minus ? "-"
                                    : "",
                         (unsigned long long)n.value);
    return !text || give_word(call, k, "duration", source, "Duration=%s", text);
}

/* Members that are seconds, where the words of scontrol count minutes. */
static bool take_seconds(struct rest_call *call, const json_t *value, const char *field,
                         const char *source, protobuf_c_boolean *has, uint32_t *ret)
{
    struct rest_number n = rest_number(value);

    if (!n.set)
        return true;
    if (n.value > INT32_MAX) {
        rest_error(call, ESLURM_REST_INVALID_QUERY, source, "%s: too many seconds", field);
        return false;
    }
    *has = true;
    *ret = (uint32_t)n.value;
    return true;
}

static bool take_delays(struct rest_call *call, struct resvkeys *k, const json_t *resv,
                        const char *source)
{
    const json_t *purge = json_object_get(json_object_get(resv, "purge_completed"), "time");
    bool ok = take_seconds(call, json_object_get(resv, "max_start_delay"), "max_start_delay",
                           source, &k->set.has_max_start_delay_s, &k->set.max_start_delay_s) &&
              take_seconds(call, purge, "purge_completed.time", source, &k->set.has_purge_comp_s,
                           &k->set.purge_comp_s);

    if (k->set.has_max_start_delay_s || k->set.has_purge_comp_s)
        k->req.set = &k->set;
    return ok;
}

static bool take_members(struct rest_call *call, struct resvkeys *k, const json_t *resv,
                         const char *source)
{
    static const struct restkey all[] = { { "tres", "TRES", RESTKEY_TRES }, { 0 } },
                                each[] = { { "tres", "TRESPerNode", RESTKEY_TRES }, { 0 } };
    struct resv_words w = { .plus = false };

    return restkeys_apply(call, resv, resv_keys, take_word, k, source) &&
           take_flags(call, k, resv, &w, source) && take_duration(call, k, resv, &w, source) &&
           take_delays(call, k, resv, source) &&
           restkeys_apply(call, resv, w.per_node ? each : all, take_word, k, source);
}

static int send_create(struct client *c, struct resvkeys *k, Pst__ResvReply **ret)
{
    k->req.has_create = k->req.create = true;
    return client_call(c, OP_RESV_UPDATE, &k->req.base, (ProtobufCMessage **)ret);
}

static void tell_texts(struct json *js, const json_t *resv, const char *key)
{
    _cleanup_free_ char *list = rest_joined(resv, key);

    json_words(js, key, list ? list : "");
}

static void tell_nodes(struct json *js, const json_t *resv)
{
    _cleanup_free_ char *list = rest_joined(resv, "node_list");
    _cleanup_(hostlist_free) struct hostlist *hosts = NULL;

    json_list(js, "node_list");
    if (list && hostlist_parse_most(list, HOSTLIST_MAX_NODES, &hosts, NULL) == 0)
        for (size_t i = 0; i < hostlist_count(hosts); i++)
            json_str(js, NULL, hostlist_nth(hosts, i));
    json_list_end(js);
}

static void tell_number(struct json *js, const json_t *object, const char *key)
{
    struct rest_number n = rest_number(json_object_get(object, key));

    json_number(js, key, n.set, n.infinite, n.value);
}

static void tell_tres(struct json *js, const json_t *resv)
{
    json_t *one;
    size_t i;

    json_list(js, "tres");
    json_array_foreach(json_object_get(resv, "tres"), i, one)
    {
        json_map(js, NULL);
        json_str(js, "type", rest_text(one, "type"));
        json_str(js, "name", rest_text(one, "name"));
        json_int(js, "id", json_integer_value(json_object_get(one, "id")));
        json_int(js, "count", (int64_t)rest_number(json_object_get(one, "count")).value);
        json_map_end(js);
    }
    json_list_end(js);
}

/* The description that was taken, with the name that the reservation has: a member of
 * "reservations" of the answer, which the first one begins. */
static void tell_changed(struct rest_call *call, const Pst__ResvReply *reply, const json_t *resv,
                         bool *listed)
{
    struct json *js = &call->js;

    if (!*listed)
        json_list(js, "reservations");
    *listed = true;
    json_map(js, NULL);
    tell_texts(js, resv, "accounts");
    json_str(js, "burst_buffer", rest_text(resv, "burst_buffer"));
    json_str(js, "comment", rest_text(resv, "comment"));
    tell_number(js, resv, "core_count");
    tell_number(js, resv, "duration");
    tell_number(js, resv, "end_time");
    json_str(js, "features", rest_text(resv, "features"));
    tell_texts(js, resv, "flags");
    tell_texts(js, resv, "groups");
    tell_texts(js, resv, "licenses");
    tell_number(js, resv, "max_start_delay");
    json_str(js, "name", reply->name && reply->name[0] ? reply->name : rest_text(resv, "name"));
    tell_number(js, resv, "node_count");
    tell_nodes(js, resv);
    json_str(js, "partition", rest_text(resv, "partition"));
    json_map(js, "purge_completed");
    tell_number(js, json_object_get(resv, "purge_completed"), "time");
    json_map_end(js);
    tell_number(js, resv, "start_time");
    tell_tres(js, resv);
    tell_texts(js, resv, "users");
    json_map_end(js);
}

static void end_told(struct rest_call *call, bool listed)
{
    if (listed)
        json_list_end(&call->js);
}

/* A reservation that is not there yet is made. */
static void send_resv(struct rest_call *call, struct resvkeys *k, const json_t *resv,
                      const char *source, bool *listed)
{
    const char *name = rest_text(resv, "name");
    struct client *c = rest_ctld(call, source);
    struct err err = { .text = "" };
    Pst__ResvReply *reply = NULL;
    int r;

    if (!c)
        return;
    r = client_call(c, OP_RESV_UPDATE, &k->req.base, (ProtobufCMessage **)&reply);
    if (r == -EREMOTEIO && client_error(c, NULL) == ESLURM_RESERVATION_INVALID) {
        if (resvkeys_check_create(k, &err) < 0) {
            rest_error_said(call, ESLURM_REST_INVALID_QUERY, err.text, source,
                            "Failure to create reservation %.256s", name);
            return;
        }
        r = send_create(c, k, &reply);
    }
    if (r < 0) {
        rest_failed(call, c, r, source, "Failure to create or update reservation %.256s", name);
        return;
    }
    tell_changed(call, reply, resv, listed);
    pst__resv_reply__free_unpacked(reply, NULL);
}

static void change_resv(struct rest_call *call, const json_t *resv, const char *source,
                        bool *listed)
{
    const char *name = rest_text(resv, "name");
    struct resvkeys k;

    if (!name || !name[0]) { /* what is made under a name of its own twice would be made twice */
        rest_error(call, ESLURM_RESERVATION_INVALID, source, "name: the reservation is wanted");
        return;
    }
    resvkeys_init(&k);
    k.req.name = strdup(name);
    if (take_members(call, &k, resv, source))
        send_resv(call, &k, resv, source, listed);
    resvkeys_done(&k);
}

static void post_resv(struct rest_call *call)
{
    bool listed = false;

    if (json_is_object(call->body))
        change_resv(call, call->body, "_handle_reservation_post", &listed);
    else
        rest_error(call, ESLURM_REST_INVALID_QUERY, "_handle_reservation_post",
                   "A body with the reservation is wanted");
    end_told(call, listed);
}

static void post_resvs(struct rest_call *call)
{
    const json_t *list = json_object_get(call->body, "reservations");
    bool listed = false;
    json_t *resv;
    size_t i;

    if (!json_array_size(list))
        rest_error(call, ESLURM_REST_INVALID_QUERY, "_handle_reservations_post",
                   "reservations: a list of reservations is wanted");
    json_array_foreach(list, i, resv) change_resv(call, resv, "_handle_reservations_post", &listed);
    end_told(call, listed);
}

static void delete_resv(struct rest_call *call)
{
    static const char source[] = "slurm_delete_reservation()";
    Pst__ResvRequest request = PST__RESV_REQUEST__INIT;
    struct client *c = rest_ctld(call, source);
    int r;

    if (!c)
        return;
    request.has_remove = request.remove = true;
    request.name = (char *)(uintptr_t)call->word; /* only read */
    r = client_call(c, OP_RESV_UPDATE, &request.base, NULL);
    if (r < 0)
        rest_failed(call, c, r, source, "Failure to delete reservation %.256s", call->word);
}

const struct rest_row rest_resv_change_rows[] = {
    { "POST", REST_SLURM, "reservation", 43, post_resv, false },
    { "POST", REST_SLURM, "reservations", 43, post_resvs, false },
    { "DELETE", REST_SLURM, "reservation/{}", 0, delete_resv, false },
    { 0 },
};

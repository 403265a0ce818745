/* restresvchange.c - changes of reservations; see restresvchange.h */
#include "rest/slurm/restresvchange.h"

#include <errno.h>
#include <string.h>

#include "base/cleanup.h"
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
    { "duration", "Duration", RESTKEY_NUMBER },
    { "end_time", "EndTime", RESTKEY_TIME },
    { "features", "Features", RESTKEY_TEXT },
    { "flags", "Flags", RESTKEY_TEXT },
    { "groups", "Groups", RESTKEY_TEXT },
    { "licenses", "Licenses", RESTKEY_TEXT },
    { "max_start_delay", "MaxStartDelay", RESTKEY_NUMBER },
    { "node_count", "NodeCnt", RESTKEY_NUMBER },
    { "node_list", "Nodes", RESTKEY_TEXT },
    { "partition", "PartitionName", RESTKEY_TEXT },
    { "start_time", "StartTime", RESTKEY_TIME },
    { "tres", "TRES", RESTKEY_TRES },
    { "users", "Users", RESTKEY_TEXT },
    { 0 },
};

static int take_word(void *ctx, const char *word, struct err *err)
{
    return resvkeys_take(ctx, word, now_us(), err);
}

/* PURGE_COMP with the time that stands beside the flags. */
static bool take_purge(struct rest_call *call, struct resvkeys *k, const json_t *resv,
                       const char *source)
{
    const json_t *purge = json_object_get(resv, "purge_completed");
    struct rest_number time = rest_number(json_object_get(purge, "time"));
    struct err err = { .text = "" };
    char word[64];

    if (!time.set || !time.value)
        return true;
    (void)snprintf(word, sizeof(word), "Flags+=PURGE_COMP=%llu",
                   (unsigned long long)time.value); /* fits */
    if (resvkeys_take(k, word, now_us(), &err) == 0)
        return true;
    rest_error_said(call, ESLURM_REST_INVALID_QUERY, err.text, source,
                    "Unable to take purge_completed");
    return false;
}

static int send_create(struct client *c, struct resvkeys *k, Pst__ResvReply **ret)
{
    k->req.has_create = k->req.create = true;
    return client_call(c, OP_RESV_UPDATE, &k->req.base, (ProtobufCMessage **)ret);
}

/* What was made or changed, by its name: "reservations" of the answer, begun by the first one. */
static void tell_changed(struct rest_call *call, const Pst__ResvReply *reply, const char *name,
                         bool *listed)
{
    if (!*listed)
        json_list(&call->js, "reservations");
    *listed = true;
    json_map(&call->js, NULL);
    json_str(&call->js, "name", reply->name && reply->name[0] ? reply->name : name);
    json_map_end(&call->js);
}

static void end_told(struct rest_call *call, bool listed)
{
    if (listed)
        json_list_end(&call->js);
}

/* A reservation that is not there yet is made. */
static void send_resv(struct rest_call *call, struct resvkeys *k, const char *name,
                      const char *source, bool *listed)
{
    struct client *c = rest_ctld(call, source);
    struct err err = { .text = "" };
    Pst__ResvReply *reply = NULL;
    int r = -ENOENT;

    if (!c)
        return;
    if (name[0])
        r = client_call(c, OP_RESV_UPDATE, &k->req.base, (ProtobufCMessage **)&reply);
    if (r == -ENOENT || (r == -EREMOTEIO && client_error(c, NULL) == ESLURM_RESERVATION_INVALID)) {
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
    tell_changed(call, reply, name, listed);
    pst__resv_reply__free_unpacked(reply, NULL);
}

static void change_resv(struct rest_call *call, const json_t *resv, const char *source,
                        bool *listed)
{
    const char *name = rest_text(resv, "name");
    struct resvkeys k;

    resvkeys_init(&k);
    k.req.name = name && name[0] ? strdup(name) : NULL;
    if (restkeys_apply(call, resv, resv_keys, take_word, &k, source) &&
        take_purge(call, &k, resv, source))
        send_resv(call, &k, name ? name : "", source, listed);
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

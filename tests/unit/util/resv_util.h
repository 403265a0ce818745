/* resv_util.h - reservations of one controller with four played nodes: requests and questions */
#pragma once

#include "ctld_policy_util.h"

#include "model/words/resvwords.h"

#define HOUR_US (3600 * SEC)
#define NO_TIMES ((struct hours){ 0 })

struct hours { /* times of a request, in hours from now; 0 = not given */
    int start, end;
};
UTIL const struct hours later = { 100, 101 };

static struct fake_node *nodes[4];

UTIL int setup_nodes(void **state)
{
    static const char *const names[] = { "n0", "n1", "n2", "n3" };

    (void)setup(state);
    for (size_t i = 0; i < ARRAY_SIZE(nodes); i++)
        nodes[i] = node_up(&shared, names[i], "boot", NULL);
    return 0;
}

UTIL int teardown_nodes(void **state)
{
    for (size_t i = 0; i < ARRAY_SIZE(nodes); i++)
        node_free(nodes[i]);
    return teardown(state);
}

/* rest: what stands beside `set`, and set itself, both without braces. */
UTIL int request(struct client *c, const char *rest, struct hours h, const char *set)
{
    char json[1024], times[96];
    int64_t now = now_us();
    int n = 0;

    times[0] = '\0';
    if (h.start)
        n = snprintf(times, sizeof(times), ",'start_us':%lld",
                     (long long)(now + h.start * HOUR_US));
    if (h.end)
        (void)snprintf(times + n, sizeof(times) - (size_t)n, ",'end_us':%lld",
                       (long long)(now + h.end * HOUR_US));
    (void)snprintf(json, sizeof(json), "{%s,'set':{%s%s}}", rest, set,
                   *set ? times : times + (times[0] == ','));
    return ask(&shared, c, OP_RESV_UPDATE, json, NULL);
}

UTIL int create(const char *rest, struct hours h, const char *set)
{
    char json[256];

    (void)snprintf(json, sizeof(json), "'create':true,%s", rest);
    return request(shared.client, json, h, set);
}

UTIL int update_resv(const char *rest, struct hours h, const char *set)
{
    return request(shared.client, rest, h, set);
}

UTIL int drop(struct client *c, const char *name)
{
    char json[128];

    (void)snprintf(json, sizeof(json), "'remove':true,'name':'%s'", name);
    return request(c, json, NO_TIMES, "");
}

/* The record of that name, as it is shown; freed by the caller. */
UTIL Pst__ReservationRecord *find(const char *name)
{
    ProtobufCMessage *reply = NULL, *copy = NULL;
    Pst__ResvSet *set;

    assert_int_equal(ask(&shared, shared.client, OP_QUERY_RESVS, "{}", &reply), 0);
    set = (Pst__ResvSet *)reply;
    for (size_t i = 0; i < set->n_items; i++)
        if (strcmp(set->items[i]->name, name) == 0)
            assert_int_equal(pb_dup(&set->items[i]->base, &copy), 0);
    protobuf_c_message_free_unpacked(reply, NULL);
    return (Pst__ReservationRecord *)copy;
}

UTIL bool resv_has_text(const char *name, const char *what)
{
    Pst__ReservationRecord *r = find(name);
    bool yes = r && json_has(&r->base, what);

    if (!yes) {
        _cleanup_free_ char *text = r ? json_of(&r->base) : NULL;

        print_error("# %s: no %s in %s\n", name, what, text ? text : "(gone)");
    }
    if (r)
        pst__reservation_record__free_unpacked(r, NULL);
    return yes;
}

/* With these fields beside times that are given exactly. */
UTIL int create_between(const char *rest, int64_t start_us, int64_t end_us, const char *set)
{
    char json[512];

    (void)snprintf(json, sizeof(json),
                   "{'create':true,%s,'set':{'start_us':%lld,'end_us':%lld,%s}}", rest,
                   (long long)start_us, (long long)end_us, set);
    return ask(&shared, shared.client, OP_RESV_UPDATE, json, NULL);
}

/* Wait until the controller has done something by itself. */
#define wait_until(condition)                                                                      \
    do {                                                                                           \
        int64_t wu_until_ = now_mono_us() + DEADLINE_US;                                           \
                                                                                                   \
        while (!(condition) && now_mono_us() < wu_until_)                                          \
            (void)poll(NULL, 0, 5); /* between two questions */                                    \
        assert_true(condition);                                                                    \
    } while (0)

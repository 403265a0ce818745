/* test_restwatch.c - words, the ring and events of the watch over HTTP; refusals, no daemon */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cmocka.h>

#include "conf/conf.h"
#include "rest/rest.h"
#include "rest/restcall.h"
#include "rest/watch/restwatch.h"
#include "rest/watch/watchevent.h"
#include "rest/watch/watchpick.h"
#include "rest/watch/watchloop.h"
#include "rest/watch/watchobjects.h"
#include "rest/watch/watchring.h"
#include "rest/watch/watchsource.h"
#include "rest/watch/watchwords.h"

#define JOB PST__WATCH_ENTITY__WATCH_JOB
#define NODE PST__WATCH_ENTITY__WATCH_NODE
#define PART PST__WATCH_ENTITY__WATCH_PARTITION

/* ---- words ----------------------------------------------------------------------------------- */

static int read_words(const char *cursor, struct watch_words *ret, struct err *err, ...)
{
    struct rest_pair query[8];
    const char *name;
    size_t n = 0;
    va_list ap;

    err->text[0] = '\0';
    va_start(ap, err);
    while ((name = va_arg(ap, const char *)))
        query[n++] = (struct rest_pair){ (char *)(uintptr_t)name, va_arg(ap, char *) };
    va_end(ap);
    return watchwords_read(query, n, cursor, ret, err);
}

static void test_types(void **state)
{
    static const struct {
        const char *name, *value;
        uint32_t want;
    } rows[] = {
        { "types", "node", 1u << NODE },
        { "types", "partition,job", 1u << JOB | 1u << PART },
        { "user", "root", 1u << JOB },
        { "state", "RUNNING", 1u << JOB },
        { "job_id", "7", 1u << JOB },
        { "node", "n[1-3]", 1u << NODE },
        { "partition", "p", 1u << JOB | 1u << PART },
        { "cursor", "5", 1u << JOB | 1u << NODE | 1u << PART },
    };
    struct watch_words w;
    struct err err;

    (void)state;
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        assert_int_equal(read_words(NULL, &w, &err, rows[i].name, rows[i].value, NULL), 0);
        assert_int_equal(w.entities, rows[i].want);
        watchwords_done(&w);
    }
    assert_int_equal(read_words(NULL, &w, &err, "partition", "p", "user", "root", NULL), 0);
    assert_int_equal(w.entities, 1u << JOB);
    watchwords_done(&w);
}

static void test_cursors(void **state)
{
    char text[WATCH_AT_BYTES];
    struct watch_words w;
    struct err err;

    (void)state;
    assert_int_equal(read_words("5.2", &w, &err, NULL), 0);
    assert_true(w.has_cursor);
    assert_string_equal(watch_at_text(w.cursor, text), "5.2");
    watchwords_done(&w);
    assert_int_equal(read_words("5.2", &w, &err, "cursor", "9", NULL), 0); /* the word wins */
    assert_int_equal(w.cursor.lsn, 9);
    assert_int_equal(w.cursor.index, UINT32_MAX);
    assert_string_equal(watch_at_text(w.cursor, text), "9");
    watchwords_done(&w);
    assert_int_equal(read_words("no", &w, &err, NULL), -EINVAL);
    assert_string_equal(err.text, "cursor=no: a number, or two with a dot");
    assert_int_equal(read_words(NULL, &w, &err, "cursor", "", NULL), -EINVAL);
    assert_int_equal(read_words(NULL, &w, &err, "objects", "maybe", NULL), -EINVAL);
    assert_int_equal(read_words(NULL, &w, &err, "curser", "1", NULL), -EINVAL);
    assert_string_equal(err.text, "curser: there is no such word");
    assert_int_equal(read_words(NULL, &w, &err, "node", "n[0-9999]", NULL), -E2BIG);
    assert_int_equal(read_words(NULL, &w, &err, "node", "n", "user", "root", NULL), -EINVAL);
    assert_int_equal(read_words(NULL, &w, &err, "user", "0", "user", "nosuchuser", NULL), -EINVAL);
}

static void test_matches(void **state)
{
    struct watch_facts job = { .entity = JOB,
                               .id = 12,
                               .array_id = 10,
                               .has_task = true,
                               .task = 2,
                               .uid = 0,
                               .states = 1u << 1,
                               .name = "j",
                               .partition = "a,b" };
    struct watch_facts node = { .entity = NODE, .name = "n2", .partition = "" };
    struct watch_facts part = { .entity = PART, .name = "b", .partition = "" };
    static const struct {
        const char *name, *value;
        bool job, node, part;
    } rows[] = {
        { "cursor", "1", true, true, true },         { "types", "job", true, false, false },
        { "job_id", "12", true, false, false },      { "job_id", "10_2", true, false, false },
        { "job_id", "10", true, false, false },      { "job_id", "10_3", false, false, false },
        { "user", "root", true, false, false },      { "user", "1", false, false, false },
        { "state", "RUNNING", true, false, false },  { "state", "PENDING", false, false, false },
        { "state", "all", true, false, false },      { "partition", "b", true, false, true },
        { "partition", "c,x", false, false, false }, { "node", "n[1-3]", false, true, false },
        { "node", "n3", false, false, false },
    };
    struct watch_words w;
    struct err err;

    (void)state;
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        assert_int_equal(read_words(NULL, &w, &err, rows[i].name, rows[i].value, NULL), 0);
        assert_int_equal(watchwords_match(&w, &job), rows[i].job);
        assert_int_equal(watchwords_match(&w, &node), rows[i].node);
        assert_int_equal(watchwords_match(&w, &part), rows[i].part);
        watchwords_done(&w);
    }
}

/* ---- the ring -------------------------------------------------------------------------------- */

static void test_ring(void **state)
{
    struct watch_facts facts = { .entity = NODE, .name = "n1" };
    struct watch_ring ring = { 0 };

    (void)state;
    watchring_restart(&ring, (struct watch_at){ 10, UINT32_MAX });
    assert_true(watchring_covers(&ring, (struct watch_at){ 10, UINT32_MAX }));
    assert_false(watchring_covers(&ring, (struct watch_at){ 10, 3 }));
    assert_false(watchring_covers(&ring, (struct watch_at){ 11, UINT32_MAX }));
    for (uint64_t i = 0; i < 200; i++)
        assert_int_equal(
            watchring_put(&ring, watchring_item((struct watch_at){ 11 + i / 2, (uint32_t)(i % 2) },
                                                &facts, "{}", 2)),
            0);
    assert_int_equal(ring.head, 200);
    assert_int_equal(watchring_find(&ring, (struct watch_at){ 10, UINT32_MAX }), 0);
    assert_int_equal(watchring_find(&ring, (struct watch_at){ 11, 0 }), 1);
    assert_int_equal(watchring_find(&ring, (struct watch_at){ 11, UINT32_MAX }), 2);
    assert_int_equal(watchring_find(&ring, (struct watch_at){ 500, 0 }), 200);
    assert_string_equal(watchring_get(&ring, 7)->facts.name, "n1");
    assert_null(watchring_get(&ring, 200));
    for (int i = 0; i < 3; i++)
        watchring_drop(&ring);
    assert_null(watchring_get(&ring, 2));
    assert_false(watchring_covers(&ring, (struct watch_at){ 11, UINT32_MAX }));
    assert_true(watchring_covers(&ring, (struct watch_at){ 12, 0 }));
    watchring_restart(&ring, (struct watch_at){ 900, UINT32_MAX });
    assert_int_equal(ring.tail, 200);
    assert_int_equal(ring.bytes, 0);
    watchring_done(&ring);
}

/* Names inside of values are no members. */
static void test_picked_members(void **state)
{
    static const char object[] =
        "{\"a\":\"x,\\\"b\\\":1}\",\"b\":{\"c\":[1,{\"d\":\"]\"}],\"a\":2},\"c\":[],\"d\":-1.5,"
        "\"e\":null}";
    static const struct {
        const char *fields, *text;
    } cases[] = {
        { "a", "{\"a\":\"x,\\\"b\\\":1}\"}" },
        { "b", "{\"b\":{\"c\":[1,{\"d\":\"]\"}],\"a\":2}}" },
        { "e,c,d", "{\"c\":[],\"d\":-1.5,\"e\":null}" },
        { "x,,", "{}" },
    };

    (void)state;
    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        struct strbuf out = STRBUF_INIT;

        watchpick_add(&out, object, cases[i].fields);
        assert_string_equal(strbuf_str(&out), cases[i].text);
        strbuf_reset(&out);
        watchpick_add(&out, "{\"a\":[1,{\"b", cases[i].fields); /* cut */
        watchpick_add(&out, "{}", cases[i].fields);
        watchpick_add(&out, "", cases[i].fields);
        strbuf_done(&out);
    }
}

static void test_events(void **state)
{
    struct watch_facts facts = { .entity = NODE, .name = "n1" };
    struct watch_item *item = watchring_item((struct watch_at){ 7, 1 }, &facts, "{\"a\":1}", 7);
    struct strbuf out = { 0 };

    (void)state;
    assert_non_null(item);
    watchevent_item(&out, true, item, true, NULL);
    watchevent_item(&out, false, item, false, NULL);
    item->object = strdup("{\"job_id\":5}");
    watchevent_item(&out, false, item, true, NULL);
    watchevent_item(&out, false, item, true, "name,job_id");
    watchevent_item(&out, false, item, false, "job_id");
    assert_string_equal(strbuf_str(&out), "event: node\nid: 7.1\ndata: {\"a\":1}\n\n{\"a\":1}\n"
                                          "{\"a\":1,\"job\":{\"job_id\":5}}\n"
                                          "{\"a\":1,\"job\":{\"job_id\":5}}\n{\"a\":1}\n");
    strbuf_reset(&out);
    watchevent_word(&out, true, "hello", (struct watch_at){ 7, UINT32_MAX }, NULL);
    watchevent_word(&out, false, "bye", (struct watch_at){ 7, 1 }, "why");
    watchevent_beat(&out, true, (struct watch_at){ 8, UINT32_MAX });
    watchevent_beat(&out, false, (struct watch_at){ 8, UINT32_MAX });
    assert_string_equal(strbuf_str(&out),
                        "retry: 1000\nevent: hello\nid: 7\n"
                        "data: {\"event\":\"hello\",\"cursor\":\"7\"}\n\n"
                        "{\"event\":\"bye\",\"cursor\":\"7.1\",\"reason\":\"why\"}\n"
                        ": beat\nid: 8\n\n{\"event\":\"beat\",\"cursor\":\"8\"}\n");
    strbuf_done(&out);
    watchring_item_free(item);
}

static void test_change(void **state)
{
    Pst__WatchChange c = PST__WATCH_CHANGE__INIT;
    struct watch_item *item = NULL;
    struct pb_arena *arena;

    (void)state;
    assert_int_equal(pb_arena_new(&arena), 0);
    c.has_lsn = c.has_index = c.has_entity = c.has_after = true;
    c.lsn = 3;
    c.entity = NODE;
    c.name = (char *)(uintptr_t) "n9";
    assert_int_equal(watchevent_make(arena, &c, &item), 0);
    assert_string_equal(item->facts.name, "n9");
    assert_true(strncmp(item->text, "{\"cursor\":\"3.0\",", 16) == 0);
    assert_null(strchr(item->text, '\n'));
    watchring_item_free(item);
    c.after.data = (uint8_t *)(uintptr_t) "\xff\xff";
    c.after.len = 2;
    assert_int_equal(watchevent_make(arena, &c, &item), -EBADMSG);
    c.entity = (Pst__WatchEntity)99;
    assert_int_equal(watchevent_make(arena, &c, &item), -EBADMSG);
    pb_arena_free(arena);
}

/* ---- requests, where no slurmctld is --------------------------------------------------------- */

static void ask_for(struct rest *rest, const char *words, const char *want)
{
    char request[512], answer[8192];
    struct err err = { .text = "" };
    size_t len = 0;
    ssize_t n;
    int sv[2];

    assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, sv), 0);
    assert_int_equal(rest_take(rest, sv[1], &err), 0);
    (void)snprintf(request, sizeof(request), "GET /penstock/v1/watch%s HTTP/1.1\r\nHost: x\r\n\r\n",
                   words);
    assert_int_equal(send(sv[0], request, strlen(request), MSG_NOSIGNAL), strlen(request));
    assert_int_equal(shutdown(sv[0], SHUT_WR), 0);
    while ((n = recv(sv[0], answer + len, sizeof(answer) - 1 - len, 0)) > 0)
        len += (size_t)n;
    answer[len] = '\0';
    assert_int_equal(close(sv[0]), 0);
    if (!strstr(answer, want))
        fail_msg("no \"%s\" in: %s", want, answer);
}

static void test_refused(void **state)
{
    static const char text[] = "ClusterName=test\nSlurmctldHost=localhost\nSlurmctldPort=1\n"
                               "MessageTimeout=2\nNodeName=n1\nPartitionName=p Nodes=n1\n";
    const struct conf_text file = { "slurm.conf", text, strlen(text) };
    static const struct rest_row *const none[] = { NULL };
    struct rest_config config = {
        .rows = none, .local = true, .versions = UINT64_MAX, .plugins = ~0u
    };
    struct err err = { .text = "" };
    struct watch_hub *hub = NULL;
    struct rest_taking taking;
    struct rest *rest = NULL;
    struct conf *conf = NULL;

    (void)state;
    assert_int_equal(conf_load_text(&file, 1, CONF_CLIENT, &conf, NULL, &err), 0);
    assert_int_equal(restwatch_new(conf, &hub, &err), 0);
    taking = restwatch_taking(hub);
    config.conf = conf;
    config.taking = &taking;
    assert_int_equal(rest_new(&config, &rest, &err), 0);
    ask_for(rest, "", "HTTP/1.1 503 ");
    ask_for(rest, "/?types=job", "Unable to watch");
    ask_for(rest, "?types=x", "HTTP/1.1 400 ");
    ask_for(rest, "?%zz", "HTTP/1.1 400 ");
    ask_for(rest, "x", "HTTP/1.1 404 ");
    assert_int_equal(taking.busy(taking.ctx), 0);
    restwatch_stop(hub);
    ask_for(rest, "", "HTTP/1.1 503 ");
    rest = rest_free(rest);
    hub = restwatch_free(hub);
    conf_free(conf);
}

int main(void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_picked_members), cmocka_unit_test(test_types),
        cmocka_unit_test(test_cursors),        cmocka_unit_test(test_matches),
        cmocka_unit_test(test_ring),           cmocka_unit_test(test_events),
        cmocka_unit_test(test_change),         cmocka_unit_test(test_refused),
    };

    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests(tests, NULL, NULL);
}

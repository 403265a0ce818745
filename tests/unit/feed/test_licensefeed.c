/* test_licensefeed.c - licences as text: what is a request, what there is enough of, and what a
 * job is told that it holds */
#include "conf_util.h"

#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "feed/licensefeed.h"

#define LINES "Licenses=a:4,b\nNodeName=n[01-24] CPUs=1\nPartitionName=q Nodes=ALL\n"

static const char layers[] = "- resource: port\n  mode: MODE_1\n  layers:\n"
                             "    - {nodes: [\"n[01-24]\"], count: 40}\n"
                             "    - {nodes: [\"n[01-12]\"], count: 30}\n"
                             "- resource: watts\n  mode: MODE_3\n"
                             "  variables:\n    - {name: train, value: 1500}\n"
                             "    - {name: huge, value: 90000}\n"
                             "  layers:\n    - {nodes: [\"n[01-24]\"], count: 48000}\n"
                             "- resource: cool\n  mode: MODE_3\n"
                             "  layers:\n    - {nodes: [\"n[01-24]\"], count: 10}\n";

struct shop {
    struct conf *conf;
    struct resources *resources;
    struct license_world world;
};

static void open_shop(struct shop *s, const char *more)
{
    char lines[512];

    (void)snprintf(lines, sizeof(lines), "%s%s", LINES, more);
    s->conf = conf_with_lines(lines);
    s->resources = NULL;
    assert_int_equal(resources_parse(layers, strlen(layers), s->conf, &s->resources, NULL, NULL),
                     0);
    s->world = (struct license_world){ s->conf, "a:4,b", s->resources };
}

static void close_shop(struct shop *s)
{
    resources_free(s->resources);
    conf_free(s->conf);
}

static void test_parse(void **state)
{
    static const struct {
        const char *text;
        size_t n; /* 0: no request */
        bool any;
    } rows[] = {
        { "a", 1, false },
        { "a:2,b", 2, false },
        { "a:2|b", 2, true },
        { "a:2;b:1", 2, false },
        { "a|b,c", 0, false },
        { "a:1:2:3", 0, false },
        { "port(n[01-12]):30,a", 2, false },
        { "port(n[01-12]):x", 0, false },
        { "()", 0, false },
        { "port(n[01-12]):", 0, false },
    };

    (void)state;
    for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
        _cleanup_free_ char *text = strdup(rows[i].text);
        struct license_list list = { 0 };
        bool ok = licenses_parse(text, &list);

        if (ok != (rows[i].n > 0))
            fail_msg("%s", rows[i].text);
        assert_int_equal(list.n, rows[i].n);
        assert_int_equal(ok && list.any, rows[i].any);
        free(list.items);
    }
}

static void test_valid(void **state)
{
    static const struct {
        const char *text;
        bool job, resv;
    } rows[] = {
        { "a:4", true, true },
        { "a:5", false, false },
        { "a:3,a:2", false, false }, /* together too many */
        { "a:3|a:2", true, true },   /* either is there */
        { "b", true, true },
        { "c", false, false },
        { "a:train", false, false }, /* a licence has no variables */
        { "port:40", true, true },   /* the most is the first layer's */
        { "port:41", false, false },
        { "port(n[01-12]):30", false, true }, /* layers are for reservations */
        { "port(n[01-12]):31", false, false },
        { "port(n[01-13])", false, false },
        { "watts:train", true, true },
        { "watts:huge", false, false },
        { "watts:none", false, false },
        { "watts:1,cool:1", false, true }, /* a job has one of mode 3 at most */
    };
    struct shop s;

    (void)state;
    open_shop(&s, "");
    for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
        if (licenses_valid(&s.world, rows[i].text) != rows[i].job ||
            licenses_valid_resv(&s.world, rows[i].text) != rows[i].resv)
            fail_msg("%s", rows[i].text);
    }
    close_shop(&s);
}

/* allow_zero_lic: a request waits for what may come; names have to exist all the same. */
static void test_zero(void **state)
{
    struct shop s;

    (void)state;
    open_shop(&s, "SchedulerParameters=allow_zero_lic\n");
    assert_true(licenses_valid(&s.world, "a:5"));
    assert_true(licenses_valid(&s.world, "port:41"));
    assert_false(licenses_valid(&s.world, "c"));
    assert_false(licenses_valid(&s.world, "watts:none"));
    close_shop(&s);
}

static void test_asked(void **state)
{
    struct shop s;

    (void)state;
    open_shop(&s, "");
    assert_int_equal(licenses_asked(s.resources, "a:2,b,a", "a"), 3);
    assert_int_equal(licenses_asked(s.resources, "ab:2", "a"), 0);
    assert_int_equal(licenses_asked(s.resources, "watts:train", "watts"), 1500);
    assert_int_equal(licenses_asked(s.resources, "port(n[01-12]):7", "port"), 7);
    assert_int_equal(licenses_asked(s.resources, NULL, "a"), 0);
    assert_int_equal(licenses_asked(s.resources, "a|b,c", "a"), 0); /* no request */
    close_shop(&s);
}

static void test_texts(void **state)
{
    const struct sched_lic_req held[] = {
        { .name = "a", .count = 2 },
        { .name = "b", .count = 0 }, /* not held */
        { .name = "port", .count = 3, .mode = 1 },
        { .name = "port(n[01-12])", .count = 3, .mode = 1, .layer = true },
        { .name = "watts", .count = 5, .mode = 3 },
        { .name = "watts(n[01-24])", .count = 5, .mode = 3, .layer = true },
    };
    char *alloc, *layer;

    (void)state;
    licenses_texts(held, 0, false, &alloc, &layer);
    assert_null(alloc);
    assert_null(layer);
    licenses_texts(held, ARRAY_SIZE(held), false, &alloc, &layer);
    assert_string_equal(alloc, "a:2;port(n[01-12]):3;watts:5");
    assert_string_equal(layer, "port(n[01-12]):3;watts(n[01-24]):5");
    free(alloc);
    free(layer);
    licenses_texts(held, 3, true, &alloc, &layer);
    assert_string_equal(alloc, "a:2");
    assert_null(layer);
    free(alloc);
}

int main(void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(test_parse), cmocka_unit_test(test_valid),
                                        cmocka_unit_test(test_zero), cmocka_unit_test(test_asked),
                                        cmocka_unit_test(test_texts) };

    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests(tests, NULL, NULL);
}

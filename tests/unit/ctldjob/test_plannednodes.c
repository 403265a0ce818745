/* test_plannednodes.c - which nodes show that the plan keeps them for jobs that wait */
#include "model_util.h"

#include "ctld/core/service.h"
#include "ctld/front/view.h"
#include "ctld/schedlink/plannednodes.h"

extern const struct ctld_service plannednodes_service;

#define PLANNED (1u << PST__NODE_FLAG__NODE_FLAG_PLANNED)
#define RESERVED (1u << PST__NODE_FLAG__NODE_FLAG_RESERVED)

struct world {
    struct ctld ctld;
    struct job *one, *two;
};

static int set_up(void **state)
{
    struct world *w = calloc(1, sizeof(*w));
    struct err err = { .text = "" };

    assert_non_null(w);
    w->ctld.cluster = new_cluster();
    add_nodes(w->ctld.cluster, 4, 8);
    add_job(w->ctld.cluster, 1);
    add_job(w->ctld.cluster, 2);
    w->one = cluster_job(w->ctld.cluster, 1);
    w->two = cluster_job(w->ctld.cluster, 2);
    assert_int_equal(views_new(&w->ctld.views), 0);
    assert_int_equal(plannednodes_service.start(&w->ctld, &err), 0);
    *state = w;
    return 0;
}

static int tear_down(void **state)
{
    struct world *w = *state;

    plannednodes_service.free(&w->ctld);
    views_free(w->ctld.views);
    cluster_free(w->ctld.cluster);
    free(w);
    return 0;
}

/* "0110": which of the four nodes show it. */
static void shown_is(struct world *w, const char *want)
{
    char got[5] = "";

    for (uint32_t i = 0; i < 4; i++) {
        const struct node *n = cluster_node(w->ctld.cluster, i);

        got[i] = views_shown_flags(w->ctld.views, n) & PLANNED ? '1' : '0';
    }
    assert_string_equal(got, want);
}

static void note(struct world *w, const struct job *j, size_t n, const uint32_t *nodes)
{
    plannednodes_note(&w->ctld, j, nodes, n);
}

static void test_each_job_has_its_nodes(void **state)
{
    struct world *w = *state;

    note(w, w->one, 2, (uint32_t[]){ 0, 1 });
    note(w, w->two, 2, (uint32_t[]){ 1, 3 });
    shown_is(w, "1101");
    note(w, w->one, 2, (uint32_t[]){ 1, 2 }); /* a new plan in place of the old one */
    shown_is(w, "0111");
    note(w, w->two, 0, NULL); /* node 1 is the other job's, too */
    shown_is(w, "0110");
    plannednodes_service.on_job_gone(&w->ctld, w->one);
    shown_is(w, "0000");
}

static void test_a_start_and_a_hold_end_it(void **state)
{
    struct world *w = *state;

    note(w, w->one, 1, (uint32_t[]){ 0 });
    note(w, w->two, 1, (uint32_t[]){ 3 });
    plannednodes_service.on_job(&w->ctld, w->one, PST__EVENT_KIND__EV_JOB_UPDATE);
    shown_is(w, "1001"); /* it waits still */
    SET(w->one->rec, state, PST__JOB_STATE__JOB_RUNNING);
    plannednodes_service.on_job(&w->ctld, w->one, PST__EVENT_KIND__EV_JOB_START);
    shown_is(w, "0001");
    SET(w->two->rec, priority, 0);
    plannednodes_service.on_job(&w->ctld, w->two, PST__EVENT_KIND__EV_JOB_HOLD);
    shown_is(w, "0000");
}

/* A reservation shows flags of its own beside it. */
static void test_other_flags_stay(void **state)
{
    struct world *w = *state;
    struct node *n = cluster_node(w->ctld.cluster, 2);

    views_show_flags(w->ctld.views, n, RESERVED, RESERVED);
    note(w, w->one, 1, (uint32_t[]){ 2 });
    assert_int_equal(views_shown_flags(w->ctld.views, n), RESERVED | PLANNED);
    views_show_flags(w->ctld.views, n, RESERVED, 0);
    assert_int_equal(views_shown_flags(w->ctld.views, n), PLANNED);
    note(w, w->one, 0, NULL);
    assert_int_equal(views_shown_flags(w->ctld.views, n), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_each_job_has_its_nodes, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_a_start_and_a_hold_end_it, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_other_flags_stay, set_up, tear_down),
    };

    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests(tests, NULL, NULL);
}

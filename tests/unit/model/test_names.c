/* test_names.c - the words of states and reasons */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <string.h>

#include "base/cleanup.h"
#include "model/words/names.h"

#define JF(name) (1u << PST__JOB_FLAG__JOB_FLAG_##name)
#define NF(name) (1u << PST__NODE_FLAG__NODE_FLAG_##name)

static void test_job_words(void **state)
{
    static const struct {
        unsigned base;
        uint32_t flags;
        const char *word, *code;
    } cases[] = {
        { PST__JOB_STATE__JOB_PENDING, 0, "PENDING", "PD" },
        { PST__JOB_STATE__JOB_RUNNING, 0, "RUNNING", "R" },
        { PST__JOB_STATE__JOB_RUNNING, JF(CONFIGURING), "CONFIGURING", "CF" },
        { PST__JOB_STATE__JOB_FAILED, JF(COMPLETING), "COMPLETING", "CG" },
        { PST__JOB_STATE__JOB_RUNNING, JF(COMPLETING) | JF(CONFIGURING), "COMPLETING", "CG" },
        { PST__JOB_STATE__JOB_PENDING, JF(SPECIAL_EXIT), "SPECIAL_EXIT", "SE" },
        { PST__JOB_STATE__JOB_PENDING, JF(REQUEUE_HOLD) | JF(SPECIAL_EXIT), "REQUEUE_HOLD", "RH" },
        { PST__JOB_STATE__JOB_RUNNING, JF(STOPPED) | JF(SIGNALING), "STOPPED", "ST" },
        { PST__JOB_STATE__JOB_PENDING, JF(LAUNCH_FAILED), "PENDING", "PD" },
        { PST__JOB_STATE__JOB_OUT_OF_MEMORY, 0, "OUT_OF_MEMORY", "OOM" },
        { 99, 0, "UNKNOWN", "?" },
    };

    (void)state;
    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        assert_string_equal(names_job_state_word(cases[i].base, cases[i].flags, false),
                            cases[i].word);
        assert_string_equal(names_job_state_word(cases[i].base, cases[i].flags, true),
                            cases[i].code);
    }
}

static void test_job_parse(void **state)
{
    struct names_job_match m;

    (void)state;
    for (unsigned i = 0; i < NAMES_JOB_STATES; i++) {
        assert_int_equal(names_job_state_parse(names_job_state(i), &m), 0);
        assert_false(m.is_flag);
        assert_int_equal(m.number, i);
        assert_int_equal(names_job_state_parse(names_job_state_code(i), &m), 0);
        assert_int_equal(m.number, i);
    }
    for (unsigned i = 0; i < NAMES_JOB_FLAGS; i++) {
        assert_int_equal(names_job_state_parse(names_job_flag(i), &m), 0);
        assert_true(m.is_flag);
        assert_int_equal(m.number, i);
    }
    assert_int_equal(names_job_state_parse("rUnNiNg", &m), 0);
    assert_int_equal(m.number, PST__JOB_STATE__JOB_RUNNING);
    assert_true(names_job_state_parse("", &m) < 0);
    assert_true(names_job_state_parse("RUN", &m) < 0);
    assert_null(names_job_flag(NAMES_JOB_FLAGS));
}

static void test_reasons(void **state)
{
    (void)state;
    for (unsigned i = 1; i <= PST__JOB_REASON__REASON_NODES_UNAVAILABLE; i++)
        assert_string_not_equal(names_reason(i), "None");
    assert_string_equal(names_reason(PST__JOB_REASON__REASON_JOB_HELD_USER), "JobHeldUser");
    assert_string_equal(names_reason(PST__JOB_REASON__REASON_DEADLINE), "DeadLine");
    assert_string_equal(names_reason(0), "None");
    assert_string_equal(names_reason(12345), "None");
}

static void test_steps_and_events(void **state)
{
    uint32_t id = 0;

    (void)state;
    assert_string_equal(names_step_special(NAMES_STEP_BATCH), "batch");
    assert_string_equal(names_step_special(NAMES_STEP_EXTERN), "extern");
    assert_null(names_step_special(0));
    assert_int_equal(names_step_special_parse("Interactive", &id), 0);
    assert_int_equal(id, NAMES_STEP_INTERACTIVE);
    assert_true(names_step_special_parse("0", &id) < 0);
    assert_string_equal(names_step_state(PST__STEP_STATE__STEP_OUT_OF_MEMORY), "OUT_OF_MEMORY");
    assert_string_equal(names_event(PST__EVENT_KIND__EV_JOB_CLEANED), "job-cleaned");
    assert_string_equal(names_event(PST__EVENT_KIND__EV_PART_UPDATE), "partition-update");
    assert_null(names_event(19));
    assert_null(names_event(1000));
}

static void test_node_words(void **state)
{
    static const struct {
        unsigned base;
        uint32_t flags, alloc; /* of 16 CPUs */
        const char *word, *code, *full;
    } cases[] = {
        { PST__NODE_STATE__NODE_IDLE, 0, 0, "idle", "idle", "IDLE" },
        { PST__NODE_STATE__NODE_IDLE, 0, 4, "mixed", "mix", "MIXED" },
        { PST__NODE_STATE__NODE_IDLE, 0, 16, "allocated", "alloc", "ALLOCATED" },
        { PST__NODE_STATE__NODE_IDLE, NF(COMPLETING), 16, "allocated+", "alloc+",
          "ALLOCATED+COMPLETING" },
        { PST__NODE_STATE__NODE_IDLE, NF(COMPLETING), 0, "completing", "comp", "IDLE+COMPLETING" },
        { PST__NODE_STATE__NODE_IDLE, NF(DRAIN), 0, "drained", "drain", "IDLE+DRAIN" },
        { PST__NODE_STATE__NODE_IDLE, NF(DRAIN), 4, "draining", "drng", "MIXED+DRAIN" },
        { PST__NODE_STATE__NODE_IDLE, NF(DRAIN) | NF(COMPLETING), 0, "draining", "drng",
          "IDLE+COMPLETING+DRAIN" },
        { PST__NODE_STATE__NODE_DOWN, 0, 0, "down", "down", "DOWN" },
        { PST__NODE_STATE__NODE_DOWN, NF(NOT_RESPONDING), 0, "down*", "down*",
          "DOWN+NOT_RESPONDING" },
        { PST__NODE_STATE__NODE_DOWN, NF(DRAIN) | NF(NOT_RESPONDING), 0, "drained*", "drain*",
          "DOWN+DRAIN+NOT_RESPONDING" },
        { PST__NODE_STATE__NODE_DOWN, NF(DRAIN) | NF(REBOOT_ISSUED), 0, "reboot^", "boot^",
          "DOWN+DRAIN+REBOOT_ISSUED" },
        { PST__NODE_STATE__NODE_IDLE, NF(REBOOT_REQUESTED), 4, "mixed@", "mix@",
          "MIXED+REBOOT_REQUESTED" },
        { PST__NODE_STATE__NODE_DOWN, NF(FAIL) | NF(NOT_RESPONDING), 0, "fail*", "fail*",
          "DOWN+FAIL+NOT_RESPONDING" },
        { PST__NODE_STATE__NODE_IDLE, NF(FAIL), 1, "failing", "failg", "MIXED+FAIL" },
        { PST__NODE_STATE__NODE_IDLE, NF(MAINTENANCE), 0, "maint", "maint", "IDLE+MAINTENANCE" },
        { PST__NODE_STATE__NODE_IDLE, NF(MAINTENANCE), 16, "allocated$", "alloc$",
          "ALLOCATED+MAINTENANCE" },
        { PST__NODE_STATE__NODE_IDLE, NF(CLOUD) | NF(POWERED_DOWN), 0, "idle~", "idle~",
          "IDLE+CLOUD+POWERED_DOWN" },
        { PST__NODE_STATE__NODE_IDLE, NF(RESERVED), 0, "reserved", "resv", "IDLE+RESERVED" },
        { PST__NODE_STATE__NODE_IDLE, NF(PLANNED), 0, "planned", "plnd", "IDLE+PLANNED" },
        { PST__NODE_STATE__NODE_IDLE, NF(PLANNED), 4, "mixed-", "mix-", "MIXED+PLANNED" },
        { PST__NODE_STATE__NODE_IDLE, NF(INVALID_REG) | NF(DRAIN), 0, "inval", "inval",
          "IDLE+DRAIN+INVALID_REG" },
        { PST__NODE_STATE__NODE_FUTURE, 0, 0, "future", "futr", "FUTURE" },
        { PST__NODE_STATE__NODE_UNKNOWN, NF(NOT_RESPONDING), 0, "unknown*", "unk*",
          "UNKNOWN+NOT_RESPONDING" },
    };

    (void)state;
    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        struct names_node n = { cases[i].base, cases[i].flags, 16, cases[i].alloc };
        char buf[NAMES_NODE_TEXT];

        assert_string_equal(names_node_word(&n, false, buf, sizeof(buf)), cases[i].word);
        assert_string_equal(names_node_word(&n, true, buf, sizeof(buf)), cases[i].code);
        assert_string_equal(names_node_full(&n, false, buf, sizeof(buf)), cases[i].full);
    }
}

static void test_node_all_flags_fit(void **state)
{
    struct names_node n = { PST__NODE_STATE__NODE_IDLE, 0xffff, 16, 4 };
    char buf[NAMES_NODE_TEXT], small[8];

    (void)state;
    assert_true(strlen(names_node_full(&n, true, buf, sizeof(buf))) < sizeof(buf) - 1);
    assert_non_null(strstr(buf, "mixed+cloud+"));
    assert_string_equal(names_node_full(&n, false, small, sizeof(small)), "MIXED+C");
}

static void test_node_rank(void **state)
{
    struct names_node drained = { PST__NODE_STATE__NODE_IDLE, NF(DRAIN), 16, 0 };
    struct names_node mixed = { PST__NODE_STATE__NODE_IDLE, 0, 16, 4 };
    struct names_node full = { PST__NODE_STATE__NODE_IDLE, 0, 16, 16 };
    struct names_node idle = { PST__NODE_STATE__NODE_IDLE, 0, 16, 0 };
    struct names_node down = { PST__NODE_STATE__NODE_DOWN, 0, 16, 0 };

    (void)state;
    assert_true(names_node_rank(&drained) > names_node_rank(&mixed));
    assert_true(names_node_rank(&mixed) > names_node_rank(&full));
    assert_true(names_node_rank(&full) > names_node_rank(&idle));
    assert_true(names_node_rank(&idle) > names_node_rank(&down));
}

static bool matches(const char *word, const struct names_node *n)
{
    unsigned filter = 0;

    assert_int_equal(names_node_filter_parse(word, &filter), 0);
    return names_node_filter_match(filter, n);
}

static void test_node_filters(void **state)
{
    struct names_node drained = { PST__NODE_STATE__NODE_IDLE, NF(DRAIN), 16, 0 };
    struct names_node draining = { PST__NODE_STATE__NODE_IDLE, NF(DRAIN), 16, 4 };
    unsigned filter;
    char list[1024], *save = NULL;

    (void)state;
    assert_true(matches("IDLE", &drained));
    assert_true(matches("drain", &drained));
    assert_true(matches("drained", &drained));
    assert_false(matches("draining", &drained));
    assert_true(matches("draining", &draining));
    assert_true(matches("mix", &draining));
    assert_false(matches("idle", &draining));
    assert_true(names_node_filter_parse("nosuch", &filter) < 0);
    (void)snprintf(list, sizeof(list), "%s", names_node_filter_list());
    for (char *w = strtok_r(list, ",", &save); w; w = strtok_r(NULL, ",", &save))
        assert_int_equal(names_node_filter_parse(w, &filter), 0);
}

static void test_partitions(void **state)
{
    unsigned part = 9;

    (void)state;
    assert_string_equal(names_part_state(PST__PARTITION_STATE__PART_UP), "UP");
    assert_int_equal(names_part_state_parse("drain", &part), 0);
    assert_int_equal(part, PST__PARTITION_STATE__PART_DRAIN);
    assert_true(names_part_state_parse("sideways", &part) < 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_job_words),  cmocka_unit_test(test_job_parse),
        cmocka_unit_test(test_reasons),    cmocka_unit_test(test_steps_and_events),
        cmocka_unit_test(test_node_words), cmocka_unit_test(test_node_all_flags_fit),
        cmocka_unit_test(test_node_rank),  cmocka_unit_test(test_node_filters),
        cmocka_unit_test(test_partitions),
    };

    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests(tests, NULL, NULL);
}

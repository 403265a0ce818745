/* test_debug.c - the words that DebugFlags of slurmdbd.conf may have */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <errno.h>

#include "base/cleanup.h"
#include "dbd/debug.h"

/* The words of slurmdbd.conf(5), and what is none. */
static void test_words(void **state)
{
    static const char *const good[] = { NULL,
                                        "",
                                        "AuditRPCs",
                                        "AuditTLS",
                                        "DB_ARCHIVE",
                                        "DB_ASSOC",
                                        "DB_EVENT",
                                        "DB_JOB",
                                        "DB_QOS",
                                        "DB_QUERY",
                                        "DB_RESERVATION",
                                        "DB_RESOURCE",
                                        "DB_STEP",
                                        "DB_TRES",
                                        "DB_USAGE",
                                        "DB_WCKEY",
                                        "FEDERATION",
                                        "Network",
                                        "NetworkRaw",
                                        "db_query",
                                        "DB_JOB,DB_STEP,protocol" };
    static const struct {
        const char *list, *sentence;
    } bad[] = {
        { "DB_EVENTS", "DebugFlags=DB_EVENTS is not a flag" },
        { "DB_JOB,DB_", "DebugFlags=DB_ is not a flag" },
        { "Backfill,DB_JOB", "DebugFlags=Backfill is not a flag" },
        { "DB_JOB,,DB_STEP", "DebugFlags= is not a flag" },
    };

    (void)state;
    for (size_t i = 0; i < ARRAY_SIZE(good); i++)
        if (debug_check(good[i], NULL) != 0)
            fail_msg("%s is refused", good[i]);
    for (size_t i = 0; i < ARRAY_SIZE(bad); i++) {
        struct err err = { .text = "" };

        assert_int_equal(debug_check(bad[i].list, &err), -EINVAL);
        assert_string_equal(err.text, bad[i].sentence);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(test_words) };

    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests(tests, NULL, NULL);
}

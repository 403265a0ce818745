/* test_jobcalls.c - which of cancel and signal a request becomes */
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "session/jobcalls.h"

static Pst__JobVerb verb_for(const char *id, int signal, bool batch, bool full)
{
    char *ids[] = { (char *)(uintptr_t)id };
    Pst__JobActionRequest req = PST__JOB_ACTION_REQUEST__INIT;

    req.ids = ids;
    req.n_ids = 1;
    req.has_signal = signal != 0;
    req.signal = (uint32_t)signal;
    req.has_batch_only = req.batch_only = batch;
    req.has_full = req.full = full;
    jobcalls_choose_kill(&req);
    assert_true(req.has_verb);
    if (req.verb == PST__JOB_VERB__VERB_SIGNAL)
        assert_int_equal(req.signal, signal ? signal : SIGKILL);
    return req.verb;
}

static void test_kill(void **state)
{
    (void)state;
    assert_int_equal(verb_for("12", 0, false, false), PST__JOB_VERB__VERB_CANCEL);
    assert_int_equal(verb_for("12", SIGKILL, false, false), PST__JOB_VERB__VERB_CANCEL);
    assert_int_equal(verb_for("12.0", SIGKILL, false, false), PST__JOB_VERB__VERB_SIGNAL);
    assert_int_equal(verb_for("12", SIGUSR1, false, false), PST__JOB_VERB__VERB_SIGNAL);
    assert_int_equal(verb_for("12", 0, true, false), PST__JOB_VERB__VERB_SIGNAL);
    assert_int_equal(verb_for("12", SIGKILL, false, true), PST__JOB_VERB__VERB_CANCEL);
}

int main(void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(test_kill) };

    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests(tests, NULL, NULL);
}

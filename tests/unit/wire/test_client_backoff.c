/* test_client_backoff.c - which answers make a command ask again, and with what */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/time.h>

#include "base/timefmt.h"
#include "wire/client_impl.h"
#include "wire/errors.h"

static const uint8_t asked[] = "the request";

static void test_answer_of_another(void **state)
{
    struct client c = { .fd = -1 };
    struct frame f = { .flags = FRAME_REPLY, .id = 5 };

    (void)state;
    assert_false(client_is_asked(&c, &f)); /* nothing is kept */
    client_keep_asked(&c, 4, asked, sizeof(asked));
    client_keep_asked(&c, 5, asked, sizeof(asked)); /* takes the place of the one before */
    assert_true(client_is_asked(&c, &f));
    f.id = 4;
    assert_false(client_is_asked(&c, &f));
    f = (struct frame){ .flags = 0, .id = 5 };
    assert_false(client_is_asked(&c, &f)); /* a request of the peer's */
    free(c.asked);
}

/* An answer, or another error: the request is forgotten. */
static void test_other_answers(void **state)
{
    static const struct {
        uint32_t flags;
        int code;
    } answers[] = { { FRAME_REPLY, SLURM_OK },
                    { FRAME_REPLY, SLURMCTLD_COMMUNICATIONS_BACKOFF }, /* left by an earlier one */
                    { FRAME_REPLY | FRAME_ERROR, EPST_BUSY } };

    (void)state;
    for (size_t i = 0; i < ARRAY_SIZE(answers); i++) {
        struct client c = { .fd = -1, .error_code = answers[i].code };
        struct frame f = { .flags = answers[i].flags, .id = 5 };
        int64_t deadline = 100;
        size_t len;

        client_keep_asked(&c, 5, asked, sizeof(asked));
        assert_null(client_back_off(&c, &f, &len, &deadline));
        assert_null(c.asked);
        assert_int_equal(deadline, 100);
    }
}

static void note_alarm(int sig)
{
    (void)sig;
}

/* A signal ends the pause; the deadline moves by all of it. */
static void test_backed_off(void **state)
{
    const struct itimerval soon = { .it_interval.tv_usec = 10000, .it_value.tv_usec = 10000 };
    const struct itimerval never = { 0 };
    struct sigaction sa = { .sa_handler = note_alarm };
    struct client c = { .fd = -1, .error_code = SLURMCTLD_COMMUNICATIONS_BACKOFF };
    struct frame f = { .flags = FRAME_REPLY | FRAME_ERROR, .id = 5 };
    int64_t deadlines[] = { 100, 0, INT64_MAX };

    (void)state;
    assert_int_equal(sigaction(SIGALRM, &sa, NULL), 0);
    assert_int_equal(setitimer(ITIMER_REAL, &soon, NULL), 0);
    client_keep_asked(&c, 5, asked, sizeof(asked));
    for (size_t i = 0; i < ARRAY_SIZE(deadlines); i++) {
        int64_t before = deadlines[i];
        size_t len = 0;
        uint8_t *again = client_back_off(&c, &f, &len, &deadlines[i]);

        assert_non_null(again);
        assert_int_equal(len, sizeof(asked));
        assert_memory_equal(again, asked, len);
        assert_true(deadlines[i] == (i ? before : before + USEC_PER_SEC)); /* 0: not at all */
        assert_true(client_is_asked(&c, &f)); /* it may be told so again */
        free(again);
    }
    assert_int_equal(setitimer(ITIMER_REAL, &never, NULL), 0);
    free(c.asked);
}

int main(void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(test_answer_of_another),
                                        cmocka_unit_test(test_other_answers),
                                        cmocka_unit_test(test_backed_off) };

    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests_name("client_backoff", tests, NULL, NULL);
}

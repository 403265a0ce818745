/* test_simbar.c - the bar of long simulations: nothing at first, then a line over itself that ends
 * once */
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/timefmt.h"
#include "penstock/simbar.h"

/* What is written to standard error between the two. */
struct caught {
    int saved, pipe[2];
    char text[4096];
};

static void catch (struct caught *c)
{
    assert_int_equal(pipe2(c->pipe, O_CLOEXEC | O_NONBLOCK), 0);
    c->saved = dup(2);
    assert_true(c->saved >= 0);
    assert_true(dup2(c->pipe[1], 2) >= 0);
}

static const char *let_go(struct caught *c)
{
    ssize_t n;

    (void)fflush(stderr);
    assert_true(dup2(c->saved, 2) >= 0);
    (void)close(c->saved);
    (void)close(c->pipe[1]);
    n = read(c->pipe[0], c->text, sizeof(c->text) - 1);
    (void)close(c->pipe[0]);
    c->text[n > 0 ? n : 0] = '\0';
    return c->text;
}

static struct simbar begun(int64_t ago_us)
{
    struct simbar b = simbar_begin("changed", "jobs", false);

    b.wanted = true; /* whatever standard error is here */
    b.began_us = now_mono_us() - ago_us;
    return b;
}

static void test_short_runs_show_nothing(void **state)
{
    struct simbar b = begun(0);
    struct caught c;

    (void)state;
    b.began_us = now_mono_us() + 60 * USEC_PER_SEC; /* however slow this machine is */
    catch (&c);
    simbar_progress(&b, 1, 2);
    simbar_progress(&b, 2, 2);
    simbar_end(&b);
    assert_string_equal(let_go(&c), "");
}

static void test_long_runs(void **state)
{
    struct simbar b = begun(10 * USEC_PER_SEC);
    struct caught c;
    const char *text;

    (void)state;
    catch (&c);
    simbar_progress(&b, 50, 200);
    b.drawn_us = now_mono_us() + 60 * USEC_PER_SEC;
    simbar_progress(&b, 51, 200); /* too soon again */
    simbar_progress(&b, 200, 200);
    simbar_end(&b);
    simbar_end(&b);
    text = let_go(&c);
    assert_non_null(strstr(
        text, "\rchanged        [##########..............................]  25% 50 of 200 jobs"));
    assert_null(strstr(text, "51 of"));
    assert_non_null(strstr(text, "] 100% 200 of 200 jobs\n"));
    assert_ptr_equal(strchr(text, '\n'), text + strlen(text) - 1);
}

static void test_only_where_somebody_looks(void **state)
{
    struct simbar b;
    struct caught c;

    (void)state;
    catch (&c);
    b = simbar_begin("easy", "jobs", false); /* standard error is a pipe */
    b.began_us -= 10 * USEC_PER_SEC;
    simbar_progress(&b, 1, 2);
    simbar_end(&b);
    assert_string_equal(let_go(&c), "");
    assert_false(b.wanted);
}

int main(void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(test_short_runs_show_nothing),
                                        cmocka_unit_test(test_long_runs),
                                        cmocka_unit_test(test_only_where_somebody_looks) };

    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests(tests, NULL, NULL);
}

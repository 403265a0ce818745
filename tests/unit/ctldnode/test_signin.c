/* test_signin.c - words that sign a browser in: once, for a minute, for one user; how many wait */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include <errno.h>

#include "base/timefmt.h"
#include "ctld/front/signin.h"

#define NOW INT64_C(5000000)
#define MINUTE (SIGNIN_S * USEC_PER_SEC)

static struct signins *new_signins(void)
{
    struct signins *s = NULL;

    assert_int_equal(signins_new(&s), 0);
    return s;
}

/* Is this what the word is good for?  NULL: nothing. */
static void takes(struct signins *s, const char *word, int64_t now, const char *token)
{
    char *got = signins_take(s, word, now);

    if (token)
        assert_string_equal(got, token);
    else
        assert_null(got);
    free(got);
}

static void test_once(void **state)
{
    struct signins *s = new_signins();
    char word[SIGNIN_WORD + 1], other[SIGNIN_WORD + 1];

    (void)state;
    assert_int_equal(signins_put(s, 1, "of-1", NOW, word), 0);
    assert_int_equal(signins_put(s, 2, "of-2", NOW, other), 0);
    assert_int_equal(strspn(word, "0123456789abcdef"), SIGNIN_WORD);
    assert_string_not_equal(word, other);
    takes(s, word, NOW, "of-1");
    takes(s, word, NOW, NULL);
    takes(s, other, NOW + MINUTE - 1, "of-2");
    assert_null(signins_free(s));
}

static void test_minute(void **state)
{
    struct signins *s = new_signins();
    char word[SIGNIN_WORD + 1];

    (void)state;
    assert_int_equal(signins_put(s, 1, "t", NOW, word), 0);
    takes(s, word, NOW + MINUTE, NULL);
    takes(s, word, NOW, NULL); /* gone, not asleep */
    assert_null(signins_free(s));
}

static void test_wrong_words(void **state)
{
    struct signins *s = new_signins();
    char word[SIGNIN_WORD + 1], wrong[SIGNIN_WORD + 2];

    (void)state;
    takes(s, "", NOW, NULL);
    takes(s, "00000000000000000000000000000000", NOW, NULL);
    assert_int_equal(signins_put(s, 1, "t", NOW, word), 0);
    for (size_t i = 0; i < SIGNIN_WORD; i++) {
        memcpy(wrong, word, sizeof(word));
        wrong[i] = wrong[i] == '0' ? '1' : '0';
        takes(s, wrong, NOW, NULL);
    }
    (void)snprintf(wrong, sizeof(wrong), "%sx", word);
    takes(s, wrong, NOW, NULL);
    (void)snprintf(wrong, sizeof(wrong), "%.31s", word);
    takes(s, wrong, NOW, NULL);
    takes(s, word, NOW, "t");
    assert_null(signins_free(s));
}

static void test_many(void **state)
{
    struct signins *s = new_signins();
    char word[SIGNIN_OF_ONE + 1][SIGNIN_WORD + 1], more[SIGNIN_WORD + 1];
    uid_t uid = 10;

    (void)state;
    for (size_t i = 0; i < SIGNIN_OF_ONE + 1; i++)
        assert_int_equal(signins_put(s, 1, "t", NOW + (int64_t)i, word[i]), 0);
    takes(s, word[0], NOW + 10, NULL); /* the oldest made room */
    for (size_t i = 0; i < SIGNIN_MOST - SIGNIN_OF_ONE; i++)
        assert_int_equal(signins_put(s, uid++, "t", NOW, more), 0);
    assert_int_equal(signins_put(s, uid, "t", NOW, more), -ENOSPC);
    assert_int_equal(signins_put(s, 1, "new", NOW, more), 0); /* in place of one of his own */
    takes(s, more, NOW, "new");
    for (size_t i = 0; i < 2; i++)
        assert_int_equal(signins_put(s, uid, "late", NOW + (int64_t)i * MINUTE, more), 0);
    takes(s, more, NOW + MINUTE, "late");
    assert_null(signins_free(s));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_once),
        cmocka_unit_test(test_minute),
        cmocka_unit_test(test_wrong_words),
        cmocka_unit_test(test_many),
    };

    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests(tests, NULL, NULL);
}

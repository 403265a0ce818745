/* test_curllib.c - libcurl is loaded, and its functions are the ones that were asked for */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "curl/curllib.h"

static void test_functions_are_libcurls(void **state)
{
    struct curl_api api;
    struct curl_slist *list;
    struct err err;
    CURL *handle;

    (void)state;
    assert_int_equal(curl_api_load(&api, "a test", &err), 0);
    assert_int_equal(curl_api_load(&api, "a test", &err), 0); /* again */
    list = api.slist_append(NULL, "Content-Type: text/plain");
    assert_string_equal(list->data, "Content-Type: text/plain");
    api.slist_free_all(list);
    handle = api.easy_init();
    assert_non_null(handle);
    assert_int_equal(api.easy_setopt(handle, CURLOPT_URL, "nonsense://host/"), CURLE_OK);
    assert_int_equal(api.easy_perform(handle), CURLE_UNSUPPORTED_PROTOCOL);
    assert_true(strlen(api.easy_strerror(CURLE_UNSUPPORTED_PROTOCOL)) > 0);
    api.easy_cleanup(handle);
}

static size_t take(struct curl_head *h, const char *text, size_t size, size_t n)
{
    char data[32];

    (void)snprintf(data, sizeof(data), "%s", text);
    return curl_head_take(data, size, n, h);
}

/* An answer comes in pieces, and may be longer than what is kept of it. */
static void test_head_of_an_answer(void **state)
{
    char text[8];
    struct curl_head h = { .text = text, .size = sizeof(text) };

    (void)state;
    curl_head_clear(&h);
    assert_string_equal(text, "");
    assert_int_equal(take(&h, "abcd", 1, 4), 4);
    assert_string_equal(text, "abcd");
    assert_int_equal(take(&h, "efghij", 2, 3), 6); /* 0 would end the transfer */
    assert_string_equal(text, "abcdefg");
    assert_int_equal(take(&h, "k", 1, 1), 1);
    assert_int_equal(take(&h, "", 1, 0), 0);
    assert_string_equal(text, "abcdefg");
    curl_head_clear(&h);
    assert_int_equal(take(&h, "x", 1, 1), 1);
    assert_string_equal(text, "x");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_functions_are_libcurls),
        cmocka_unit_test(test_head_of_an_answer),
    };

    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests(tests, NULL, NULL);
}

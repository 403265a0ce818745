/* test_curllib.c - libcurl is loaded, and its functions are the ones that were asked for */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
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

int main(void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(test_functions_are_libcurls) };

    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests(tests, NULL, NULL);
}

/* Which requests of the controller's port go to slurmrestd. */
#include "ctld/web/restchild.h"

#include <string.h>

#include "base/cleanup.h"
#include "wire/knock.h"

#include "model_util.h"

static bool wants(const char *text)
{
    size_t n = strlen(text);

    return restchild_wants(text, n < KNOCK_HTTP_SIZE ? n : KNOCK_HTTP_SIZE);
}

static void test_rest(void **state)
{
    static const char *const taken[] = { "GET /slurm/v0.0.45/jobs/ HTTP/1.1",
                                         "DELETE /slurmdb/v0.0.45/user/x HTTP/1.1",
                                         "OPTIONS /penstock/v1/watch HTTP/1.1",
                                         "POST /util/v0.0.45/hostnames HTTP/1.1",
                                         "GET /openapi HTTP/1.1",
                                         "GET /openapi/v3 HTTP/1.1",
                                         "GET /ui HTTP/1.1",
                                         "GET /ui/app.js HTTP/1.1" };

    for (size_t i = 0; i < ARRAY_SIZE(taken); i++)
        if (!wants(taken[i]))
            fail_msg("not passed on: %s", taken[i]);
}

static void test_others(void **state)
{
    static const char *const kept[] = { "",
                                        "GET",
                                        "GET ",
                                        "GET /slur",
                                        "GET / HTTP/1.1",
                                        "GET /metrics/jobs HTTP/1.1",
                                        "GET /livez HTTP/1.1",
                                        "GET /uix HTTP/1.1",
                                        "GET /slurmx/ HTTP/1.1",
                                        "GET  /slurm/ HTTP/1.1",
                                        "GET /x/slurm/ HTTP/1.1",
                                        "\0GET /slurm/" };

    for (size_t i = 0; i < ARRAY_SIZE(kept); i++)
        if (wants(kept[i]))
            fail_msg("passed on: %s", kept[i]);
}

int main(void)
{
    static const struct CMUnitTest tests[] = { cmocka_unit_test(test_rest),
                                               cmocka_unit_test(test_others) };

    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests(tests, NULL, NULL);
}

/* test_sh5item.c - one item of a series, sample by sample */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <errno.h>

#include "base/cleanup.h"
#include "cli/sh5util/sh5item.h"
#include "h5_files.h"

#define HEAD "Step,ElaspedTime,MinNode,MinValue,MaxNode,MaxValue,Sum,Avg,NumNodes,"

static int write_item(const struct h5_api *api, h5_id file, const char *series, const char *item,
                      char **ret_text, char **ret_said, struct err *err)
{
    struct sh5ids ids = { .job_id = 7 };
    struct sh5series which = { 0 };
    size_t len, said_len;
    FILE *to = open_memstream(ret_text, &len), *said = open_memstream(ret_said, &said_len);
    int r;

    assert_int_equal(sh5series_read(series, &which), 0);
    r = sh5item_write(api, file, &ids, &which, item, to, said, err);
    (void)fclose(to);
    (void)fclose(said);
    return r;
}

static void test_item(void **state)
{
    static const struct {
        const char *series, *item, *text, *said;
    } cases[] = {
        { "Task", "cputime",
          HEAD "Task_3 n1\n0,0,Task_3 n1,0.500000,Task_3 n1,0.500000,0.500000,0.500000,1,0.500000\n"
               "0,1,Task_3 n1,1.500000,Task_3 n1,1.500000,1.500000,1.500000,1,1.500000\n",
          "    Step 0 Maximum accumulated cputime Value (1.500000) occurred at Time=1, Ave Node "
          "1.500000\n" },
        { "Energy", "Power", HEAD "Energy n1\n0,0,n1,80,n1,80,80,80.000000,1,80\n",
          "    Step 0 Maximum accumulated Power Value (80) occurred at Time=0, Ave Node "
          "80.000000\n" },
    };
    struct err err = { .text = "" };
    struct h5_api api;
    char *text, *said;
    h5_id file;

    (void)state;
    assert_int_equal(h5_api_load(&api, "a test", &err), 0);
    file = h5_file_open(&api);
    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        assert_int_equal(write_item(&api, file, cases[i].series, cases[i].item, &text, &said, &err),
                         0);
        assert_string_equal(text, cases[i].text);
        assert_string_equal(said, cases[i].said);
        free(text);
        free(said);
    }
    assert_int_equal(write_item(&api, file, "Energy", "RSS", &text, &said, &err), -ENOENT);
    assert_string_equal(err.text, "series Energy has no item RSS: --list tells which there are");
    assert_string_equal(text, "");
    free(text);
    free(said);
    (void)api.f_close(file);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_item),
    };

    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests(tests, NULL, NULL);
}

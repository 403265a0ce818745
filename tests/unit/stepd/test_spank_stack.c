/* test_spank_stack.c - what plugins ask and change, on a stack made by hand: items, variables,
 * options, arguments */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>
#include <errno.h>

#include "base/cleanup.h"
#include "spank/stack_impl.h"

static struct plugin plugin = { .name = "my-plugin" };
static struct spank_host host;
static struct spank_stack stack = { .host = &host, .plugins = &plugin, .n = 1 };
static char said[4096];
static const char *variable; /* the one that the task has */

static void say(void *ctx, enum log_level level, const char *text)
{
    (void)ctx;
    (void)snprintf(said, sizeof(said), "%d %s", (int)level, text);
}

static const char *env_get(void *ctx, const char *name)
{
    (void)ctx;
    return strcmp(name, "V") == 0 ? variable : NULL;
}

static int env_set(void *ctx, const char *name, const char *value)
{
    (void)ctx;
    assert_string_equal(name, "V");
    variable = value;
    return 0;
}

static spank_t handle(spank_context_t context, enum spank_call call)
{
    host = (struct spank_host){
        .context = context, .log = say, .env_get = env_get, .env_set = env_set
    };
    host.facts.task = -1;
    stack.handle = (struct spank_handle){ &stack, &plugin, call };
    spank_the_stack = &stack;
    variable = NULL;
    return &stack.handle;
}

static void test_items(void **state)
{
    static const uint32_t ranks[] = { 4, 9 };
    static const pid_t pids[] = { 100, 0 };
    spank_t sp = handle(S_CTX_REMOTE, SPANK_TASK_EXIT);
    uint32_t u = 0;
    int i = 0;
    pid_t pid = 0;
    char *text = NULL;

    (void)state;
    assert_int_equal(spank_get_item(sp, S_JOB_ID, &u), ESPANK_NOT_AVAIL);
    assert_int_equal(spank_get_item(sp, S_JOB_LOCAL_TO_GLOBAL_ID, 0u, &u), ESPANK_NOT_AVAIL);
    assert_int_equal(spank_get_item(sp, S_TASK_ID, &i), ESPANK_NOT_TASK);
    assert_int_equal(spank_get_item(sp, (spank_item_t)99, &i), ESPANK_BAD_ARG);
    assert_int_equal(spank_get_item(NULL, S_JOB_ID, &u), ESPANK_BAD_ARG);
    host.facts =
        (struct spank_facts){ .known = (1ull << S_JOB_ID) | (1ull << S_JOB_LOCAL_TO_GLOBAL_ID),
                              .job_id = 7,
                              .ranks = ranks,
                              .pids = pids,
                              .local_tasks = 2,
                              .task = 1,
                              .status = 256 };
    assert_int_equal(spank_get_item(sp, S_JOB_ID, &u), ESPANK_SUCCESS);
    assert_int_equal(u, 7);
    assert_int_equal(spank_get_item(sp, S_TASK_GLOBAL_ID, &u), ESPANK_SUCCESS);
    assert_int_equal(u, 9);
    assert_int_equal(spank_get_item(sp, S_TASK_PID, &pid), ESPANK_NOT_EXECD);
    assert_int_equal(spank_get_item(sp, S_TASK_EXIT_STATUS, &i), ESPANK_NOT_AVAIL);
    host.facts.known |= 1ull << S_TASK_EXIT_STATUS;
    assert_int_equal(spank_get_item(sp, S_TASK_EXIT_STATUS, &i), ESPANK_SUCCESS);
    assert_int_equal(i, 256);
    assert_int_equal(spank_get_item(sp, S_JOB_PID_TO_GLOBAL_ID, (pid_t)100, &u), ESPANK_SUCCESS);
    assert_int_equal(u, 4);
    assert_int_equal(spank_get_item(sp, S_JOB_PID_TO_LOCAL_ID, (pid_t)100, &u), ESPANK_SUCCESS);
    assert_int_equal(u, 0);
    assert_int_equal(spank_get_item(sp, S_JOB_PID_TO_LOCAL_ID, (pid_t)0, &u), ESPANK_NOEXIST);
    assert_int_equal(spank_get_item(sp, S_JOB_GLOBAL_TO_LOCAL_ID, 9u, &u), ESPANK_SUCCESS);
    assert_int_equal(u, 1);
    assert_int_equal(spank_get_item(sp, S_JOB_GLOBAL_TO_LOCAL_ID, 5u, &u), ESPANK_NOEXIST);
    assert_int_equal(spank_get_item(sp, S_JOB_LOCAL_TO_GLOBAL_ID, 1u, &u), ESPANK_SUCCESS);
    assert_int_equal(u, 9);
    assert_int_equal(spank_get_item(sp, S_JOB_LOCAL_TO_GLOBAL_ID, 2u, &u), ESPANK_NOEXIST);
    assert_int_equal(spank_get_item(sp, S_SLURM_VERSION, &text), ESPANK_SUCCESS);
    assert_string_equal(text, "26.05.3");
    host.context = S_CTX_LOCAL;
    assert_int_equal(spank_get_item(sp, S_TASK_ID, &i), ESPANK_NOT_REMOTE);
}

static void test_environment(void **state)
{
    spank_t sp = handle(S_CTX_REMOTE, SPANK_TASK_INIT);
    char buf[4];

    (void)state;
    assert_int_equal(spank_remote(sp), 1);
    assert_int_equal(spank_context(), S_CTX_REMOTE);
    assert_int_equal(spank_getenv(sp, "V", buf, sizeof(buf)), ESPANK_ENV_NOEXIST);
    assert_int_equal(spank_setenv(sp, "V", "abc", 0), ESPANK_SUCCESS);
    assert_int_equal(spank_setenv(sp, "V", "x", 0), ESPANK_ENV_EXISTS);
    assert_int_equal(spank_getenv(sp, "V", buf, sizeof(buf)), ESPANK_SUCCESS);
    assert_string_equal(buf, "abc");
    assert_int_equal(spank_setenv(sp, "V", "abcd", 1), ESPANK_SUCCESS);
    assert_int_equal(spank_getenv(sp, "V", buf, sizeof(buf)), ESPANK_NOSPACE);
    assert_int_equal(spank_unsetenv(sp, "V"), ESPANK_SUCCESS);
    assert_null(variable);
    assert_int_equal(spank_setenv(sp, "A=B", "x", 1), ESPANK_BAD_ARG);
    assert_int_equal(spank_job_control_setenv(sp, "J", "x", 1), ESPANK_NOT_LOCAL);
    host.context = S_CTX_ALLOCATOR;
    assert_int_equal(spank_remote(sp), 0);
    assert_int_equal(spank_setenv(sp, "V", "x", 1), ESPANK_NOT_REMOTE);
}

static void test_job_control(void **state)
{
    spank_t sp = handle(S_CTX_LOCAL, SPANK_INIT_POST_OPT);
    char *const *list;
    char buf[8];
    size_t n;

    (void)state;
    assert_int_equal(spank_job_control_setenv(sp, "A", "1", 0), ESPANK_SUCCESS);
    assert_int_equal(spank_job_control_setenv(sp, "AB", "2", 0), ESPANK_SUCCESS);
    assert_int_equal(spank_job_control_setenv(sp, "A", "3", 0), ESPANK_ENV_EXISTS);
    assert_int_equal(spank_job_control_setenv(sp, "A", "3", 1), ESPANK_SUCCESS);
    assert_int_equal(spank_job_control_getenv(sp, "A", buf, sizeof(buf)), ESPANK_SUCCESS);
    assert_string_equal(buf, "3");
    assert_int_equal(spank_job_control_unsetenv(sp, "AB"), ESPANK_SUCCESS);
    assert_int_equal(spank_job_control_getenv(sp, "AB", buf, sizeof(buf)), ESPANK_ENV_NOEXIST);
    list = spank_job_control(&stack, &n);
    assert_int_equal(n, 1);
    assert_string_equal(list[0], "A=3");
    words_done(&stack.control);
}

static void test_prepend(void **state)
{
    spank_t sp = handle(S_CTX_REMOTE, SPANK_TASK_INIT);
    const char *one[] = { "a", "b" }, *two[] = { "c" };
    char *const *list;
    size_t n;

    (void)state;
    assert_int_equal(spank_prepend_task_argv(sp, 2, one), ESPANK_SUCCESS);
    assert_int_equal(spank_prepend_task_argv(sp, 1, two), ESPANK_SUCCESS);
    list = spank_prepended(&stack, &n);
    assert_int_equal(n, 3);
    assert_string_equal(list[0], "c");
    assert_string_equal(list[1], "a");
    assert_string_equal(list[2], "b");
    assert_null(list[3]);
    assert_int_equal(spank_prepend_task_argv(sp, 0, two), ESPANK_BAD_ARG);
    words_done(&stack.prepended);
}

static int calls, refuse;

static int on_option(int val, const char *arg, int remote)
{
    calls += val + remote;
    assert_true(arg != NULL);
    return refuse;
}

static void keep(void *ctx, const char *name, const char *value)
{
    (void)snprintf(ctx, 256, "%s=%s", name, value);
}

static const char *get_option(void *ctx, const char *name)
{
    (void)ctx;
    return strcmp(name, "_SLURM_SPANK_OPTION_my_plugin_an_option") == 0 ? "travelled" : NULL;
}

static void test_options(void **state)
{
    struct spank_option opt = { (char *)"an-option", NULL, NULL, 1, 10, on_option },
                        bad = { (char *)"a b", NULL, NULL, 0, 0, NULL };
    spank_t sp = handle(S_CTX_LOCAL, SPANK_INIT);
    struct err err = { .text = "" };
    char text[256] = "", *arg;

    (void)state;
    assert_int_equal(spank_option_register(sp, &opt), ESPANK_SUCCESS);
    assert_int_equal(spank_option_register(sp, &opt), ESPANK_BAD_ARG); /* there already */
    assert_int_equal(spank_option_register(sp, &bad), ESPANK_BAD_ARG);
    assert_int_equal(spank_option_count(&stack), 1);
    assert_int_equal(spank_option_getopt(sp, &opt, &arg), ESPANK_ERROR);
    spank_option_variables(&stack, keep, text);
    assert_string_equal(text, "");
    assert_int_equal(spank_option_given(&stack, 0, "x", &err), 0);
    assert_int_equal(calls, 10);
    assert_int_equal(spank_option_getopt(sp, &opt, &arg), ESPANK_SUCCESS);
    assert_string_equal(arg, "x");
    spank_option_variables(&stack, keep, text);
    assert_string_equal(text, "_SLURM_SPANK_OPTION_my_plugin_an_option=x");
    refuse = -1;
    assert_int_equal(spank_option_given(&stack, 0, "y", &err), -EINVAL);
    assert_string_equal(err.text, "Invalid --an-option argument: y");
    refuse = 0;
    host.context = S_CTX_REMOTE;
    calls = 0;
    assert_int_equal(spank_options_from(&stack, get_option, NULL, &err), 0);
    assert_int_equal(calls, 11);
    assert_int_equal(spank_option_getopt(sp, &opt, &arg), ESPANK_SUCCESS);
    assert_string_equal(arg, "travelled");
    stack.handle.call = SPANK_INIT_POST_OPT;
    assert_int_equal(spank_option_register(sp, &opt), ESPANK_NOT_AVAIL);
    host.context = S_CTX_JOB_SCRIPT;
    host.env_get = get_option;
    assert_int_equal(spank_option_getopt(sp, &opt, &arg), ESPANK_SUCCESS);
    assert_string_equal(arg, "travelled");
    options_done(&stack);
    stack.options = NULL;
    stack.n_options = 0;
}

static int callback_result, callbacks;

static int callback(spank_t sp, int ac, char **av)
{
    (void)ac;
    (void)av;
    assert_int_equal(spank_remote(sp), 1);
    callbacks++;
    slurm_error("callback %d", callbacks);
    return callback_result;
}

static void test_calls(void **state)
{
    static struct plugin two[2];
    struct spank_stack st = { .host = &host, .plugins = two, .n = 2 };
    struct err err = { .text = "" };

    (void)state;
    (void)handle(S_CTX_REMOTE, SPANK_INIT);
    spank_the_stack = &st;
    for (size_t i = 0; i < 2; i++) {
        two[i].name = "p";
        two[i].calls[SPANK_INIT] = callback;
    }
    assert_true(spank_stack_has(&st, SPANK_INIT));
    assert_false(spank_stack_has(&st, SPANK_EXIT));
    assert_int_equal(spank_stack_call(&st, SPANK_EXIT, &err), 0);
    assert_int_equal(spank_stack_call(&st, SPANK_INIT, &err), 0);
    assert_int_equal(callbacks, 2);
    assert_int_equal(spank_remote(&st.handle), -1); /* the callback is over */
    callback_result = ESPANK_JOB_FAILURE;
    assert_int_equal(spank_stack_call(&st, SPANK_INIT, &err), 0); /* both are optional */
    assert_int_equal(callbacks, 4);
    assert_non_null(strstr(said, "optional plugin p: slurm_spank_init() failed with 3012"));
    two[0].entry.required = true;
    assert_int_equal(spank_stack_call(&st, SPANK_INIT, &err), ESPANK_JOB_FAILURE);
    assert_int_equal(callbacks, 5);
    assert_string_equal(err.text, "required plugin p: slurm_spank_init() failed with 3012");
}

static void test_words(void **state)
{
    (void)state;
    for (unsigned i = 0; i < SPANK_CALLS_; i++)
        assert_int_equal(spank_symbol_supported(spank_call_name((enum spank_call)i)), 1);
    assert_int_equal(spank_symbol_supported("slurm_spank_other"), 0);
    assert_int_equal(spank_symbol_supported(NULL), -1);
    for (int i = ESPANK_ERROR; i <= ESPANK_JOB_FAILURE; i++)
        assert_string_not_equal(spank_strerror(i), "unknown error");
    assert_string_equal(spank_strerror(ESPANK_SUCCESS), "success");
    assert_string_equal(spank_strerror(-1), "unknown error");
    assert_string_equal(spank_strerror(ESPANK_JOB_FAILURE + 1), "unknown error");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_items),       cmocka_unit_test(test_environment),
        cmocka_unit_test(test_job_control), cmocka_unit_test(test_prepend),
        cmocka_unit_test(test_options),     cmocka_unit_test(test_calls),
        cmocka_unit_test(test_words),
    };

    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests(tests, NULL, NULL);
}

/* test_stack.c - a stack whose files are missing, are no libraries, or are no plugins; and its
 * lists of words */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <errno.h>
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "folder_util.h"
#include "spank/stack_impl.h"

static char said[2048];

static void say(void *ctx, enum log_level level, const char *text)
{
    (void)ctx;
    (void)level;
    (void)snprintf(said, sizeof(said), "%s", text);
}

static struct spank_host host = { .context = S_CTX_LOCAL, .log = say };
static char folder[64], file[128];

static int begin_group(void **state)
{
    (void)state;
    folder_make(folder, sizeof(folder), "stack");
    (void)snprintf(file, sizeof(file), "%s/plugstack.conf", folder);
    return 0;
}

static int end_group(void **state)
{
    (void)state;
    return folder_unlink(folder);
}

static void write_text(const char *path, const char *text)
{
    _cleanup_fclose_ FILE *f = fopen(path, "we");

    assert_non_null(f);
    assert_true(fputs(text, f) >= 0);
}

static int load(const char *dirs, struct spank_stack **ret, struct err *err)
{
    said[0] = '\0';
    err->text[0] = '\0';
    *ret = (struct spank_stack *)&host; /* must be overwritten */
    return spank_stack_load(file, dirs, &host, ret, err);
}

static void test_nothing(void **state)
{
    struct spank_stack *st;
    struct err err;

    (void)state;
    assert_int_equal(load(folder, &st, &err), 0); /* no file */
    assert_null(st);
    write_text(file, "# nothing\n\n");
    assert_int_equal(load(folder, &st, &err), 0);
    assert_null(st);
    assert_false(spank_stack_has(NULL, SPANK_INIT));
    assert_null(spank_stack_free(NULL));
    write_text(file, "requird a.so\n");
    assert_int_equal(load(folder, &st, &err), -EINVAL);
    assert_null(st);
    assert_true(err.text[0]);
}

/* An optional plugin that is wrong is told of and passed over; a required one ends the loading. */
static void test_missing(void **state)
{
    struct spank_stack *st;
    struct err err;

    (void)state;
    write_text(file, "optional nope.so\n");
    assert_int_equal(load(folder, &st, &err), 0);
    assert_null(st);
    assert_memory_equal(said, "optional plugin nope.so cannot be loaded: ", 42);
    assert_null(spank_the_stack);
    write_text(file, "optional nope.so\nrequired /nowhere/no.so a b\n");
    assert_int_equal(load(NULL, &st, &err), -ENOENT);
    assert_null(st);
    assert_memory_equal(err.text, "required plugin /nowhere/no.so cannot be loaded: ", 49);
    assert_null(spank_the_stack);
}

static void test_no_plugin(void **state)
{
    struct spank_stack *st;
    struct err err;
    Dl_info info;
    char text[512];
    const char *const junk[] = { "", "no library",
                                 "\x7f"
                                 "ELF" };

    (void)state;
    for (size_t i = 0; i < ARRAY_SIZE(junk); i++) {
        char path[128];

        (void)snprintf(path, sizeof(path), "%s/junk.so", folder);
        write_text(path, junk[i]);
        write_text(file, "required junk.so\n");
        (void)snprintf(text, sizeof(text), "/nowhere::%s", folder); /* the last has it */
        assert_int_equal(load(text, &st, &err), -ENOENT);
        assert_memory_equal(err.text, "required plugin junk.so cannot be loaded: ", 42);
        assert_non_null(strstr(err.text, folder));
    }
    assert_true(dladdr((void *)(uintptr_t)qsort, &info) != 0); /* a library of another kind */
    (void)snprintf(text, sizeof(text), "required %s\n", info.dli_fname);
    write_text(file, text);
    assert_int_equal(load(NULL, &st, &err), -EINVAL);
    assert_non_null(strstr(err.text, "does not declare itself as a plugin (SPANK_PLUGIN)"));
    assert_null(st);
}

static void test_words(void **state)
{
    struct words w = { 0 };
    size_t at = 9;

    (void)state;
    assert_false(words_find(&w, "A", &at));
    assert_int_equal(words_add(&w, NULL), -ENOMEM); /* a strdup() that failed */
    assert_int_equal(words_add(&w, strdup("AB=1")), 0);
    assert_int_equal(words_add(&w, strdup("A=2")), 0);
    assert_int_equal(words_add(&w, strdup("C")), 0);
    assert_null(w.list[w.n]);
    assert_true(words_find(&w, "A", &at));
    assert_int_equal(at, 1);
    assert_false(words_find(&w, "C", &at)); /* without a value */
    assert_false(words_find(&w, "B", &at));
    assert_false(words_find(&w, "AB=1", &at));
    words_done(&w);
    assert_int_equal(w.n, 0);
    words_done(&w);
}

static int fails(spank_t sp, int argc, char **argv)
{
    (void)argc;
    (void)argv;
    assert_non_null(sp->stack);
    return ESPANK_JOB_FAILURE;
}

/* What an optional plugin returns is told; what a required one returns ends the call. */
static void test_call(void **state)
{
    struct plugin list[] = { { .name = "a", .calls = { [SPANK_EXIT] = fails } },
                             { .name = "b", .calls = { [SPANK_EXIT] = fails } } };
    struct spank_stack st = { .host = &host, .plugins = list, .n = 2 };
    struct err err = { .text = "" };

    (void)state;
    assert_true(spank_stack_has(&st, SPANK_EXIT));
    assert_false(spank_stack_has(&st, SPANK_INIT));
    assert_int_equal(spank_stack_call(&st, SPANK_INIT, &err), 0);
    assert_int_equal(spank_stack_call(&st, SPANK_EXIT, &err), 0);
    assert_string_equal(said, "optional plugin b: slurm_spank_exit() failed with 3012");
    assert_null(st.handle.stack); /* the handle is good inside the call only */
    list[0].entry.required = true;
    said[0] = '\0';
    assert_int_equal(spank_stack_call(&st, SPANK_EXIT, &err), ESPANK_JOB_FAILURE);
    assert_string_equal(err.text, "required plugin a: slurm_spank_exit() failed with 3012");
    assert_string_equal(said, "");
    assert_int_equal(spank_stack_call(&st, SPANK_EXIT, NULL), ESPANK_JOB_FAILURE);
    assert_string_equal(said, "required plugin a: slurm_spank_exit() failed with 3012");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_nothing),   cmocka_unit_test(test_missing),
        cmocka_unit_test(test_no_plugin), cmocka_unit_test(test_words),
        cmocka_unit_test(test_call),
    };

    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests(tests, begin_group, end_group);
}

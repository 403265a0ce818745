/* test_kubeoptions.c - shared options, a program's own, and command lines that are wrong */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <getopt.h>
#include <string.h>

#include "base/cleanup.h"
#include "kube/api/kubeoptions.h"

struct words {
    struct kubeprogram k;
    const char *image, *url;
    bool json;
};

/* The command line stands behind "t". */
static int read_words(struct words *w, bool takes_arguments, const char *a, const char *b,
                      const char *c)
{
    char *argv[] = { (char *)"t", (char *)a, (char *)b, (char *)c, NULL };
    const struct kubeoption own[] = { { "image", 'i', &w->image, NULL },
                                      { "rest-url", '\0', &w->url, NULL },
                                      { "json", '\0', NULL, &w->json } };
    int argc = 1;

    *w = (struct words){ .k = { .name = "t" } };
    while (argv[argc])
        argc++;
    optind = 0; /* getopt(3) begins anew */
    opterr = 0;
    return kubeoptions_read(&w->k, "Usage: t\n", own, ARRAY_SIZE(own), takes_arguments, LOG_ERROR,
                            argc, argv);
}

static void test_words_go_to_their_places(void **state)
{
    struct words w;

    (void)state;
    assert_int_equal(read_words(&w, false, "-k", "file", "--context=c"), -1);
    assert_string_equal(w.k.kubeconfig, "file");
    assert_string_equal(w.k.context, "c");
    assert_int_equal(read_words(&w, false, "-ix", "--rest-url=u", "--json"), -1);
    assert_string_equal(w.image, "x");
    assert_string_equal(w.url, "u");
    assert_true(w.json);
    assert_int_equal(read_words(&w, false, "--image", "y", NULL), -1);
    assert_string_equal(w.image, "y");
    assert_false(w.json);
}

static void test_arguments(void **state)
{
    struct words w;

    (void)state;
    assert_int_equal(read_words(&w, false, "more", NULL, NULL), KUBEOPTIONS_WRONG);
    assert_int_equal(read_words(&w, true, "--json", "more", NULL), -1);
    assert_int_equal(optind, 2);
}

static void test_what_ends_the_program(void **state)
{
    struct words w;

    (void)state;
    assert_int_equal(read_words(&w, false, "-h", NULL, NULL), 0);
    assert_int_equal(read_words(&w, false, "--version", NULL, NULL), 0);
    assert_int_equal(read_words(&w, false, "--nonsense", NULL, NULL), KUBEOPTIONS_WRONG);
    assert_int_equal(read_words(&w, false, "-i", NULL, NULL), KUBEOPTIONS_WRONG);
    assert_int_equal(read_words(&w, false, "--json=1", NULL, NULL), KUBEOPTIONS_WRONG);
    assert_int_equal(read_words(&w, false, "-vvv", "-v", NULL), -1);
}

static void test_names(void **state)
{
    const struct kubeprogram k = { .name = "t" };

    (void)state;
    assert_true(kubeoptions_check_name(&k, "namespace", "a-b.c"));
    assert_false(kubeoptions_check_name(&k, "namespace", "A/b"));
    assert_false(kubeoptions_check_name(&k, "namespace", ""));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_words_go_to_their_places),
        cmocka_unit_test(test_arguments),
        cmocka_unit_test(test_what_ends_the_program),
        cmocka_unit_test(test_names),
    };

    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests(tests, NULL, NULL);
}

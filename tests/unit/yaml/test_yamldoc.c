/* test_yamldoc.c - the first document of a text, and what is wrong with it */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "base/cleanup.h"
#include "base/yaml/yamldoc.h"

static void test_texts(void **state)
{
    static const struct {
        const char *text, *first; /* first: the root's scalar; NULL: no root */
        int rc;
        size_t line;
    } cases[] = {
        { "word", "word", 0, 0 },
        { "---\none\n---\ntwo\n", "one", 0, 0 },
        { "", NULL, 0, 0 },
        { "# a comment\n", NULL, 0, 0 },
        { "a: b\nc: [d\ne: f\n", NULL, -EINVAL, 3 },
        { "a: *none\n", NULL, -EINVAL, 1 },
        { "\xff\xfe\xff", NULL, -EINVAL, 1 },
    };

    (void)state;
    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        struct yamldoc_fault fault = { 0 };
        const yaml_node_t *root;
        yaml_document_t doc;

        assert_int_equal(yamldoc_load(cases[i].text, strlen(cases[i].text), &doc, &fault),
                         cases[i].rc);
        if (cases[i].rc < 0) {
            assert_int_equal(fault.line, cases[i].line);
            assert_true(fault.why && *fault.why);
            continue;
        }
        root = yaml_document_get_root_node(&doc);
        assert_int_equal(root != NULL, cases[i].first != NULL);
        if (root)
            assert_string_equal((const char *)root->data.scalar.value, cases[i].first);
        yaml_document_delete(&doc);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_texts),
    };

    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests(tests, NULL, NULL);
}

/* test_kafkaconf.c - the file of JobCompLoc for jobcomp/kafka: pairs, comments, what is refused */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/strbuf.h"
#include "ctld/notify/kafkaconf.h"

static int take_pair(void *ctx, const char *key, const char *value, struct err *err)
{
    if (strcmp(key, "no.such.key") == 0)
        return err_set(err, -ENOENT, "no configuration property '%s'", key);
    strbuf_addf(ctx, "<%s|%s>", key, value);
    return 0;
}

static int read_text(char *text, struct strbuf *pairs, struct err *err)
{
    FILE *f = fmemopen(text, strlen(text), "r");
    int r;

    assert_non_null(f);
    r = kafkaconf_read(f, "kafka.conf", take_pair, pairs, err);
    (void)fclose(f);
    return r;
}

static const struct row {
    const char *text, *pairs;
    int rc;
    const char *words;
} rows[] = {
    { "bootstrap.servers=h:9092\n", "<bootstrap.servers|h:9092>", 0, "" },
    { "metadata.broker.list=h", "<metadata.broker.list|h>", 0, "" }, /* no newline at the end */
    { "# a comment\n\n  \t\n \t# one more\ntest.mock.num.brokers=1\n", "<test.mock.num.brokers|1>",
      0, "" },
    { "  bootstrap.servers \t=  h1,h2  \r\nacks =\n", "<bootstrap.servers|h1,h2><acks|>", 0, "" },
    { "bootstrap.servers=h\nsasl.password=a=b #c\n", "<bootstrap.servers|h><sasl.password|a=b #c>",
      0, "" },
    { "acks=1\n", "<acks|1>", -EINVAL, "kafka.conf: bootstrap.servers is missing" },
    { "#bootstrap.servers=h\n", "", -EINVAL, "kafka.conf: bootstrap.servers is missing" },
    { "acks=1\nbootstrap.servers\n", "<acks|1>", -EINVAL,
      "kafka.conf:2: key=value is missing in 'bootstrap.servers'" },
    { "=h\n", "", -EINVAL, "kafka.conf:1: key=value is missing in '=h'" },
    { "\nno.such.key=1\nbootstrap.servers=h\n", "", -ENOENT,
      "kafka.conf:2: no configuration property 'no.such.key'" },
};

static void test_rows(void **state)
{
    (void)state;
    for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
        _cleanup_val_(strbuf_done) struct strbuf pairs = STRBUF_INIT;
        _cleanup_free_ char *text = strdup(rows[i].text);
        struct err err = { .text = "" };

        assert_non_null(text);
        if (read_text(text, &pairs, &err) != rows[i].rc)
            fail_msg("row %zu: %s", i, err.text);
        assert_string_equal(strbuf_str(&pairs), rows[i].pairs);
        assert_string_equal(err.text, rows[i].words);
    }
}

/* A line that fills what is read of it at a time; one byte more is refused, without any of it. */
static void test_long(void **state)
{
    (void)state;
    for (size_t more = 0; more < 2; more++) {
        _cleanup_val_(strbuf_done) struct strbuf pairs = STRBUF_INIT;
        struct err err = { .text = "" };
        char text[8192] = "bootstrap.servers=";
        size_t had = strlen(text);

        memset(text + had, 'x', 4094 - had + more);
        memcpy(text + 4094 + more, "\nacks=1\n", 9);
        assert_int_equal(read_text(text, &pairs, &err), more ? -E2BIG : 0);
        assert_int_equal(strbuf_str(&pairs)[0] == '\0', more);
        assert_string_equal(err.text,
                            more ? "kafka.conf:1: the line is longer than 4094 bytes" : "");
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_rows),
        cmocka_unit_test(test_long),
    };

    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests(tests, NULL, NULL);
}

/* test_nssconf.c - nss_slurm.conf */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "nss/nssconf.h"

static bool parse(const char *text, struct nss_conf *c)
{
    char buf[NSSCONF_MAX + 2];
    size_t len = strlen(text);

    memcpy(buf, text, len);
    buf[len] = 'x';
    return nssconf_parse(buf, len, "host1", c);
}

static void test_values(void **state)
{
    struct nss_conf c;

    (void)state;
    assert_true(parse("", &c));
    assert_string_equal(c.node, "host1");
    assert_string_equal(c.spool, "/var/spool/slurmd");
    assert_true(parse(
        "# of this host\n\n nodename = n7 # its name\nSLURMDSPOOLDIR=/spool/%n/%h/%x\r\n", &c));
    assert_string_equal(c.node, "n7");
    assert_string_equal(c.spool, "/spool/n7/host1/%x");
    /* the folder is named before the node */
    assert_true(parse("SlurmdSpoolDir=/spool/%n\nNodeName=n8", &c));
    assert_string_equal(c.spool, "/spool/n8");
}

static void test_bad(void **state)
{
    static const char *const bad[] = {
        "NodeName", "NodeName=",          "Other=1",         "NodeName=a/b",
        "=",        "SlurmdSpoolDir=var", "SlurmdSpoolDir=",
    };
    char text[NSSCONF_MAX];
    struct nss_conf c;

    (void)state;
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
        if (parse(bad[i], &c))
            fail_msg("taken: %s", bad[i]);
    memset(text, 'a', sizeof(text));
    memcpy(text, "NodeName=", 9);
    text[9 + sizeof(c.node)] = '\0';
    assert_false(parse(text, &c));
    text[9 + sizeof(c.node) - 1] = '\0';
    assert_true(parse(text, &c));
    memset(text, 'a', sizeof(text));
    memcpy(text, "SlurmdSpoolDir=/", 16);
    text[15 + sizeof(c.spool)] = '\0';
    assert_false(parse(text, &c));
    text[15 + sizeof(c.spool) - 1] = '\0';
    assert_true(parse(text, &c));
}

static void test_file(void **state)
{
    char path[] = "/tmp/nssconf-XXXXXX", big[NSSCONF_MAX + 1];
    int fd = mkstemp(path);
    FILE *f = fdopen(fd, "w");
    struct nss_conf c;

    (void)state;
    assert_non_null(f);
    assert_true(fputs("NodeName=n9\n", f) >= 0 && fflush(f) == 0);
    assert_true(nssconf_read(path, &c));
    assert_string_equal(c.node, "n9");
    memset(big, '#', sizeof(big)); /* a comment, and too long */
    assert_int_equal(fwrite(big, sizeof(big), 1, f), 1);
    assert_int_equal(fclose(f), 0);
    assert_false(nssconf_read(path, &c));
    assert_int_equal(remove(path), 0);
    assert_true(nssconf_read(path, &c)); /* no file: as by itself */
    assert_false(nssconf_read("/", &c));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_values),
        cmocka_unit_test(test_bad),
        cmocka_unit_test(test_file),
    };

    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests(tests, NULL, NULL);
}

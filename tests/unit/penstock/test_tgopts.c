/* test_tgopts.c - penstock topograph: options become a request; programs that runs start, files */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/readfile.h"
#include "penstock/penstock.h"
#include "penstock/tgapply.h"
#include "penstock/tgload.h"
#include "penstock/tgopts.h"
#include "penstock/tgservice.h"
#include "penstock/topograph.h"
#include "topograph/serve/tgserve.h"

static int parse_line(const char *line, struct tgopts *o)
{
    char copy[256], *rest = copy, *argv[32] = { (char *)"penstock", (char *)"penstock" };
    int argc = 1;

    (void)snprintf(copy, sizeof(copy), "%s", line);
    while (rest && argc < 31)
        argv[argc++] = strsep(&rest, " ");
    argv[argc] = NULL;
    optind = 0; /* getopt begins anew */
    return tgopts_parse(argc, argv, o);
}

static const struct {
    const char *line, *want; /* the request; NULL: a usage error */
} lines[] = {
    { "generate -p aws -i a.json -i b.json",
      "{\"provider\":{\"name\":\"aws\",\"params\":{\"file\":[\"a.json\",\"b.json\"]}}}" },
    { "generate -p infiniband-bm -i f -a smi --trim-tiers 1 --normalise",
      "{\"provider\":{\"name\":\"infiniband-bm\",\"params\":{\"accelerator\":{\"source\":"
      "\"nvidia-smi\"},\"acceleratorFile\":[\"smi\"],\"file\":[\"f\"],\"normalise\":true,"
      "\"trimTiers\":1}}}" },
    { "generate -p dra -i f --clique-label my/key -e k8s",
      "{\"engine\":{\"name\":\"k8s\"},\"provider\":{\"name\":\"dra\",\"params\":{\"accelerator\":"
      "{\"kubernetesLabel\":{\"key\":\"my/key\"}},\"file\":[\"f\"]}}}" },
    { "generate -p oci-sim -i m -P topology/block -b 16,32 --block-regexp (n) --block-format $1 -y",
      "{\"engine\":{\"params\":{\"blockName\":{\"format\":\"$1\",\"nodeNameRegexp\":\"(n)\"},"
      "\"blockSizes\":[16,32],\"plugin\":\"topology/block\",\"yaml\":true}},\"provider\":{\"name\":"
      "\"oci-sim\",\"params\":{\"modelFileName\":[\"m\"]}}}" },
    { "generate -p gcp -i f -n n[1-2]",
      "{\"nodes\":[{\"instances\":{\"n1\":\"n1\",\"n2\":\"n2\"}}],\"provider\":{\"name\":\"gcp\","
      "\"params\":{\"file\":[\"f\"]}}}" },
    { "serve -d /data --delay 0", "{}" },
    { "generate -b 1,x", NULL },
    { "generate -n n[2-1]", NULL },
    { "generate --delay 5", NULL },
    { "serve -w 5", NULL },
    { "generate -w 0", NULL },
    { "generate -i ", NULL },
    { "look", NULL },
    { "generate more", NULL },
};

static void test_lines(void **state)
{
    (void)state;
    for (size_t i = 0; i < ARRAY_SIZE(lines); i++) {
        struct tgopts o = { .request = NULL };
        int r = parse_line(lines[i].line, &o);
        char *dump;

        if (!lines[i].want) {
            assert_int_equal(r, STATUS_USAGE);
            continue;
        }
        assert_int_equal(r, STATUS_OK);
        dump = json_dumps(o.request, JSON_SORT_KEYS | JSON_COMPACT);
        assert_string_equal(dump, lines[i].want);
        free(dump);
        json_decref(o.request);
    }
}

static void test_programs(void **state)
{
    struct err err = { .text = "" };
    char *text = NULL;
    size_t len = 0;

    (void)state;
    assert_int_equal(tgload_input(NULL, "echo one; echo two", true, &text, &len, &err), 0);
    assert_string_equal(text, "one\ntwo\n");
    assert_int_equal(len, 8);
    free(text);
    assert_int_equal(tgload_input(NULL, "exit 3", true, &text, &len, &err), -EREMOTEIO);
    assert_string_equal(err.text, "exit 3: the program failed");
    assert_int_equal(tgload_program((char *[]){ (char *)"/bin/sh", (char *)"-c",
                                                (char *)"while :; do echo yes; done", NULL },
                                    100000, &text, &len, &err),
                     -EFBIG);
    assert_int_equal(tgload_input(NULL, "/nonexistent/file", false, &text, &len, &err), -ENOENT);
    assert_string_equal(err.text, "cannot read /nonexistent/file: No such file or directory");
}

static void test_written_whole(void **state)
{
    char dir[] = "/tmp/test-tgopts-XXXXXX", path[64];
    struct err err = { .text = "" };
    char *text;
    size_t len;

    (void)state;
    assert_non_null(mkdtemp(dir));
    (void)snprintf(path, sizeof(path), "%s/topology.conf", dir);
    assert_int_equal(tgload_write(path, "first", 5, &err), 0);
    assert_int_equal(tgload_write(path, "2nd", 3, &err), 0);
    assert_int_equal(readfile(path, 100, &text, &len), 0);
    assert_string_equal(text, "2nd");
    free(text);
    assert_int_equal(unlink(path), 0);
    assert_int_equal(rmdir(dir), 0); /* nothing else was left there */
    assert_int_equal(tgload_write(path, "x", 1, &err), -ENOENT);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_lines),
        cmocka_unit_test(test_programs),
        cmocka_unit_test(test_written_whole),
    };

    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests(tests, NULL, NULL);
}

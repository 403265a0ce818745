/* test_sbatch_script.c - batch scripts: checks and #SBATCH lines */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/words.h"
#include "cli/base/cli.h"
#include "cli/job/batchscript.h"
#include "cli/job/foreign.h"

#define SH "#!/bin/sh\n"

static struct script of(const char *text, size_t len)
{
    struct script s = { .text = xmalloc_or_die(len + 1), .len = len };

    memcpy(s.text, text, len);
    return s;
}

static const struct {
    const char *text;
    size_t len;        /* 0 = strlen */
    const char *error; /* NULL = fine */
} checks[] = {
    { "", 0, "Batch script is empty!" },
    { " \n\t\n", 0, "Batch script contains only whitespace!" },
    { "echo hi\n", 0,
      "This does not look like a batch script.  The first\n"
      "line must start with #! followed by the path to an interpreter.\n"
      "For instance: #!/bin/sh" },
    { "\n#!/bin/sh\n", 0,
      "This does not look like a batch script.  The first\n"
      "line must start with #! followed by the path to an interpreter.\n"
      "For instance: #!/bin/sh" },
    { "#!/bin/sh\r\necho\r\n", 0,
      "Batch script contains DOS line breaks (\\r\\n)\ninstead of expected UNIX line breaks "
      "(\\n)." },
    { "#!/bin/sh\n\0x", 12,
      "The Slurm controller does not allow scripts that\n"
      "contain a NULL character '\\0'." },
    { "#!/bin/sh\n", 0, NULL },
    { "#!", 0, NULL },
};

static void test_check(void **state)
{
    (void)state;
    for (size_t i = 0; i < ARRAY_SIZE(checks); i++) {
        size_t len = checks[i].len ? checks[i].len : strlen(checks[i].text);
        struct script s = of(checks[i].text, len);
        struct err err = { .text = "" };

        assert_int_equal(script_check(&s, &err), checks[i].error ? 1 : 0);
        assert_string_equal(err.text, checks[i].error ? checks[i].error : "");
        script_done(&s);
    }
}

static const struct {
    const char *text;
    int n;
    const char *words; /* joined by '|' */
} splits[] = {
    { " -n 2 --time=5", 3, "-n|2|--time=5" },
    { " --comment='a b' -J x", 3, "--comment=a b|-J|x" },
    { " --comment=\"it's # one\"", 1, "--comment=it's # one" },
    { " -n 2 # two tasks", 2, "-n|2" },
    { " -J a#b", 2, "-J|a#b" },
    { " -J a\\#b", 2, "-J|a#b" },
    { " -J a\\", 2, "-J|a" },
    { " -J a\\ b", 2, "-J|a b" },
    { " -J \"a\\\"b\"", 2, "-J|a\"b" },
    { " -J ''", 2, "-J|" },
    { "  \t ", 0, "" },
    { " 'open", -EINVAL, "" },
};

static void test_split(void **state)
{
    (void)state;
    for (size_t i = 0; i < ARRAY_SIZE(splits); i++) {
        char buf[256], *words[8], joined[256] = "";
        int n = words_split(splits[i].text, strlen(splits[i].text), buf, words, ARRAY_SIZE(words));

        assert_int_equal(n, splits[i].n);
        for (int k = 0; k < n; k++)
            (void)snprintf(joined + strlen(joined), sizeof(joined) - strlen(joined), "%s%s",
                           k ? "|" : "", words[k]);
        assert_string_equal(joined, splits[i].words);
    }
}

static const struct {
    const char *text, *counts;
} comments[] = {
    { " -J a#b", " -J a" },
    { " -J \"a\"#b", " -J \"a\"" },
    { " -J a\\#b", " -J a\\#b" },
    { " -J 'a#b' # c", " -J 'a#b' " },
    { " -J \"it's #1\" -n 2", " -J \"it's #1\" -n 2" },
    { " -J 'a\\'#b", " -J 'a\\'" },
    { "#", "" },
    { " -n 2\\", " -n 2\\" },
};

/* As Debian's sbatch reads them. */
static void test_before_comment(void **state)
{
    (void)state;
    for (size_t i = 0; i < ARRAY_SIZE(comments); i++)
        assert_int_equal(words_before_comment(comments[i].text, strlen(comments[i].text)),
                         strlen(comments[i].counts));
}

static void test_too_many_words(void **state)
{
    char buf[64], *words[2];

    (void)state;
    assert_int_equal(words_split(" a b c", 6, buf, words, 2), -E2BIG);
}

static int options(const char *text, struct jobopts *jo)
{
    struct script s = of(text, strlen(text));
    struct hetopts h;
    int status;

    hetopts_init(&h, JOBOPTS_SBATCH);
    status = script_options(&s, "x.sh", &h);
    *jo = h.list[0]; /* and what it owns */
    for (size_t k = 1; k < h.n; k++)
        jobopts_done(&h.list[k]);
    free(h.list);
    script_done(&s);
    return status;
}

static void test_directives(void **state)
{
    struct jobopts jo;

    (void)state;
    assert_int_equal(options(SH "#SBATCH -J run#1 -n 9\n#SBATCH --comment='a#b'#c\n", &jo), 0);
    assert_string_equal(jobopts_get(&jo, JO_JOB_NAME), "run");
    assert_string_equal(jobopts_get(&jo, JO_COMMENT), "a#b");
    assert_false(jobopts_has(&jo, JO_NTASKS));
    jobopts_done(&jo);
    assert_int_equal(
        options(SH "#SBATCH -n 3 -J 'my job'\n# a comment\n\n#SBATCH\t--hold\necho\n#SBATCH -n 9\n",
                &jo),
        0);
    assert_string_equal(jobopts_get(&jo, JO_NTASKS), "3");
    assert_string_equal(jobopts_get(&jo, JO_JOB_NAME), "my job");
    assert_true(jobopts_has(&jo, JO_HOLD));
    jobopts_done(&jo);
    assert_int_equal(
        options(SH "#SBATCHX -n 3\n # SBATCH -n 3\n #SBATCH -n 3\n##SBATCH -n 3\n#SBATCH -n 4",
                &jo),
        0);
    assert_string_equal(jobopts_get(&jo, JO_NTASKS), "4"); /* also without a newline at the end */
    jobopts_done(&jo);
}

/* Lines of other systems, as the options they mean. */
static void test_foreign(void **state)
{
    char pbs[] = " -N name -l nodes=2:ppn=3,walltime=00:10:00,mem=10gb -q batch -m abe -r n -W x";
    char bsub[] = " -J bname -n 3 -W 10 -x";
    struct jobopts jo;

    (void)state;
    jobopts_init(&jo, JOBOPTS_SBATCH);
    assert_int_equal(foreign_line(FOREIGN_PBS, pbs, strlen(pbs), &jo), 0);
    assert_string_equal(jobopts_get(&jo, JO_JOB_NAME), "name");
    assert_string_equal(jobopts_get(&jo, JO_NODES), "2");
    assert_string_equal(jobopts_get(&jo, JO_NTASKS), "6");
    assert_string_equal(jobopts_get(&jo, JO_TIME), "00:10:00");
    assert_string_equal(jobopts_get(&jo, JO_MEM), "10g");
    assert_string_equal(jobopts_get(&jo, JO_MAIL_TYPE), "FAIL,BEGIN,END");
    assert_true(jobopts_has(&jo, JO_NO_REQUEUE));
    assert_int_equal(foreign_line(FOREIGN_BSUB, bsub, strlen(bsub), &jo), 0);
    assert_string_equal(jobopts_get(&jo, JO_JOB_NAME), "bname");
    assert_string_equal(jobopts_get(&jo, JO_NTASKS), "3");
    assert_true(jobopts_has(&jo, JO_EXCLUSIVE));
    assert_int_equal(foreign_line(FOREIGN_PBS, " -Z", 3, &jo), 1);
    assert_int_equal(foreign_line(FOREIGN_PBS, " -N 'x", 6, &jo), 1);
    assert_int_equal(foreign_line(FOREIGN_BSUB, " -n x", 5, &jo), 1);
    jobopts_done(&jo);
}

static const struct {
    const char *text;
    int status;
} bad_lines[] = {
    { "#SBATCH --foo=1\n", 255 }, { "#SBATCH -n abc\n", 1 },
    { "#SBATCH -t x\n", 255 },    { "#SBATCH hetjob\n", 0 },
    { "#SBATCH packjob\n", 0 },   { "#SBATCH -J 'x\n", 1 },
    { "#SBATCH --help\n", 0 },    { "#SBATCH --container-type=x\n", 1 },
    { "#SBATCH --label\n", 255 },
};

static void test_bad_directives(void **state)
{
    (void)state;
    for (size_t i = 0; i < ARRAY_SIZE(bad_lines); i++) {
        char text[256];
        struct jobopts jo;

        (void)snprintf(text, sizeof(text), SH "%s", bad_lines[i].text);
        assert_int_equal(options(text, &jo), bad_lines[i].status);
        jobopts_done(&jo);
    }
}

static void test_long_line(void **state)
{
    size_t len = 2 * SCRIPT_LINE_MAX;
    char *text = xmalloc_or_die(len + 1);
    struct jobopts jo;

    (void)state;
    memset(text, 'x', len);
    memcpy(text, SH "#SBATCH --comment=", strlen(SH "#SBATCH --comment="));
    assert_int_equal(options(text, &jo), 1);
    jobopts_done(&jo);
    free(text);
}

static void test_wrap(void **state)
{
    struct script s;

    (void)state;
    script_wrap("sleep 30", &s);
    assert_string_equal(s.text,
                        "#!/bin/sh\n# This script was created by sbatch --wrap.\n\nsleep 30\n");
    assert_int_equal(s.len, strlen(s.text));
    script_done(&s);
}

static void test_find(void **state)
{
    char dir[] = "/tmp/pst-script-XXXXXX";
    _cleanup_free_ char *file = NULL, *found = NULL, *missing = NULL, *literal = NULL,
                        *by_path = NULL;
    struct script s;
    struct err err = { .text = "" };
    FILE *f;

    (void)state;
    assert_non_null(mkdtemp(dir));
    file = xasprintf_or_die("%s/job.sh", dir);
    f = fopen(file, "we");
    assert_non_null(f);
    (void)fputs(SH "true\n", f);
    assert_int_equal(fclose(f), 0);
    found = script_find("job.sh", dir);
    assert_string_equal(found, file);
    missing = script_find("nothing-like-it.sh", dir);
    assert_string_equal(missing, "nothing-like-it.sh");
    literal = script_find("./job.sh", dir);
    assert_string_equal(literal, "./job.sh");
    setenv("PATH", dir, 1);
    by_path = script_find("job.sh", "/");
    assert_string_equal(by_path, file);
    assert_int_equal(script_read(file, &s, &err), 0);
    assert_string_equal(s.text, SH "true\n");
    assert_string_equal(s.path, file);
    script_done(&s);
    assert_int_equal(script_read(dir, &s, &err), 0); /* a directory reads as empty */
    assert_int_equal(s.len, 0);
    script_done(&s);
    (void)unlink(file);
    assert_int_equal(script_read(file, &s, &err), 1);
    assert_non_null(strstr(err.text, "Unable to open file"));
    (void)rmdir(dir);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_check),          cmocka_unit_test(test_split),
        cmocka_unit_test(test_before_comment), cmocka_unit_test(test_too_many_words),
        cmocka_unit_test(test_directives),     cmocka_unit_test(test_foreign),
        cmocka_unit_test(test_foreign),        cmocka_unit_test(test_bad_directives),
        cmocka_unit_test(test_long_line),      cmocka_unit_test(test_wrap),
        cmocka_unit_test(test_find),
    };

    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests(tests, NULL, NULL);
}

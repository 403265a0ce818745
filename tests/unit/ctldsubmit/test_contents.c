/* test_contents.c - names of scripts and environments: equal bytes alone have equal names */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <string.h>

#include "base/cleanup.h"
#include "ctld/core/contents.h"
#include "model/tx.h"

static const char outer[] = "A=1\0SLURM_ARRAY_TASK_ID=9\0B=2\0";
static char script[] = "#!/bin/sh\n";

static Pst__SubmitRequest request_of(bool array)
{
    Pst__SubmitRequest req = PST__SUBMIT_REQUEST__INIT;

    req.has_script = req.has_environment = true;
    req.script = (ProtobufCBinaryData){ sizeof(script) - 1, (uint8_t *)script };
    req.environment = (ProtobufCBinaryData){ sizeof(outer) - 1, (uint8_t *)(uintptr_t)outer };
    req.array = array ? (char *)(uintptr_t) "0-3" : NULL;
    return req;
}

static void assert_env(const struct contents *c, const char *bytes, size_t len)
{
    struct digest d;

    assert_int_equal(c->env.len, len);
    assert_memory_equal(c->env.buf, bytes, len);
    assert_int_equal(digest_of(bytes, len, &d), 0);
    assert_true(digest_equal(&d, &c->env_name));
}

static void test_one_job(void **state)
{
    Pst__SubmitRequest req = request_of(false);
    struct contents c;
    struct digest d;

    (void)state;
    assert_int_equal(contents_make(&c, &req, NULL), 0);
    assert_true(c.has_script);
    assert_int_equal(digest_of(script, sizeof(script) - 1, &d), 0);
    assert_true(digest_equal(&d, &c.script));
    assert_env(&c, outer, sizeof(outer) - 1);
    contents_done(&c);
    req.script.len = 0; /* an empty script is none */
    assert_int_equal(contents_make(&c, &req, NULL), 0);
    assert_false(c.has_script);
    contents_done(&c);
}

/* Limits come first; a job without any adds nothing. */
static void test_limits(void **state)
{
    static const char with[] = "SLURM_RLIMIT_CORE=7\0A=1\0SLURM_ARRAY_TASK_ID=9\0B=2\0";
    Pst__SubmitRequest req = request_of(false);
    Pst__JobRecord job = PST__JOB_RECORD__INIT;
    Pst__Rlimit core = PST__RLIMIT__INIT, *limits[] = { &core };
    struct contents c;

    (void)state;
    assert_int_equal(contents_make(&c, &req, &job), 0);
    assert_env(&c, outer, sizeof(outer) - 1);
    contents_done(&c);
    core.name = (char *)(uintptr_t) "CORE";
    SET(&core, soft, 7);
    job.rlimits = limits;
    job.n_rlimits = 1;
    assert_int_equal(contents_make(&c, &req, &job), 0);
    assert_env(&c, with, sizeof(with) - 1);
    contents_done(&c);
}

/* The figures of the array take the place of those of a job around the submission. */
static void test_array(void **state)
{
    static const char with[] = "A=1\0B=2\0SLURM_ARRAY_TASK_COUNT=4\0SLURM_ARRAY_TASK_MAX=7\0"
                               "SLURM_ARRAY_TASK_MIN=1\0SLURM_ARRAY_TASK_STEP=2\0";
    Pst__SubmitRequest req = request_of(true);
    struct contents c;

    (void)state;
    assert_int_equal(contents_make(&c, &req, NULL), 0);
    assert_int_equal(contents_array(&c, "1-7:2", 4), 0);
    assert_env(&c, with, sizeof(with) - 1);
    contents_done(&c);
    assert_int_equal(contents_make(&c, &req, NULL), 0);
    contents_done(&c); /* without its end: refused meanwhile */
    assert_null(c.run);
}

static struct contents *contents_of(Pst__CrontabSetRequest *req, size_t wanted)
{
    struct contents *list = NULL;
    size_t n = 0;

    assert_int_equal(contents_of_request(&req->base, &list, &n), 0);
    assert_int_equal(n, wanted);
    return list;
}

/* An entry of a crontab is the same wherever it stands in the text, and another at other times. */
static void test_crontab(void **state)
{
    Pst__SubmitRequest submit = request_of(false);
    Pst__CrontabJob jobs[4] = { PST__CRONTAB_JOB__INIT, PST__CRONTAB_JOB__INIT,
                                PST__CRONTAB_JOB__INIT, PST__CRONTAB_JOB__INIT };
    Pst__CrontabJob *list[] = { &jobs[0], &jobs[1], &jobs[2], &jobs[3] };
    Pst__CrontabSetRequest req = PST__CRONTAB_SET_REQUEST__INIT;
    struct contents *c;

    (void)state;
    for (uint32_t i = 0; i < 3; i++) {
        jobs[i].submit = &submit;
        jobs[i].spec = (char *)(uintptr_t)(i == 2 ? "1 * * * *" : "0 * * * *");
        SET(&jobs[i], first_line, 1 + i);
        SET(&jobs[i], last_line, 1 + i);
    }
    req.jobs = list;
    req.n_jobs = ARRAY_SIZE(list);
    c = contents_of(&req, 4); /* the last one has nothing: refused later, and no crash */
    assert_true(digest_equal(&c[0].entry, &c[1].entry));
    assert_false(digest_equal(&c[0].entry, &c[2].entry));
    assert_true(digest_equal(&c[0].script, &c[2].script));
    assert_false(c[3].has_script);
    contents_free(c, 4);
    req.n_jobs = 0;
    assert_null(contents_of(&req, 0));
}

/* A key without a digest of what it stands for gets that of the bytes that came. */
static void test_key(void **state)
{
    static const uint8_t bytes[] = { 1, 2, 3 };
    Pst__SubmitRequest req = request_of(false);
    Pst__PingRequest other = PST__PING_REQUEST__INIT;
    struct digest d;

    (void)state;
    assert_int_equal(contents_digest(&req.base, bytes, sizeof(bytes)), 0);
    assert_false(req.has_content_digest); /* no key */
    req.idempotency_key = (char *)(uintptr_t) "k";
    assert_int_equal(contents_digest(&req.base, bytes, sizeof(bytes)), 0);
    assert_int_equal(digest_of(bytes, sizeof(bytes), &d), 0);
    assert_int_equal(req.content_digest.len, DIGEST_SIZE);
    assert_memory_equal(req.content_digest.data, d.bytes, DIGEST_SIZE);
    assert_int_equal(contents_digest(&req.base, bytes, 1), 0); /* it has one: that one stays */
    assert_memory_equal(req.content_digest.data, d.bytes, DIGEST_SIZE);
    free(req.content_digest.data);
    assert_int_equal(contents_digest(&other.base, bytes, 1), 0);
    assert_int_equal(contents_digest(NULL, bytes, 1), 0);
}

static void test_requests(void **state)
{
    Pst__SubmitRequest submit = request_of(false);
    Pst__FedCopyRequest copy = PST__FED_COPY_REQUEST__INIT;
    Pst__PingRequest other = PST__PING_REQUEST__INIT;
    struct contents *list = NULL;
    size_t n = 7;

    (void)state;
    assert_int_equal(contents_of_request(&other.base, &list, &n), 0);
    assert_int_equal(n, 0);
    assert_null(list);
    assert_int_equal(contents_of_request(&submit.base, &list, &n), 0);
    assert_int_equal(n, 1);
    assert_true(list[0].has_script);
    contents_free(list, n);
    assert_int_equal(contents_of_request(&copy.base, &list, &n), 0);
    assert_int_equal(n, 0); /* it brings no job */
    copy.submit = &submit;
    assert_int_equal(contents_of_request(&copy.base, &list, &n), 0);
    assert_int_equal(n, 1);
    assert_env(&list[0], outer, sizeof(outer) - 1);
    contents_free(list, n);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_one_job), cmocka_unit_test(test_limits),
        cmocka_unit_test(test_array),   cmocka_unit_test(test_crontab),
        cmocka_unit_test(test_key),     cmocka_unit_test(test_requests),
    };

    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests(tests, NULL, NULL);
}

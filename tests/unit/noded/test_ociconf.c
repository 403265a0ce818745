/* test_ociconf.c - whether the tasks of a step run in a container, and with what */
#include "conf_util.h"

#include "noded/plan/ociconf.h"
#include "stepd/shared/spool.h"

struct sample {
    struct noded d;
    Pst__JobRecord record;
    Pst__JobOnNode job;
    Pst__LaunchStep launch;
    Pst__StepFile sf;
};

static void make_sample(struct sample *s, const char *oci)
{
    *s = (struct sample){ 0 };
    s->d.conf = oci ? conf_of_two("", "oci.conf", oci, "") : conf_with_lines("");
    assert_non_null(s->d.conf);
    pst__job_record__init(&s->record);
    pst__job_on_node__init(&s->job);
    pst__launch_step__init(&s->launch);
    pst__step_file__init(&s->sf);
    s->job.job = &s->record;
    s->sf.job = &s->job;
}

static void free_sample(struct sample *s)
{
    if (s->sf.oci)
        pst__oci_plan__free_unpacked(s->sf.oci, NULL);
    conf_free(s->d.conf);
}

#define OCI                                                                                        \
    "RunTimeRun=\"rt run %n %b\"\nRunTimeKill=\"rt kill %n\"\nContainerPath=/run/oci/%j\n"         \
    "CreateEnvFile=null\nDisableCleanup=true\nDisableHooks=prestart\nEnvExclude=\"^S_\"\n"

static void test_plan(void **state)
{
    struct sample s;

    (void)state;
    make_sample(&s, OCI);
    s.sf.step_id = STEP_ID_BATCH;
    s.record.container = (char *)"/images/a";
    s.record.container_id = (char *)"c7";
    assert_int_equal(oci_plan(&s.d, &s.sf), 0);
    assert_non_null(s.sf.oci);
    assert_string_equal(s.sf.oci->bundle, "/images/a");
    assert_string_equal(s.sf.oci->container_id, "c7");
    assert_string_equal(s.sf.oci->run, "rt run %n %b");
    assert_string_equal(s.sf.oci->kill, "rt kill %n");
    assert_null(s.sf.oci->create);
    assert_string_equal(s.sf.oci->container_path, "/run/oci/%j");
    assert_string_equal(s.sf.oci->disable_hooks, "prestart");
    assert_string_equal(s.sf.oci->env_exclude, "^S_");
    assert_null(s.sf.oci->runtime_env_exclude);
    assert_true(s.sf.oci->has_env_file && s.sf.oci->env_file == '0');
    assert_true(s.sf.oci->disable_cleanup);
    assert_false(s.sf.oci->ignore_config_json);
    free_sample(&s);
}

/* A step of srun has a container of its own, whatever its job's is. */
static void test_whose(void **state)
{
    struct sample s;

    (void)state;
    make_sample(&s, OCI);
    s.record.container = (char *)"/images/job";
    s.sf.launch = &s.launch;
    assert_int_equal(oci_plan(&s.d, &s.sf), 0);
    assert_null(s.sf.oci);
    s.launch.container = (char *)"/images/step";
    s.launch.container_id = (char *)"c9";
    assert_int_equal(oci_plan(&s.d, &s.sf), 0);
    assert_string_equal(s.sf.oci->bundle, "/images/step");
    assert_string_equal(s.sf.oci->container_id, "c9");
    pst__oci_plan__free_unpacked(s.sf.oci, NULL);
    s.sf.oci = NULL;
    s.sf.step_id = STEP_ID_INTERACTIVE; /* the job's, as the batch step */
    assert_int_equal(oci_plan(&s.d, &s.sf), 0);
    assert_string_equal(s.sf.oci->bundle, "/images/job");
    free_sample(&s);
}

static void expect_none(struct sample *s)
{
    assert_int_equal(oci_plan(&s->d, &s->sf), 0);
    assert_null(s->sf.oci);
    free_sample(s);
}

static void test_none(void **state)
{
    struct sample s;

    (void)state;
    make_sample(&s, OCI); /* no container */
    s.sf.step_id = STEP_ID_BATCH;
    expect_none(&s);
    make_sample(&s, OCI);
    s.sf.step_id = STEP_ID_BATCH;
    s.record.container = (char *)"";
    expect_none(&s);
    make_sample(&s, NULL); /* no oci.conf */
    s.sf.step_id = STEP_ID_BATCH;
    s.record.container = (char *)"/images/a";
    expect_none(&s);
    make_sample(&s, OCI); /* the extern step is none of the user's */
    s.sf.step_id = STEP_ID_EXTERN;
    s.record.container = (char *)"/images/a";
    expect_none(&s);
    make_sample(&s, OCI); /* --runtime=none */
    s.sf.step_id = STEP_ID_BATCH;
    s.record.container = (char *)"/images/a";
    s.record.runtime = (char *)"NONE";
    expect_none(&s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_plan),
        cmocka_unit_test(test_whose),
        cmocka_unit_test(test_none),
    };

    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests_name("ociconf", tests, NULL, NULL);
}

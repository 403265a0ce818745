/* test_secrets.c - model/secrets.h: what of records nobody is told; base/groups.h beside it */
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <errno.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/people/groups.h"
#include "job.pb-c.h"
#include "model/secrets.h"
#include "node.pb-c.h"
#include "wire/watchfields.h"

static bool shows(const ProtobufCMessageDescriptor *desc, const char *field)
{
    const ProtobufCFieldDescriptor *f =
        protobuf_c_message_descriptor_get_field_by_name(desc, field);
    struct pb_fieldset shown;

    assert_non_null(f);
    secrets_all_others(desc, &shown);
    return pb_fieldset_has(&shown, f->id);
}

static void test_table(void **state)
{
    static const char *const job[] = { "script_hash", "env_hash", "export_env", "spank_job_env" };
    static const char *const step[] = { "async_launch", "async_spec" };

    for (size_t i = 0; i < ARRAY_SIZE(job); i++)
        assert_false(shows(&pst__job_record__descriptor, job[i]));
    for (size_t i = 0; i < ARRAY_SIZE(step); i++)
        assert_false(shows(&pst__step_record__descriptor, step[i]));
    assert_true(shows(&pst__job_record__descriptor, "submit_line"));
    assert_true(shows(&pst__job_record__descriptor, "system_comment"));
    assert_true(shows(&pst__step_record__descriptor, "resv_ports"));
    assert_false(shows(&pst__node_record__descriptor, "cert_token"));
    assert_true(shows(&pst__node_record__descriptor, "node_key"));
    assert_true(shows(&pst__partition_record__descriptor, "name"));
}

/* Secret fields stand behind the others, and none is lost. */
static void test_secrets_last(void **state)
{
    Pst__JobRecord job = PST__JOB_RECORD__INIT;
    _cleanup_(pb_codec_free) struct pb_codec *codec = NULL;
    uint8_t packed[512];
    const uint8_t *out;
    size_t len, shown;
    Pst__JobRecord *got;

    job.name = (char *)"train";
    job.has_script_hash = job.has_job_id = true;
    job.script_hash = 77;
    job.job_id = 5;
    job.submit_line = (char *)"sbatch x";
    assert_int_equal(secrets_codec(&codec), 0);
    out = pb_codec_pack(codec, &job.base, &len, &shown);
    assert_non_null(out);
    assert_true(shown > 0 && shown < len);
    got = pst__job_record__unpack(NULL, shown, out);
    assert_non_null(got);
    assert_string_equal(got->submit_line, "sbatch x");
    assert_false(got->has_script_hash);
    pst__job_record__free_unpacked(got, NULL);
    got = pst__job_record__unpack(NULL, len, out);
    assert_non_null(got);
    assert_true(pb_equal(&got->base, &job.base));
    pst__job_record__free_unpacked(got, NULL);

    job.has_script_hash = false;
    out = pb_codec_pack(codec, &job.base, &len, &shown);
    assert_non_null(out);
    assert_int_equal(len, pst__job_record__pack(&job, packed));
    assert_int_equal(shown, len);
    assert_memory_equal(packed, out, len);
}

/* A message field of bytes in a record that queries tell is somebody's whole message: it belongs
 * into the table. */
static void test_no_other_messages(void **state)
{
    static const ProtobufCMessageDescriptor *const records[] = {
        &pst__job_record__descriptor, &pst__step_record__descriptor, &pst__node_record__descriptor,
        &pst__partition_record__descriptor
    };

    for (size_t i = 0; i < ARRAY_SIZE(records); i++)
        for (unsigned k = 0; k < records[i]->n_fields; k++)
            if (records[i]->fields[k].type == PROTOBUF_C_TYPE_BYTES)
                assert_false(shows(records[i], records[i]->fields[k].name));
}

/* Watchers are told fields of a list of their own. */
static void test_watchers(void **state)
{
    for (unsigned e = 1; watch_fields(e); e++) {
        const struct watch_fields *w = watch_fields(e);
        struct pb_fieldset shown;

        secrets_all_others(w->desc, &shown);
        for (size_t i = 0; i < w->nfields; i++)
            assert_true(pb_fieldset_has(&shown, w->fields[i]));
        for (size_t i = 0; i < w->nidentity; i++)
            assert_true(pb_fieldset_has(&shown, w->identity[i]));
    }
    assert_non_null(watch_fields(1));
}

static void test_groups(void **state)
{
    struct err err = { .text = "" };
    gid_t *gids = NULL;
    char *name = NULL;
    size_t n = 0;

    assert_int_equal(groups_of("nobody-of-that-name", 4711, &gids, &n, &err), 0);
    assert_int_equal(n, 1);
    assert_int_equal(gids[0], 4711);
    free(gids);
    assert_int_equal(groups_name(0, &name), 0);
    assert_string_equal(name, "root");
    free(name);
    assert_int_equal(groups_name(4294967000u, &name), -ENOENT);
}

int main(void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(test_table),
                                        cmocka_unit_test(test_secrets_last),
                                        cmocka_unit_test(test_no_other_messages),
                                        cmocka_unit_test(test_watchers),
                                        cmocka_unit_test(test_groups) };

    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests(tests, NULL, NULL);
}

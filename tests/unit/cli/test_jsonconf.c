/* Types of the configuration's keys, and cores of an allocation, as JSON. */
#include "conf/json/json_conf.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

#include "cli/format/json_alloc.h"

static Pst__KeyValue entry_of(const char *key, const char *value)
{
    Pst__KeyValue e = PST__KEY_VALUE__INIT;

    e.key = (char *)(uintptr_t)key; /* only read */
    e.value = (char *)(uintptr_t)value;
    return e;
}

static void test_types(void **state)
{
    static const char *const wanted[] = {
        "\"BatchStartTimeout\":10",
        "\"AuthAltTypes\":[\"auth\\/jwt\",\"auth\\/x\"]",
        "\"PrivateData\":[\"jobs\"]",
        "\"DefMemPerCPU\":{\"set\":true,\"infinite\":false,\"number\":100}",
        "\"MaxMemPerCPU\":{\"set\":false,\"infinite\":true,\"number\":0}",
        ("\"controllers\":[{\"address\":\"10.0.0.1\",\"machine\":\"a\"},"
         "{\"address\":\"b\",\"machine\":\"b\"}]"),
        "\"JobDefaults\":[{\"type\":[\"DefCpuPerGPU\"],\"value\":2}]",
        "\"SrunPortRange\":{\"minimum\":100,\"maximum\":200,\"set\":true}",
        "\"slurm_conf_meta\":{",
    };
    Pst__KeyValue e[] = {
        entry_of("BatchStartTimeout", "10 sec"), entry_of("AuthAltTypes", "auth/jwt,auth/x"),
        entry_of("PrivateData", "jobs"),         entry_of("DefMemPerCPU", "100"),
        entry_of("MaxMemPerCPU", "UNLIMITED"),   entry_of("SlurmctldHost[0]", "a(10.0.0.1)"),
        entry_of("SlurmctldHost[1]", "b"),       entry_of("JobDefaults", "DefCpuPerGPU=2,bad"),
        entry_of("SrunPortRange", "100-200"),
    };
    Pst__KeyValue *list[sizeof(e) / sizeof(e[0])];
    Pst__ConfigReply reply = PST__CONFIG_REPLY__INIT;
    struct strbuf sb = STRBUF_INIT;
    struct json js;

    (void)state;
    for (size_t i = 0; i < sizeof(e) / sizeof(e[0]); i++)
        list[i] = &e[i];
    reply.entries = list;
    reply.n_entries = sizeof(e) / sizeof(e[0]);
    json_begin(&js, &sb, JSON_DENSE);
    json_conf(&js, &reply);
    json_end(&js);
    for (size_t i = 0; i < sizeof(wanted) / sizeof(wanted[0]); i++)
        if (!strstr(strbuf_str(&sb), wanted[i]))
            fail_msg("%s is not in %s", wanted[i], strbuf_str(&sb));
    strbuf_done(&sb);
}

/* A text that names CPUs beyond the node's holds none; a record without a shape has no sockets. */
static void test_cores(void **state)
{
    static const struct {
        const char *cpu_ids;
        unsigned cores;
        const char *wanted;
    } rows[] = {
        { "0-1", 1,
          "\"sockets\":[{\"index\":0,\"cores\":[{\"index\":0,\"status\":[\"ALLOCATED\"]}]},"
          "{\"index\":1,\"cores\":[{\"index\":0,\"status\":[\"UNALLOCATED\"]}]}]" },
        { "0-99", 1,
          "\"sockets\":[{\"index\":0,\"cores\":[{\"index\":0,\"status\":[\"UNALLOCATED\"]}]}," },
        { "0-1", 0, "\"sockets\":[]" },
    };

    (void)state;
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        Pst__AllocGroup group = PST__ALLOC_GROUP__INIT, *groups[] = { &group };
        Pst__Alloc alloc = PST__ALLOC__INIT;
        Pst__JobRecord job = PST__JOB_RECORD__INIT;
        struct strbuf sb = STRBUF_INIT;
        struct json js;

        group.nodes = 1;
        group.cpu_ids = (char *)(uintptr_t)rows[i].cpu_ids; /* only read */
        group.has_sockets = group.has_threads_per_core = true;
        group.sockets = group.threads_per_core = 2;
        group.cores_per_socket = rows[i].cores;
        alloc.nodes = (char *)(uintptr_t) "n1";
        alloc.groups = groups;
        alloc.n_groups = 1;
        job.alloc = &alloc;
        json_begin(&js, &sb, JSON_DENSE);
        json_list(&js, "allocation");
        json_alloc(&js, &job, NULL);
        json_list_end(&js);
        json_end(&js);
        if (!strstr(strbuf_str(&sb), rows[i].wanted))
            fail_msg("%s is not in %s", rows[i].wanted, strbuf_str(&sb));
        strbuf_done(&sb);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_types),
        cmocka_unit_test(test_cores),
    };

    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests(tests, NULL, NULL);
}

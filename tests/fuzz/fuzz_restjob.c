/* fuzz_restjob.c - bodies that submit jobs: JSON of a stranger becomes a submission or an error */
#include <assert.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "conf/conf.h"
#include "rest/rest_impl.h"
#include "rest/restbody.h"
#include "rest/slurm/restjobbody.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static struct conf *load_conf(void)
{
    static const char text[] = "ClusterName=test\nSlurmctldHost=localhost\nGresTypes=gpu\n"
                               "NodeName=n1\nPartitionName=p Nodes=n1\n";
    const struct conf_text file = { "slurm.conf", text, strlen(text) };
    struct conf *conf = NULL;
    int r = conf_load_text(&file, 1, CONF_CLIENT, &conf, NULL, NULL);

    assert(r == 0);
    return conf;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static struct rest rest;
    static struct rest_notes notes;
    static const struct rest_row row = { "POST", REST_SLURM, "job/submit", 0, NULL, false };
    struct rest_call call = { .rest = &rest, .row = &row, .version = 45, .notes = &notes };
    struct restjob job;
    struct err err = { .text = "" };

    if (size > 65536)
        return 0;
    if (!rest.config.conf)
        rest.config.conf = load_conf(); /* for all inputs */
    if (restbody_parse_json((const char *)data, size, RESTBODY_WEIGHT_MAX, &call.body, &err) < 0)
        return 0;
    restjob_init(&job);
    if (restjob_read(&call, call.body, "#/job", &job))
        assert(!notes.n_errors && job.environment && job.job.work_dir);
    else
        assert(notes.n_errors);
    restjob_done(&job);
    call.notes = calloc(1, sizeof(notes)); /* those of this input are freed with it */
    assert(call.notes);
    *call.notes = notes;
    memset(&notes, 0, sizeof(notes));
    restreply_done(&call);
    return 0;
}

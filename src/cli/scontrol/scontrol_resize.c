/* scontrol_resize.c - after a job has changed its size: files that set the variables of its shell
 * anew
 *
 * Written only inside the job (SLURM_JOB_ID names it): elsewhere there is nothing to set. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/strbuf.h"
#include "base/timefmt.h"
#include "cli/base/ownfile.h"
#include "cli/query/out_query.h"
#include "cli/scontrol/scontrol.h"
#include "wire/ops.h"

static int on_job(void *ctx, const ProtobufCMessage *record, const struct query_info *info)
{
    const Pst__JobRecord *j = (const Pst__JobRecord *)record;
    struct strbuf *texts = ctx; /* nodes, CPUs, count */

    (void)info;
    if (!j->alloc)
        return 0;
    strbuf_add(&texts[0], j->alloc->nodes ? j->alloc->nodes : "");
    strbuf_addf(&texts[2], "%zu", j->alloc->n_node_ids);
    for (size_t g = 0; g < j->alloc->n_groups; g++) {
        const Pst__AllocGroup *group = j->alloc->groups[g];

        strbuf_addf(&texts[1], "%s%u", g ? "," : "", group->cpus);
        if (group->nodes > 1)
            strbuf_addf(&texts[1], "(x%u)", group->nodes);
    }
    return 0;
}

static bool write_one(struct scontrol *s, const char *path, const struct strbuf *texts, bool csh)
{
    static const struct {
        const char *name;
        int which; /* of texts, -1 = goes */
    } names[] = {
        { "SLURM_NODELIST", 0 },      { "SLURM_JOB_NODELIST", 0 },      { "SLURM_NNODES", 2 },
        { "SLURM_JOB_NUM_NODES", 2 }, { "SLURM_JOB_CPUS_PER_NODE", 1 }, { "SLURM_NPROCS", -1 },
        { "SLURM_NTASKS", -1 },       { "SLURM_TASKS_PER_NODE", -1 },
    };
    int fd = ownfile_create(path, 0666);
    FILE *f = fd < 0 ? NULL : fdopen(fd, "w");
    bool bad = !f;

    for (size_t i = 0; f && i < ARRAY_SIZE(names); i++) {
        if (names[i].which < 0)
            (void)fprintf(f, "%s %s\n", csh ? "unsetenv" : "unset", names[i].name);
        else
            (void)fprintf(f, csh ? "setenv %s \"%s\"\n" : "export %s=\"%s\"\n", names[i].name,
                          strbuf_str(&texts[names[i].which]));
    }
    bad = (f && fclose(f) != 0) || bad;
    if (bad)
        scontrol_fail(s, "scontrol: error: %s cannot be written: %s", path,
                      strerror(fd < 0 ? -fd : errno));
    return !bad;
}

void scontrol_write_resized(struct scontrol *s, uint32_t job_id)
{
    struct strbuf texts[3] = { STRBUF_INIT, STRBUF_INIT, STRBUF_INIT };
    const char *inside = getenv("SLURM_JOB_ID");
    _cleanup_free_ char *sh = xasprintf_or_die("slurm_job_%u_resize.sh", job_id);
    _cleanup_free_ char *csh = xasprintf_or_die("slurm_job_%u_resize.csh", job_id);
    uint64_t id;

    if (!inside || parse_u64(inside, 1, UINT32_MAX, &id) < 0 || id != job_id)
        return;
    if (query_job(scontrol_client(s, "slurm_load_jobs"), job_id, NULL, on_job, texts) < 0)
        scontrol_fail(s, "slurm_load_jobs error: the new size of job %u is not known", job_id);
    else if (write_one(s, sh, texts, false) && write_one(s, csh, texts, true) && !s->quiet)
        (void)printf("To use the new size in this shell:\n"
                     "  bash or sh:   . ./%s\n"
                     "  csh or tcsh:  source ./%s\n",
                     sh, csh);
    for (size_t i = 0; i < ARRAY_SIZE(texts); i++)
        strbuf_done(&texts[i]);
}

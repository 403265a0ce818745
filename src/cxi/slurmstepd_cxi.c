/* slurmstepd_cxi.c - slurmstepd-cxi: services of Slingshot's NICs for one step; see README.md
 *
 * Started by the step daemon as root: before the tasks, to make the services, and after them, to
 * take these away.  Descriptor 0 is a connection to it, for the one answer; 3 is a file with the
 * plan. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/process/inherit.h"
#include "base/strbuf.h"
#include "cxi/cxiservice.h"
#include "version.h"

enum { FD_LINK = 0, FD_PLAN = 3, FD_END = 4 };
#define PLAN_MAX (1u << 16)

static Pst__CxiPlan *read_plan(void)
{
    Pst__CxiPlan *plan;
    struct stat st;
    void *data;

    if (fstat(FD_PLAN, &st) < 0 || !S_ISREG(st.st_mode) || st.st_size <= 0 || st.st_size > PLAN_MAX)
        return NULL;
    data = mmap(NULL, (size_t)st.st_size, PROT_READ, MAP_PRIVATE, FD_PLAN, 0);
    if (data == MAP_FAILED)
        return NULL;
    plan = pst__cxi_plan__unpack(NULL, (size_t)st.st_size, data);
    (void)munmap(data, (size_t)st.st_size);
    (void)close(FD_PLAN);
    return plan;
}

static int list_services(const struct cxi *c, char **ret_devices, char **ret_ids)
{
    _cleanup_val_(strbuf_done) struct strbuf devices = STRBUF_INIT, ids = STRBUF_INIT;
    int r;

    for (unsigned i = 0; i < c->n; i++) {
        strbuf_addf(&devices, "%scxi%u", i ? "," : "", c->ids[i]);
        strbuf_addf(&ids, "%s%u", i ? "," : "", c->svc_ids[i]);
    }
    r = strbuf_detach(&devices, ret_devices);
    return r < 0 ? r : strbuf_detach(&ids, ret_ids);
}

static int answer_with(const Pst__CxiServices *a)
{
    size_t len = pst__cxi_services__get_packed_size(a);
    uint8_t *data = malloc(len);
    ssize_t n = -1;

    if (data) {
        (void)pst__cxi_services__pack(a, data);
        n = write(FD_LINK, data, len); /* a packet socket: whole or not at all */
    }
    free(data);
    return n == (ssize_t)len ? 0 : -EPIPE;
}

/* A NIC lets a service go when the last process that used it is gone, which the kernel may still be
 * at. */
static void drop_services(const struct cxi *c, const Pst__CxiPlan *plan)
{
    const struct timespec second = { .tv_sec = 1 };

    for (uint32_t i = 0; !cxi_drop(c, plan->vnis[0]) && i < plan->retries; i++)
        (void)nanosleep(&second, NULL);
}

static int make_services(struct cxi *c, const Pst__CxiPlan *plan, Pst__CxiServices *a,
                         struct err *err)
{
    int r = cxi_make(c, plan, err);

    return r < 0 ? r : list_services(c, &a->devices, &a->svc_ids);
}

static int serve_step(const Pst__CxiPlan *plan)
{
    Pst__CxiServices a = PST__CXI_SERVICES__INIT;
    struct cxi c = { .n = 0 };
    struct err err = { .text = "" };
    int r = cxi_open(plan->root ? plan->root : "", &c, &err);

    if (r == 0 && plan->drop)
        drop_services(&c, plan);
    else if (r == 0)
        r = make_services(&c, plan, &a, &err);
    if (r < 0)
        a.error = (char *)err_or_nomem(&err);
    if (!plan->drop && answer_with(&a) < 0 && r == 0)
        drop_services(&c, plan); /* the step daemon is gone */
    cxi_close(&c);
    free(a.devices);
    free(a.svc_ids);
    return r < 0;
}

int main(int argc, char **argv)
{
    Pst__CxiPlan *plan;
    int status;

    inherit_begin(FD_END);
    if (argc == 2 && (strcmp(argv[1], "-V") == 0 || strcmp(argv[1], "--version") == 0)) {
        (void)printf("slurm %s\n", SLURM_RELEASE);
        return 0;
    }
    plan = argc == 1 ? read_plan() : NULL;
    if (!plan || !plan->n_vnis) {
        (void)fprintf(stderr,
                      "slurmstepd-cxi: error: this program is started by slurmstepd only\n");
        return 1;
    }
    status = serve_step(plan);
    pst__cxi_plan__free_unpacked(plan, NULL);
    return status;
}

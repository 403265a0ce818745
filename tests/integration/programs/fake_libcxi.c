/* fake_libcxi.c - a libcxi.so.1 whose services are files STATE/cxiD.ID: one line of numbers each
 *
 * STATE/busy holds how many times a service is still in use when it is to go; with STATE/full there
 * is no service to be had.  -DOLD: a library without cxil_set_svc_lpr(). */
#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cxi/cxil.h"

#define NIC_PTES 400
#define SVCS 32

static FILE *state(const char *mode, const char *fmt, unsigned a, unsigned b)
{
    char name[64], path[4096];

    snprintf(name, sizeof(name), fmt, a, b);
    snprintf(path, sizeof(path), "%s/%s", STATE, name);
    return fopen(path, mode);
}

int cxil_open_device(uint32_t id, struct cxil_dev **ret)
{
    struct cxil_dev *d = calloc(1, sizeof(*d));

    if (!d)
        return -ENOMEM;
    d->dev_id = id;
    d->num_ptes = NIC_PTES;
    d->num_txqs = d->num_tgqs = d->num_eqs = d->num_cts = d->num_acs = d->num_tles = 1000;
    d->num_les = 16384;
    *ret = d;
    return 0;
}

void cxil_close_device(struct cxil_dev *d)
{
    free(d);
}

static void put(const struct cxil_dev *d, const struct cxil_svc *s, unsigned share)
{
    FILE *f = state("w", "cxi%u.%u", d->dev_id, s->svc_id);

    if (!f)
        return;
    fprintf(f, "enable %u system %u uid %u share %u vnis", s->enable, s->is_system_svc,
            s->members[0].member.uid, share);
    for (unsigned i = 0; i < s->num_vld_vnis; i++)
        fprintf(f, " %u", s->vnis[i]);
    fprintf(f, " tcs %d%d%d%d%d res", s->tcs[0], s->tcs[1], s->tcs[2], s->tcs[3], s->tcs[4]);
    for (unsigned i = 0; i < CXIL_RESOURCES; i++)
        fprintf(f, " %u/%u", s->limits[i].res, s->limits[i].max);
    fprintf(f, "\n");
    fclose(f);
}

int cxil_alloc_svc(struct cxil_dev *d, const struct cxil_svc *desc, struct cxil_failure *fail)
{
    struct cxil_svc s = *desc;
    FILE *f = state("r", "full", 0, 0);

    (void)fail;
    if (f) {
        fclose(f);
        return -ENOSPC;
    }
    for (s.svc_id = 5; s.svc_id < 5 + SVCS; s.svc_id++) {
        f = state("r", "cxi%u.%u", d->dev_id, s.svc_id);
        if (!f) {
            s.enable = 0; /* as new drivers do */
            put(d, &s, 1);
            return (int)s.svc_id;
        }
        fclose(f);
    }
    return -ENOSPC;
}

static unsigned last_share;

int cxil_update_svc(struct cxil_dev *d, const struct cxil_svc *s, struct cxil_failure *fail)
{
    (void)fail;
    last_share = 1;
    put(d, s, last_share);
    return 0;
}

#ifndef OLD
int cxil_set_svc_lpr(struct cxil_dev *d, unsigned svc_id, unsigned n)
{
    FILE *f = state("a", "cxi%u.%u", d->dev_id, svc_id);

    if (!f)
        return -ENOENT;
    fprintf(f, "shared by %u\n", n);
    fclose(f);
    return 0;
}
#endif

int cxil_destroy_svc(struct cxil_dev *d, unsigned svc_id)
{
    char path[4096];
    int busy = 0;
    FILE *f = state("r", "busy", 0, 0);

    if (f && fscanf(f, "%d", &busy) != 1)
        busy = 0;
    if (f)
        fclose(f);
    if (busy > 0 && (f = state("w", "busy", 0, 0))) {
        fprintf(f, "%d\n", busy - 1);
        fclose(f);
        return -EBUSY;
    }
    snprintf(path, sizeof(path), "%s/cxi%u.%u", STATE, d->dev_id, svc_id);
    return unlink(path) < 0 ? -errno : 0;
}

int cxil_get_svc_list(struct cxil_dev *d, struct cxil_svc_list **ret)
{
    struct cxil_svc_list *l = calloc(1, sizeof(*l) + SVCS * sizeof(l->descs[0]));

    for (unsigned id = 1; l && id < 5 + SVCS && l->count < SVCS; id++) {
        struct cxil_svc *s = &l->descs[l->count];
        unsigned enable, system, uid, share, vni = 0;
        FILE *f = state("r", "cxi%u.%u", d->dev_id, id);

        if (!f)
            continue;
        if (fscanf(f, "enable %u system %u uid %u share %u vnis %u", &enable, &system, &uid, &share,
                   &vni) >= 4) {
            s->svc_id = id;
            s->enable = enable;
            s->is_system_svc = system;
            s->restricted_vnis = 1;
            s->num_vld_vnis = 1;
            s->vnis[0] = (uint16_t)vni;
            s->resource_limits = system;
            s->limits[0].res = 100; /* of the system: portal table entries */
            l->count++;
        }
        fclose(f);
    }
    *ret = l;
    return l ? 0 : -ENOMEM;
}

void cxil_free_svc_list(struct cxil_svc_list *l)
{
    free(l);
}

int cxil_get_svc_rsrc_use(struct cxil_dev *d, unsigned svc_id, struct cxil_use *ret)
{
    (void)d;
    memset(ret, 0, sizeof(*ret));
    ret->svc_id = svc_id;
    ret->in_use[0] = 150;
    return 0;
}

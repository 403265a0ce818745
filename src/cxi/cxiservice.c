/* cxiservice.c - what a service of a step is; see cxiservice.h */
#include "cxi/cxiservice.h"

#include <errno.h>
#include <string.h>

#include "base/cleanup.h"
#include "model/words/slingshot.h"

_Static_assert((int)SLINGSHOT_RESOURCES == CXIL_RESOURCES, "limits are told by their place");

int cxi_open(const char *root, struct cxi *ret, struct err *err)
{
    struct cxi c = { .n = 0 };
    unsigned found = cxilib_devices(root, c.ids);
    int r = found ? cxilib_load(root, &c.lib, err)
                  : err_set(err, -ENODEV, "no NIC of Slingshot is in /sys/class/cxi");

    for (; r == 0 && c.n < found; c.n++) {
        r = c.lib.open(c.ids[c.n], &c.devs[c.n]);
        if (r < 0) {
            (void)err_set(err, r, "cxi%u cannot be opened: %s", c.ids[c.n], strerror(-r));
            break;
        }
    }
    if (r < 0)
        cxi_close(&c);
    else
        *ret = c;
    return r;
}

void cxi_close(struct cxi *c)
{
    for (unsigned i = 0; i < c->n; i++)
        c->lib.close(c->devs[i]);
    c->n = 0;
}

/* ---- what is there --------------------------------------------------------------------------- */

static bool is_left(const struct cxil_svc *svc, uint32_t vni)
{
    return !svc->is_system_svc && svc->svc_id != CXIL_DEFAULT_SVC && svc->restricted_vnis &&
           svc->num_vld_vnis > 0 && svc->vnis[0] == vni;
}

/* What the services of the system hold: the more of what is kept for them and what they use. */
static void add_held(const struct cxi *c, struct cxil_dev *dev, const struct cxil_svc *svc,
                     uint32_t held[CXIL_RESOURCES])
{
    struct cxil_use use = { .svc_id = svc->svc_id };

    if (!svc->is_system_svc)
        return;
    if (c->lib.use(dev, svc->svc_id, &use) < 0)
        memset(&use, 0, sizeof(use)); /* what is kept for it still counts */
    for (unsigned i = 0; i < CXIL_RESOURCES; i++)
        held[i] += MAX(svc->resource_limits ? svc->limits[i].res : 0u, (unsigned)use.in_use[i]);
}

/* Look at the services of a NIC: those of the VNI go, those of the system are summed in held, which
 * may be NULL.  1; 0: one of the VNI is in use. */
static int look_at_services(const struct cxi *c, struct cxil_dev *dev, uint32_t vni, uint32_t *held)
{
    struct cxil_svc_list *list = NULL;
    int r = c->lib.list(dev, &list), free_now = 1;

    if (r < 0)
        return r;
    for (unsigned i = 0; i < list->count; i++) {
        if (is_left(&list->descs[i], vni))
            free_now &= c->lib.destroy(dev, list->descs[i].svc_id) != -EBUSY;
        else if (held)
            add_held(c, dev, &list->descs[i], held);
    }
    c->lib.list_free(list);
    return free_now;
}

/* ---- what is made ---------------------------------------------------------------------------- */

static void nic_totals(const struct cxil_dev *dev, uint32_t total[CXIL_RESOURCES])
{
    total[SLINGSHOT_PTES] = dev->num_ptes;
    total[SLINGSHOT_TXQS] = dev->num_txqs;
    total[SLINGSHOT_TGQS] = dev->num_tgqs;
    total[SLINGSHOT_EQS] = dev->num_eqs;
    total[SLINGSHOT_CTS] = dev->num_cts;
    total[SLINGSHOT_LES] = dev->num_les;
    total[SLINGSHOT_TLES] = dev->num_tles;
    total[SLINGSHOT_ACS] = dev->num_acs;
}

static void fill_limits(const Pst__CxiPlan *plan, const struct cxil_dev *dev,
                        const uint32_t held[CXIL_RESOURCES], struct cxil_svc *svc)
{
    uint32_t total[CXIL_RESOURCES];

    nic_totals(dev, total);
    svc->resource_limits = 1;
    for (unsigned i = 0; i < CXIL_RESOURCES; i++) {
        uint32_t res = i < plan->n_reserved ? plan->reserved[i] : 0;
        uint32_t max = i < plan->n_most ? plan->most[i] : 0;

        if (plan->adjust && total[i])
            res = MIN(res, total[i] > held[i] ? total[i] - held[i] : 0);
        svc->limits[i].res = (uint16_t)MIN(res, (uint32_t)UINT16_MAX);
        svc->limits[i].max = (uint16_t)MIN(MAX(max, res), (uint32_t)UINT16_MAX);
    }
    /* Trigger list entries come from a pool that is as large as what is reserved. */
    svc->limits[SLINGSHOT_TLES].max = svc->limits[SLINGSHOT_TLES].res;
}

static void fill_service(const Pst__CxiPlan *plan, struct cxil_svc *svc)
{
    *svc = (struct cxil_svc){
        .restricted_members = 1, .restricted_vnis = 1, .restricted_tcs = 1, .enable = 1
    };
    svc->members[0].member.uid = plan->uid;
    svc->members[0].type = CXIL_MEMBER_UID;
    svc->num_vld_vnis = (uint8_t)MIN(plan->n_vnis, (size_t)CXIL_VNIS);
    for (unsigned i = 0; i < svc->num_vld_vnis; i++)
        svc->vnis[i] = (uint16_t)plan->vnis[i];
    for (unsigned i = 0; i < 4; i++)
        svc->tcs[i] = plan->tcs >> i & 1;
}

/* More tasks than resource groups share these. */
static int share_groups(const struct cxi *c, unsigned at, const Pst__CxiPlan *plan)
{
    unsigned each = (plan->tasks + CXIL_PROCESSES - 1) / CXIL_PROCESSES;

    return each > 1 ? c->lib.share(c->devs[at], c->svc_ids[at], each) : 0;
}

static int make_on(struct cxi *c, unsigned at, const Pst__CxiPlan *plan)
{
    struct cxil_failure why = { .no_le_pools = false };
    uint32_t held[CXIL_RESOURCES] = { 0 };
    struct cxil_svc svc;
    int r = look_at_services(c, c->devs[at], plan->vnis[0], held);

    if (r < 0)
        return r;
    fill_service(plan, &svc);
    fill_limits(plan, c->devs[at], held, &svc);
    r = c->lib.alloc(c->devs[at], &svc, &why);
    if (r <= 0)
        return r < 0 ? r : -EPROTO;
    svc.svc_id = c->svc_ids[at] = (unsigned)r;
    r = c->lib.update(c->devs[at], &svc, NULL); /* new drivers make it disabled */
    return r < 0 ? r : share_groups(c, at, plan);
}

int cxi_make(struct cxi *c, const Pst__CxiPlan *plan, struct err *err)
{
    int r = 0;

    if (!plan->n_vnis)
        return err_set(err, -EINVAL, "the step has no VNI");
    if (plan->tasks > CXIL_PROCESSES && !c->lib.share)
        return err_set(err, -ENOTSUP,
                       "%u tasks on a node need a newer libcxi (cxil_set_svc_lpr); this one serves "
                       "%u",
                       plan->tasks, CXIL_PROCESSES);
    for (unsigned i = 0; r == 0 && i < c->n; i++) {
        r = make_on(c, i, plan);
        if (r < 0)
            (void)err_set(err, r, "cxi%u: no service for VNI %u: %s", c->ids[i], plan->vnis[0],
                          strerror(-r));
    }
    if (r < 0)
        (void)cxi_drop(c, plan->vnis[0]); /* nobody has used them yet */
    return r;
}

bool cxi_drop(const struct cxi *c, uint32_t vni)
{
    bool all = true;

    for (unsigned i = 0; i < c->n; i++)
        all = look_at_services(c, c->devs[i], vni, NULL) != 0 && all;
    return all;
}

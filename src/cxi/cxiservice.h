/* cxiservice.h - the services of a step: one of each NIC of the node, or none */
#pragma once

#include "base/err.h"
#include "cxi/cxilib.h"
#include "stepfile.pb-c.h"

struct cxi {
    struct cxil lib;
    unsigned n; /* NICs */
    uint32_t ids[CXILIB_DEVICES];
    struct cxil_dev *devs[CXILIB_DEVICES];
    unsigned svc_ids[CXILIB_DEVICES]; /* 0: none */
};

/* Open the NICs below root.  -ENODEV: there are none.  Errors of cxilib_load() and the library. */
int cxi_open(const char *root, struct cxi *ret, struct err *err);
void cxi_close(struct cxi *c);

/* Make a service of each NIC: for the user, his VNIs and traffic classes, with these limits.  What
 * an earlier step with the same first VNI left behind goes first.
 * Errors, with a sentence: those of the library; -ENOTSUP: more tasks than this library can serve.
 * Then there is no service. */
int cxi_make(struct cxi *c, const Pst__CxiPlan *plan, struct err *err);

/* Take the services whose first VNI this is away.  False: a NIC has one in use; try again. */
bool cxi_drop(const struct cxi *c, uint32_t vni);

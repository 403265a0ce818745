/* simchange.h - one change after the other of a copied cluster; internal to penstock sim */
#pragma once

#include "event.pb-c.h"
#include "model/cluster.h"
#include "penstock/simlive.h"

struct changing {
    const struct cluster *c;
    int64_t now_us;
    Pst__Transaction *tx;    /* of the change at hand */
    Pst__Transaction **list; /* those before it */
    size_t n;
    uint32_t added; /* nodes, by changes before */
};

/* simlimits.c: "NAME:KEY=VALUE,...".  Each says what is wrong; gives STATUS_OK or another exit
 * status. */
int simlimits_qos(struct changing *x, const char *text);
int simlimits_account(struct changing *x, const char *text, bool user);
/* simresv.c: "NAME:KEY=VALUE,..." or "NAME:delete". */
int simresv_change(struct changing *x, const char *text);

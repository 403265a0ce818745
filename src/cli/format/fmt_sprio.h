/* fmt_sprio.h - the columns of sprio: factors of pending jobs */
#pragma once

#include "api.pb-c.h"
#include "cli/format/fmt_core.h"

struct prio_row {
    const Pst__PriorityRecord *rec;
    const Pst__PriorityRecord *weights; /* the row of weights itself: rec == weights */
    const char *user, *account, *qos, *sluid, *cluster; /* may be NULL */
    const char *tres_weights; /* of the row of weights: PriorityWeightTRES as it is written */
};

extern const struct fmt_table sprio_fields;

/* The factors worth a column: those that weigh something.  Appends to format, short form. */
void sprio_add_factors(struct strbuf *format, const Pst__PriorityRecord *weights, bool norm);

/* conf_regmem.h - SlurmctldParameters=node_reg_mem_percent: how much of its RealMemory a node must
 * have when it registers */
#pragma once

#include <stdbool.h>

#include "base/err.h"
#include "conf/conf.h"

/* In percent; without the word 100, of a node of State=CLOUD 90. */
double conf_reg_mem_pct(const struct conf *c, bool cloud);
/* -EINVAL: the word has no number from 0 to 100. */
int conf_reg_mem_check(const struct conf *c, struct err *err);

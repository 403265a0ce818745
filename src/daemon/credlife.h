/* credlife.h - for how long after its making a credential for a step is good
 *
 * slurmctld writes the end of that time into the credential, and slurmd remembers a used credential
 * until then.  Pure. */
#pragma once

#include <stdint.h>

#include "conf/conf.h"

/* AuthInfo cred_expire=..., else two minutes. */
int64_t credlife_us(const struct conf *conf);

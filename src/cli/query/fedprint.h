/* fedprint.h - the lines of scontrol show federation */
#pragma once

#include <stdio.h>

#include "api.pb-c.h"

/* The federation, the cluster that was asked, then its siblings; nothing where there is none. */
void federation_print(FILE *f, const Pst__FedInfo *info);

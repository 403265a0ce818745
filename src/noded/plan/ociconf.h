/* ociconf.h - the container of a step */
#pragma once

#include "noded/noded.h"

/* Fill sf->oci when the step asks for a container and the node has an oci.conf.  -ENOMEM. */
int oci_plan(const struct noded *d, Pst__StepFile *sf);

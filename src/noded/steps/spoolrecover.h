/* spoolrecover.h - the spool after a restart */
#pragma once

#include "noded/noded.h"

void recover_spool(struct noded *d);

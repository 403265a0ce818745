/* nodeops.h - requests of the controller */
#pragma once

#include "noded/noded.h"

void ops_request(struct noded *d, struct dialer *dialer, const struct frame *frame);

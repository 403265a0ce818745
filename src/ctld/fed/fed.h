/* fed.h - the federation of this cluster: a service, and nothing that others call */
#pragma once

#include "ctld/ctld.h"

extern const struct ctld_service fed_service;

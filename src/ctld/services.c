/* services.c - the list of the services, from services.def */
#include "ctld/services.h"

#include <stddef.h>

#include "ctld/core/service.h"

#define SERVICE(name) extern const struct ctld_service name##_service;
#include "ctld/services.def"
#undef SERVICE

const struct ctld_service *const ctld_services[] = {
#define SERVICE(name) &name##_service,
#include "ctld/services.def"
#undef SERVICE
    NULL
};

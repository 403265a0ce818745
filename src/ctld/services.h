/* services.h - the list of the services; see services.c and core/service.h */
#pragma once

struct ctld_service;

extern const struct ctld_service *const ctld_services[]; /* ended by NULL */

/* mkmonitor.h - the ServiceMonitor of a Controller: what Prometheus' operator has scraped
 *
 * Pure. */
#pragma once

#include "kube/make/mkbase.h"

/* The label of the Service that is scraped: the internal one has the same labels else. */
#define MKMONITOR_LABEL "operator.penstock/scraped"

bool mkmonitor_is_wanted(const json_t *controller);
/* The paths are those of slurmctld unless spec.metrics.serviceMonitor.endpoints says others. */
json_t *mkmonitor_object(const struct mkbase_facts *f);

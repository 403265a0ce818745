/* opleader.h - which of several slurmctld leads: the one whose /readyz says 204
 *
 * The pods of a Controller with spec.ha are asked every OPLEADER_US, at the addresses that their
 * status tells, since slurmrestd itself may be on its way to the one that leads. */
#pragma once

#include "kube/operator/operator_impl.h"

#define OPLEADER_US (INT64_C(2) * 1000000)
#define OPLEADER_MOST 10u /* controllers of a cluster */

/* The Controller is gone, or has one slurmctld. */
void opleader_forget(struct operator_ *op, const char *uid);
void opleader_stop(struct operator_ *op);
/* Mark the pod that leads, and no other: the Service of slurmctld selects by it.  Without an answer
 * the marks stay; without a mark the first pod has it, so that slurmrestd finds one. */
void opleader_mark(struct opwork *w);
/* Is the text an address, and no more?  buf: as a URL has it. */
bool opleader_is_address(const char *text, char *buf, size_t size);

/* nodereport.h - the controller's connection */
#pragma once

#include "noded/noded.h"

/* For connections to come. */
void report_set_tls(struct noded *d, struct tls_ctx *tls);
/* What the node knows the controllers by now. */
void report_set_controller(struct noded *d);
/* The controllers' hosts as configured now, when the present one is lost. */
void report_set_hosts(struct noded *d);
int report_new(struct noded *d, struct reporter **ret_reporter);
void report_start(struct reporter *r);
void report_close(struct reporter *r);
struct reporter *report_free(struct reporter *r);
void report_launched(struct noded *d, const struct nstep *step);
void report_ended(struct noded *d, const struct nstep *step);
/* Say that a step is over which the controller asked for, and which is not here. */
void report_absent(struct noded *d, uint32_t job_id, uint64_t run_id, uint32_t step_id);
void report_clean(struct noded *d, uint32_t job_id, uint64_t run_id);
void report_prolog_done(struct noded *d, const struct njob *job);
void report_prolog_failed(struct noded *d, const struct njob *job);
/* Report that the job ends and that its batch script has got its signal. */
void report_script_told(struct noded *d, const struct njob *job);
/* Report what memory the job's processes use here. */
void report_memory(struct noded *d, const struct njob *job);
void report_drain(struct noded *d, const char *reason);
/* The node runs with the configuration that the controller sent: say so.  It could not take that:
 * leave the controller. */
void report_conf_taken(struct noded *d);
void report_conf_failed(struct noded *d);
/* The node has other devices, or is described otherwise, than it registered with: it does so
 * again. */
void report_changed(struct noded *d);
void report_energy(struct noded *d); /* the energy was measured */

/* nodens.h - private folders of jobs (job_container.conf) */
#pragma once

#include "noded/noded.h"

int ns_configure(struct noded *d, struct err *err);
/* Must a step of the job wait for its private folders?  They come with the extern step's first
 * news. */
bool ns_pending(const struct noded *d, const struct njob *job);
/* Must a step of the job fail because the private folders are gone? */
bool ns_gone(const struct noded *d, const struct njob *job);
/* Keep the descriptor that came with the extern step's news; fd is taken over. */
void ns_take(struct njob *job, const Pst__StepNews *news, int fd);
/* The extern step has ended: so have namespaces that do not outlive it. */
void ns_lose(struct njob *job);
/* Remove what an extern step that was killed left of the job's folder; for all jobs that are not
 * here. */
void ns_clean_job(struct noded *d, const struct njob *job);
void ns_clean_strays(struct noded *d);

/* restjobbody.h - job_desc_msg: what a body asks of a job, as a submission
 *
 * A table has a row for each field of the published schema: the option of sbatch whose parser reads
 * the value, so that limits and sentences are the same, or what else becomes of it.  A field that
 * has no effect here is told by a warning. */
#pragma once

#include <jansson.h>
#include <stdbool.h>

#include "api.pb-c.h"
#include "rest/restcall.h"

/* A submission that is being made.  Zeroed before; done in every case. */
struct restjob {
    Pst__JobRecord job;
    char *environment; /* NUL-separated */
    size_t environment_len;
    char *array; /* NULL: none */
    bool hold;
    bool immediate; /* only when it starts at once: the caller looks whether it does */
    bool has_uid, has_gid;
    uint32_t uid, gid;
};

void restjob_init(struct restjob *j);
void restjob_done(struct restjob *j);

/* Read a job_desc_msg.  place: its pointer, "#/job".  False: a mistake was noted as an error. */
bool restjob_read(struct rest_call *call, const json_t *desc, const char *place, struct restjob *j);

/* The job, its environment and whose it is, into a request that borrows them; components are the
 * caller's. */
void restjob_fill(struct restjob *j, Pst__SubmitRequest *req);

/* Rows, for tests: the i-th field, NULL past the end. */
const char *restjob_field(size_t i);

/* jobmake.h - a gang of pods as a job of slurmrestd, and back
 *
 * Pure. */
#pragma once

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"

struct jobmake {
    const char *bridge;    /* the name of the bridge; "" or NULL: none */
    const char *gang;      /* the key of podread_gang() */
    const json_t *pods;    /* array of pods, in their order */
    const json_t *root;    /* whose annotations are the job's options */
    const char *name;      /* of the job, unless an annotation says otherwise */
    const json_t *asks;    /* uid of a pod -> what it asks for, if that is more than itself says */
    const char *partition; /* unless an annotation says otherwise; NULL: the default one */
    const char *mcs;       /* NULL: none */
    const char *excluded;  /* a list of nodes; "" or NULL: none */
    int64_t attempt;
    int64_t deadline_s;    /* of the Job that owns the pods: its time limit; 0: none */
    bool identity;         /* the root's annotations user-id and group-id are believed */
    const json_t *classes; /* of priorities: array of name, qos, partition; NULL: none */
    const json_t *rules;   /* podidentity_read(); NULL or empty: pods may be anybody's */
};

/* The body of job/submit.  Errors: -EINVAL an annotation or quantity cannot be read (err says
 * which), -EPERM the pods may not (err), -ENOMEM. */
int jobmake_body(const struct jobmake *m, json_t **ret, struct err *err);
/* The admin comment of a job of the bridge of this name: an object with "gang", "attempt" and
 * "uids"; NULL: the job is none of ours. */
json_t *jobmake_read_comment(const char *comment, const char *bridge);

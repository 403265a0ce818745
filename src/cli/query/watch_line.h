/* watch_line.h - one line for one change, as text or JSON */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/strbuf.h"

#include "watch.pb-c.h"

struct watch_line {
    unsigned entity; /* WATCH_JOB ... */
    bool snapshot;   /* a record as it is; else `change` */
    const Pst__WatchChange *change;
    uint64_t lsn;
    uint32_t index; /* UINT32_MAX = the whole of it */
    int64_t time_us;
    const char *name;                       /* of a node or partition */
    const ProtobufCMessage *before, *after; /* records with the fields to show */
    uint32_t job_id, array_job_id, task_id;
    bool has_task;
    const char *user;
};

void watch_line_identify_job(struct watch_line *l, const Pst__JobRecord *j);
void watch_line_add(struct strbuf *out, const struct watch_line *l, bool json);

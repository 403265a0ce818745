/* verifystate.h - what a verification under way knows; shared by the files of this folder */
#pragma once

#include "base/bitmap.h"
#include "feed/records.h"
#include "sched/sched.h"
#include "sim/limitfeed.h"
#include "sim/verify/passverify.h"

struct record {
    Pst__Transaction *tx;
    uint64_t lsn;
    bool snapshot;
};

struct verify {
    const struct conf *conf;
    const struct conf_topos *topo_files; /* NULL: all is flat */
    struct sched_params params;
    struct cluster *cluster;
    struct cluster_observer observer;
    struct sched *sched;
    struct record *records;
    size_t n, cap, fed;    /* fed: so many of them the scheduler knows */
    struct idmap known;    /* id of a job that the scheduler knows -> 1 + the record that told it */
    struct bitmap *linked; /* nodes that registered since the controller started */
    /* proposals that were not taken, in order; the scheduler learns it when it really did */
    struct refused {
        uint32_t job_id;
        uint64_t pass;
        size_t fed; /* when it was proposed */
    } * refused;
    size_t nrefused;
    uint64_t refused_told; /* by this controller */
    uint64_t taken_pass;   /* the last one of which the scheduler knows a start */
    uint32_t
        *strangers; /* started otherwise than the replay said: told when their start is applied */
    size_t nstrangers;
    uint64_t last_pass; /* run; of this controller */
    struct limitfeed limits;
    int64_t now_us;                              /* of the record applied last */
    bool assocs_moved, resvs_moved, topos_moved; /* in the record being applied */
    bool in_snapshot;                            /* who was connected then is not known: all */
    bool loud;                                   /* the scheduler is there to be told */
    int result;
    verify_fn *fn;
    void *ctx;
    struct verify_sums sums;
};

/* out_updatefail.h - the rows of scontrol update's keys, and what is said about bad values
 *
 * out_update.c reads the values.  Pure. */
#pragma once

#include "cli/query/out_update.h"

enum value {
    V_TEXT,     /* "" clears */
    V_TEXT_ALL, /* as V_TEXT; ALL clears too */
    V_NUMBER,
    V_NUMBER_INF,  /* UNLIMITED, INFINITE and -1 clear */
    V_NUMBER_WORD, /* UNLIMITED and INFINITE clear; -1 is a mistake */
    V_NUMBER_LAX,  /* no number is 0 */
    V_TIER,        /* 0 to 65533 */
    V_TIERS,       /* of the partition: priority_tier and priority_job_factor */
    V_GRACE,       /* seconds */
    V_BOOL,        /* yes no 1 0 */
    V_YES_NO,      /* of partitions: yes no, or first letters */
    V_SWITCH,      /* 0 or another number */
    V_MEM,         /* MiB */
    V_PART_MEM,    /* MiB; 0 is no limit; clears the other of per CPU and per node */
    V_MINUTES,     /* a time limit; UNLIMITED clears */
    V_OVER_TIME,
    V_DELAY, /* a time limit, kept in seconds */
    V_SECONDS,
    V_WHEN,
    V_NICE,
    V_SITE,
    V_USER,
    V_JOB_LIMIT, /* TimeLimit of a job: may be a change; UNLIMITED sets time_unlimited */
    V_NODES_RANGE,
    V_CPUS_RANGE,
    V_SWITCHES, /* "1@5:00" */
    V_CPU_MEM,  /* clears the per-node field */
    V_NODE_MEM, /* clears the per-CPU field */
    V_PER_GPU,  /* "gres/gpu:2" */
    V_GRES,
    V_MAIL,
    V_PRIORITY,
    V_OVERSUBSCRIBE,
    V_PART_SHARE,
    V_PART_EXCLUSIVE,
    V_PART_USER, /* yes: Exclusive=USER */
    V_PART_TOPO,
    V_PREEMPT,
    V_CPU_BIND,
    V_PART_STATE,
    V_PART_NODES, /* as written, and the list itself */
    V_NODE_STATE,
    V_ACCRUE,    /* without a value */
    V_UNKNOWN,   /* the controller refuses it: ESLURM_NOT_SUPPORTED */
    V_NOT_FOUND, /* likewise: SLURM_ERROR */
    V_UNUSED,    /* taken without effect */
};

struct row {
    const char *key;
    enum value value;
    const char *field; /* NULL: none, or several */
    unsigned shortest; /* letters that are enough; 0 = all */
};

/* What a bad value of the row is told, in err; the word is KEY=TEXT.  Returns as update_set(). */
int update_fail(enum update_kind kind, const struct row *row, const char *word, const char *text,
                struct err *err);

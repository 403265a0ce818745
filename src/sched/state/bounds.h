/* bounds.h - how much of each thing there may be */
#pragma once

#define SCHED_MAX_CPUS 65536u   /* of a node */
#define SCHED_MAX_SOCKETS 1024u /* more count as one */
#define SCHED_MAX_NODE_GRES 64u /* rows of a node */
#define SCHED_MAX_DEVICES 4096u /* of an indexed row */
#define SCHED_MAX_JOB_GRES 8u   /* requests of a job */
#define SCHED_MAX_JOB_PARTS 1024u
#define SCHED_MAX_JOB_RESVS 64u
#define SCHED_MAX_LICENSES 16384u /* names: licences, resources and layers */
#define SCHED_MAX_LEVELS 16u      /* of layers of mode 3 */
#define SCHED_MAX_QOS 65536u
#define SCHED_SPANS 17u /* free_ge[k]: at least 2^k free CPUs */
#define QUEUE_LEVELS 12 /* of the skip lists */

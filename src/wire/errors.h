/* errors.h - the codes that travel in an Error reply, and the sentences users of Slurm know
 *
 * One table (errors.c) maps code -> symbol, standard text.  Numbers are Slurm's where Slurm has one, since the
 * REST answers show them. */
#pragma once

enum slurm_err {
    SLURM_OK = 0,
    SLURM_ERROR = -1,
    ESLURM_INVALID_PARTITION_NAME = 2000,
    ESLURM_DEFAULT_PARTITION_NOT_SET = 2001,
    ESLURM_ACCESS_DENIED = 2002,
    ESLURM_REQUESTED_NODES_NOT_IN_PARTITION = 2004,
    ESLURM_TOO_MANY_REQUESTED_CPUS = 2005,
    ESLURM_INVALID_NODE_COUNT = 2006,
    ESLURM_ERROR_ON_DESC_TO_RECORD_COPY = 2007,
    ESLURM_JOB_MISSING_REQUIRED_PARTITION_GROUP = 2009,
    ESLURM_REQUESTED_NODE_CONFIG_UNAVAILABLE = 2014,
    ESLURM_REQUESTED_PART_CONFIG_UNAVAILABLE = 2015,
    ESLURM_NODES_BUSY = 2016,
    ESLURM_INVALID_JOB_ID = 2017,
    ESLURM_INVALID_NODE_NAME = 2018,
    ESLURM_TRANSITION_STATE_NO_UPDATE = 2020,
    ESLURM_ALREADY_DONE = 2021,
    ESLURM_INTERCONNECT_FAILURE = 2022,
    ESLURM_JOB_PENDING = 2024,
    ESLURM_INVALID_TASK_MEMORY = 2044,
    ESLURM_INVALID_ACCOUNT = 2045,
    ESLURM_JOB_SCRIPT_MISSING = 2047,
    ESLURM_USER_ID_MISSING = 2046,
    ESLURM_JOB_NOT_RUNNING = 2048,
    ESLURM_PATHNAME_TOO_LONG = 2012,
    ESLURM_INVALID_TIME_LIMIT = 2051,
    ESLURM_DISABLED = 2053,
    ESLURM_DEPENDENCY = 2054,
    ESLURM_BATCH_ONLY = 2055,
    ESLURM_INVALID_QOS = 2066,
    ESLURM_INVALID_GRES = 2072,
    ESLURM_INVALID_ARRAY = 2081,
    ESLURM_INVALID_NODE_STATE = 2039,
    ESLURM_INVALID_FEATURE = 2038,
    ESLURM_INVALID_LICENSES = 2048 + 1000,
    ESLURM_INVALID_CPU_COUNT = 2087,
    ESLURM_JOB_HELD = 2052,
    ESLURM_CIRCULAR_DEPENDENCY = 2090,
    ESLURM_CREDENTIAL_REVOKED = 4010,
    ESLURM_USER_NOT_FOUND = 2124,
    ESLURM_JOB_FINISHED = 2056,
    ESLURM_INVALID_JOB_ARRAY_ID_NON_UNIQUE = 2135,
    ESLURM_STEP_LIMIT = 2065,
    ESLURM_PARTITION_IN_USE = 2089,
    ESLURM_IMMEDIATE = 2011,
    /* our own, 9000 and up */
    EPST_BAD_REQUEST = 9001,      /* malformed or over a cap */
    EPST_VERSION = 9002,          /* no common protocol version */
    EPST_AUTH = 9003,             /* identity not established: "Invalid authentication credential" */
    EPST_DISK_FULL = 9004,        /* journal cannot grow: new work refused */
    EPST_SHUTTING_DOWN = 9005,
    EPST_BUSY = 9006,             /* too many requests in flight */
    EPST_DEADLINE = 9007,         /* request's deadline passed before it was handled */
    EPST_UNREACHABLE = 9008,      /* client side: "Unable to contact slurm controller (connect failure)" */
    EPST_TIMEOUT = 9009,          /* client side: "Socket timed out on send/recv operation" */
    EPST_PROTOCOL = 9010,         /* client side: peer broke the protocol */
};

/* Standard text ("Invalid job id specified"); "Unknown error N" (static) for others. */
const char *slurm_err_text(int code);
const char *slurm_err_symbol(int code); /* "ESLURM_INVALID_JOB_ID" or NULL */

/* errors.h - the codes that travel in an Error reply, and the sentences users of Slurm know
 *
 * X(symbol, number, standard text): one table, nothing else lists them.  Numbers below 19000 are
 * Slurm's where Slurm has one, since REST answers and exit codes (number modulo 256) show them; our
 * own start at 19000. */
#pragma once

#include <stddef.h>

#define SLURM_ERRORS(X)                                                                            \
    /* Slurm's */                                                                                  \
    X(SLURM_COMMUNICATIONS_CONNECTION_ERROR, 1001, "Communication connection failure")             \
    X(SLURM_COMMUNICATIONS_SEND_ERROR, 1002, "Message send failure")                               \
    X(SLURM_PROTOCOL_AUTHENTICATION_ERROR, 1007, "Protocol authentication error")                  \
    X(SLURMCTLD_COMMUNICATIONS_SEND_ERROR, 1801,                                                   \
      "Unable to contact slurm controller (send failure)")                                         \
    X(SLURMCTLD_COMMUNICATIONS_BACKOFF, 1804, "Rate limit exceeded, please retry momentarily")     \
    X(SLURMCTLD_COMMUNICATIONS_HARD_DROP, 1805, "Rate limit exceeded, please retry later")         \
    X(SLURM_NO_CHANGE_IN_DATA, 1900, "Data has not changed since time specified")                  \
    X(ESLURM_INVALID_PARTITION_NAME, 2000, "Invalid partition name specified")                     \
    X(ESLURM_DEFAULT_PARTITION_NOT_SET, 2001,                                                      \
      "No partition specified or system default partition")                                        \
    X(ESLURM_ACCESS_DENIED, 2002, "Access/permission denied")                                      \
    X(ESLURM_JOB_MISSING_REQUIRED_PARTITION_GROUP, 2003,                                           \
      "User's group not permitted to use this partition")                                          \
    X(ESLURM_REQUESTED_NODES_NOT_IN_PARTITION, 2004, "Requested nodes not in this partition")      \
    X(ESLURM_TOO_MANY_REQUESTED_CPUS, 2005, "More processors requested than permitted")            \
    X(ESLURM_INVALID_NODE_COUNT, 2006, "Node count specification invalid")                         \
    X(ESLURM_MAX_JOB_COUNT, 2007, "MaxJobCount limit reached")                                     \
    X(ESLURM_JOB_MISSING_SIZE_SPECIFICATION, 2008, "Job size specification needs to be provided")  \
    X(ESLURM_JOB_SCRIPT_MISSING, 2009, "Job script not specified")                                 \
    X(ESLURM_USER_ID_MISSING, 2010, "Invalid user id")                                             \
    X(ESLURM_DUPLICATE_JOB_ID, 2011, "Duplicate job id")                                           \
    X(ESLURM_PATHNAME_TOO_LONG, 2012, "Pathname of a file, directory or other parameter too long") \
    X(ESLURM_NOT_TOP_PRIORITY, 2013, "Immediate execution impossible, insufficient priority")      \
    X(ESLURM_REQUESTED_NODE_CONFIG_UNAVAILABLE, 2014,                                              \
      "Requested node configuration is not available")                                             \
    X(ESLURM_REQUESTED_PART_CONFIG_UNAVAILABLE, 2015,                                              \
      "Requested partition configuration not available now")                                       \
    X(ESLURM_NODES_BUSY, 2016, "Requested nodes are busy")                                         \
    X(ESLURM_INVALID_JOB_ID, 2017, "Invalid job id specified")                                     \
    X(ESLURM_INVALID_NODE_NAME, 2018, "Invalid node name specified")                               \
    X(ESLURM_WRITING_TO_FILE, 2019, "I/O error writing script/environment to file")                \
    X(ESLURM_TRANSITION_STATE_NO_UPDATE, 2020, "Job can not be altered now, try again later")      \
    X(ESLURM_ALREADY_DONE, 2021, "Job/step already completing or completed")                       \
    X(ESLURM_INTERCONNECT_FAILURE, 2022, "Error configuring interconnect")                         \
    X(ESLURM_BAD_DIST, 2023, "Task distribution specification invalid")                            \
    X(ESLURM_JOB_PENDING, 2024, "Job is pending execution")                                        \
    X(ESLURM_BAD_TASK_COUNT, 2025, "Task count specification invalid")                             \
    X(ESLURM_INVALID_JOB_CREDENTIAL, 2026, "Error generating job credential")                      \
    X(ESLURM_IN_STANDBY_MODE, 2027, "Slurm backup controller in standby mode")                     \
    X(ESLURM_INVALID_NODE_STATE, 2028, "Invalid node state specified")                             \
    X(ESLURM_INVALID_FEATURE, 2029, "Invalid feature specification")                               \
    X(ESLURM_ACTIVE_FEATURE_NOT_SUBSET, 2031, "Active features not subset of available features")  \
    X(ESLURM_FRAGMENTATION, 2035,                                                                  \
      "Immediate execution impossible, resources too fragmented for allocation")                   \
    X(ESLURM_NOT_SUPPORTED, 2036, "Requested operation not supported on this system")              \
    X(ESLURM_DISABLED, 2037, "Requested operation is presently disabled")                          \
    X(ESLURM_DEPENDENCY, 2038, "Job dependency problem")                                           \
    X(ESLURM_BATCH_ONLY, 2039, "Only batch jobs are accepted or processed")                        \
    X(ESLURM_LICENSES_UNAVAILABLE, 2040, "Licenses currently unavailable")                         \
    X(ESLURM_TAKEOVER_NO_HEARTBEAT, 2041, "Unable to takeover, heartbeat file is missing")         \
    X(ESLURM_JOB_HELD, 2042, "Job is in held state, pending scheduler release")                    \
    X(ESLURM_INVALID_TASK_MEMORY, 2044, "Memory required by task is not available")                \
    X(ESLURM_INVALID_ACCOUNT, 2045, "Invalid account or account/partition combination specified")  \
    X(ESLURM_INVALID_PARENT_ACCOUNT, 2046, "Invalid parent account specified")                     \
    X(ESLURM_SAME_PARENT_ACCOUNT, 2047, "Account already child of parent account specified")       \
    X(ESLURM_INVALID_LICENSES, 2048, "Invalid license specification")                              \
    X(ESLURM_ACCOUNTING_POLICY, 2050,                                                              \
      "Job violates accounting/QOS policy (job submit limit, user's size and/or time limits)")     \
    X(ESLURM_INVALID_TIME_LIMIT, 2051,                                                             \
      "Requested time limit is invalid (missing or exceeds some limit)")                           \
    X(ESLURM_RESERVATION_ACCESS, 2052, "Access denied to requested reservation")                   \
    X(ESLURM_RESERVATION_INVALID, 2053, "Requested reservation is invalid")                        \
    X(ESLURM_INVALID_TIME_VALUE, 2054, "Invalid time specified")                                   \
    X(ESLURM_RESERVATION_BUSY, 2055, "Requested reservation is in use")                            \
    X(ESLURM_RESERVATION_NOT_USABLE, 2056, "Requested reservation not usable now")                 \
    X(ESLURM_INVALID_WCKEY, 2057, "Invalid wckey specification")                                   \
    X(ESLURM_RESERVATION_OVERLAP, 2058, "Requested reservation overlaps with another reservation") \
    X(ESLURM_PORTS_BUSY, 2059, "Required ports are in use")                                        \
    X(ESLURM_PORTS_INVALID, 2060, "Requires more ports than can be reserved")                      \
    X(ESLURM_PROLOG_RUNNING, 2061, "PrologSlurmctld is still running")                             \
    X(ESLURM_NO_STEPS, 2062, "Job steps can not be run on this cluster")                           \
    X(ESLURM_MISSING_WORK_DIR, 2063,                                                               \
      "Job cannot be submitted without the current working directory specified.")                  \
    X(ESLURM_STEPS_DRAINED, 2064, "No running or pending steps in the job")                        \
    X(ESLURM_INVALID_QOS, 2066, "Invalid qos specification")                                       \
    X(ESLURM_QOS_PREEMPTION_LOOP, 2067, "QOS Preemption loop detected")                            \
    X(ESLURM_NODE_NOT_AVAIL, 2068, "Required node not available (down, drained or reserved)")      \
    X(ESLURM_INVALID_CPU_COUNT, 2069, "CPU count specification invalid")                           \
    X(ESLURM_PARTITION_NOT_AVAIL, 2070, "Required partition not available (inactive or drain)")    \
    X(ESLURM_CIRCULAR_DEPENDENCY, 2071, "Circular job dependency")                                 \
    X(ESLURM_INVALID_GRES, 2072, "Invalid generic resource (gres) specification")                  \
    X(ESLURM_JOB_NOT_PENDING, 2073, "Job is no longer pending execution")                          \
    X(ESLURM_QOS_THRES, 2074, "Requested account has breached requested QOS usage threshold")      \
    X(ESLURM_PARTITION_IN_USE, 2075, "Partition is in use")                                        \
    X(ESLURM_STEP_LIMIT, 2076, "Step limit reached for this job")                                  \
    X(ESLURM_JOB_SUSPENDED, 2077, "Job is current suspended, requested operation disabled")        \
    X(ESLURM_CAN_NOT_START_IMMEDIATELY, 2078, "Job can not start immediately")                     \
    X(ESLURM_RESERVATION_EMPTY, 2080, "Reservation request lacks users, groups or accounts")       \
    X(ESLURM_INVALID_ARRAY, 2081, "Invalid job array specification")                               \
    X(ESLURM_RESERVATION_NAME_DUP, 2082, "Duplicate reservation name")                             \
    X(ESLURM_JOB_STARTED, 2083, "Job has already started")                                         \
    X(ESLURM_JOB_FINISHED, 2084, "Job has already finished")                                       \
    X(ESLURM_JOB_NOT_RUNNING, 2085, "Job is not running")                                          \
    X(ESLURM_JOB_NOT_PENDING_NOR_RUNNING, 2086, "Job is not pending nor running")                  \
    X(ESLURM_JOB_NOT_SUSPENDED, 2087, "Job is not suspended")                                      \
    X(ESLURM_JOB_NOT_FINISHED, 2088, "Job is not finished")                                        \
    X(ESLURM_TRIGGER_DUP, 2089, "Duplicate event trigger")                                         \
    X(ESLURM_PRIO_RESET_FAIL, 2095,                                                                \
      "Changes to job priority are not persistent, change nice instead")                           \
    X(ESLURM_CANNOT_MODIFY_CRON_JOB, 2096, "Cannot modify scrontab jobs through scontrol")         \
    X(ESLURM_CANNOT_CANCEL_CRON_JOB, 2098, "Cannot cancel scrontab jobs without --cron flag.")     \
    X(ESLURM_INVALID_MCS_LABEL, 2099, "Invalid mcs_label specified")                               \
    X(ESLURM_PARTITION_DOWN, 2101, "Partition in DOWN state")                                      \
    X(ESLURM_DUPLICATE_GRES, 2102, "Duplicate generic resource (gres) specification")              \
    X(ESLURM_RSV_ALREADY_STARTED, 2104, "Reservation already started")                             \
    X(ESLURM_SUBMISSIONS_DISABLED, 2105, "System submissions disabled")                            \
    X(ESLURM_NOT_HET_JOB, 2106, "Job not heterogeneous job")                                       \
    X(ESLURM_NOT_HET_JOB_LEADER, 2107, "Job not heterogeneous job leader")                         \
    X(ESLURM_NOT_WHOLE_HET_JOB, 2108,                                                              \
      "Operation not permitted on individual component of heterogeneous job")                      \
    X(ESLURM_CORE_RESERVATION_UPDATE, 2109, "Core-based reservation can not be updated")           \
    X(ESLURM_DUPLICATE_STEP_ID, 2110, "Duplicate job step id")                                     \
    X(ESLURM_INVALID_CORE_CNT, 2111, "Core count for reservation node list is not consistent!")    \
    X(ESLURM_X11_NOT_AVAIL, 2112, "X11 forwarding not available")                                  \
    X(ESLURM_GROUP_ID_MISSING, 2113, "Invalid group id")                                           \
    X(ESLURM_BATCH_CONSTRAINT, 2114,                                                               \
      "Job --batch option is invalid or not a subset of --constraint")                             \
    X(ESLURM_INVALID_TRES, 2115, "Invalid Trackable RESource (TRES) specification")                \
    X(ESLURM_INVALID_TRES_BILLING_WEIGHTS, 2116, "Invalid TRESBillingWeights specification")       \
    X(ESLURM_INVALID_JOB_DEFAULTS, 2117, "Invalid JobDefaults specification")                      \
    X(ESLURM_RESERVATION_MAINT, 2118, "Job can not start due to maintenance reservation.")         \
    X(ESLURM_INVALID_GRES_TYPE, 2119,                                                              \
      "Invalid GRES specification (with and without type identification)")                         \
    X(ESLURM_REBOOT_IN_PROGRESS, 2120, "Reboot already in progress")                               \
    X(ESLURM_UNSUPPORTED_GRES, 2122,                                                               \
      "Requested GRES option unsupported by configured SelectType plugin")                         \
    X(ESLURM_INVALID_NICE, 2123, "Invalid --nice value")                                           \
    X(ESLURM_INVALID_TIME_MIN_LIMIT, 2124,                                                         \
      "Invalid time-min specification (exceeds job's time or other limits)")                       \
    X(ESLURM_DEFER, 2125,                                                                          \
      "Immediate execution impossible. Individual job submission scheduling attempts deferred")    \
    X(ESLURM_CONFIGLESS_DISABLED, 2126, "ConfigLess mode is disabled in slurm configuration.")     \
    X(ESLURM_ENVIRONMENT_MISSING, 2127, "Environment is missing in job")                           \
    X(ESLURM_RESERVATION_NO_SKIP, 2128, "Reservation given is not skipable, try deleting instead") \
    X(ESLURM_RESERVATION_USER_GROUP, 2129,                                                         \
      "Reservations can't have users and groups specified, only one or the other")                 \
    X(ESLURM_PARTITION_ASSOC, 2130,                                                                \
      "Multiple partition job request not supported when a partition is set in the association")   \
    X(ESLURM_IN_STANDBY_USE_BACKUP, 2131,                                                          \
      "Controller is in standby mode, try a different controller")                                 \
    X(ESLURM_BAD_THREAD_PER_CORE, 2132,                                                            \
      "Cannot request more threads per core than the job allocation")                              \
    X(ESLURM_INVALID_PREFER, 2133, "Invalid preferred feature specification")                      \
    X(ESLURM_INSUFFICIENT_GRES, 2134, "Insufficient GRES available in allocation")                 \
    X(ESLURM_INVALID_JOB_ID_ZERO, 2137, "JobID can not be zero")                                   \
    X(ESLURM_INVALID_JOB_ID_NEGATIVE, 2138, "JobID can not be a negative number")                  \
    X(ESLURM_INVALID_JOB_ID_TOO_LARGE, 2139, "JobID larger than acceptable range")                 \
    X(ESLURM_INVALID_JOB_ID_NON_NUMERIC, 2140, "JobID includes unexpected non-numeric characters") \
    X(ESLURM_JOB_TIMEOUT_KILLED, 2160, "Job killed due hitting max wall clock limit")              \
    X(ESLURM_JOB_NODE_FAIL_KILLED, 2161, "Job killed due node failure")                            \
    X(ESLURM_GROUP_ID_INVALID, 2163, "Invalid group ID")                                           \
    X(ESLURM_GROUP_ID_UNKNOWN, 2164, "Unable to resolve group ID to group name")                   \
    X(ESLURM_USER_ID_INVALID, 2165, "Invalid user ID")                                             \
    X(ESLURM_USER_ID_UNKNOWN, 2166, "Unable to resolve user ID to user name")                      \
    X(ESLURM_INVALID_ASSOC, 2167, "Invalid or unknown association")                                \
    X(ESLURM_NODE_ALREADY_EXISTS, 2168, "Node already exists in the node table")                   \
    X(ESLURM_NODE_TABLE_FULL, 2169, "Unable to add node, node table is full")                      \
    X(ESLURM_INVALID_EXTRA, 2171, "Invalid extra constraints specification")                       \
    X(ESLURM_JOB_SIGNAL_FAILED, 2172, "Cannot signal job")                                         \
    X(ESLURM_MAX_POWERED_NODES, 2177, "Max powered up nodes reached")                              \
    X(ESLURM_REQUESTED_TOPO_CONFIG_UNAVAILABLE, 2178,                                              \
      "Requested topology configuration is not available")                                         \
    X(ESLURM_PREEMPTION_REQUIRED, 2179, "Preemption is required but is disabled on this system")   \
    X(ESLURM_INVALID_NODE_STATE_TRANSITION, 2180, "Invalid node state transition")                 \
    X(ESLURM_INVALID_JOB_STATE, 2181, "Invalid job state")                                         \
    X(ESLURM_EXTERN_ONLY, 2186, "Requested operation requires extern step")                        \
    X(ESLURM_INVALID_POWER_ACTION, 2187, "Invalid power action")                                   \
    X(ESLURM_STEP_QUEUED, 2188, "Step queued as pending")                                          \
    X(ESLURM_INVALID_EXTERNAL_JOB, 2189, "Invalid configuration for external job")                 \
    X(ESLURM_FILE_UNREADABLE, 2190, "Unable to load file for reading")                             \
    X(ESLURM_CREDENTIAL_REVOKED, 4008, "Job credential revoked")                                   \
    X(ESLURMD_PROLOG_FAILED, 4022, "Job prolog failed")                                            \
    X(SLURM_PROTOCOL_SOCKET_TIMEOUT, 5004, "Socket timed out on send/recv operation")              \
    X(SLURM_PROTOCOL_SOCKET_ZERO_BYTES_SENT, 5005, "Zero Bytes were transmitted or received")      \
    X(ESLURM_AUTH_CRED_INVALID, 6000, "Invalid authentication credential")                         \
    X(ESLURM_AUTH_EXPIRED, 6001, "Authentication credential expired")                              \
    X(ESLURM_AUTH_BADARG, 6004, "Bad argument to plugin function")                                 \
    X(ESLURM_AUTH_UNPACK, 6007, "Cannot unpack credential")                                        \
    X(ESLURM_AUTH_SKIP, 6008, "Authentication does not apply to request")                          \
    X(ESLURM_AUTH_UNABLE_TO_GENERATE_TOKEN, 6009, "Token Generation failed.")                      \
    X(ESLURM_AUTH_NOBODY, 6010, "Rejecting authentication of user nobody or group nobody")         \
    X(ESLURM_AUTH_SOCKET_INVALID_PEER, 6011, "Unable to query kernel for socket peer credential")  \
    X(ESLURM_DB_CONNECTION, 7000, "Unable to connect to database")                                 \
    X(ESLURM_JOBS_RUNNING_ON_ASSOC, 7001, "Job(s) active, cancel job(s) before remove")            \
    X(ESLURM_CLUSTER_DELETED, 7002, "Cluster deleted, commit/rollback immediately")                \
    X(ESLURM_BAD_NAME, 7004, "Unacceptable name given. (No '.' in name allowed)")                  \
    X(ESLURM_OVER_ALLOCATE, 7005, "You can not allocate more than 100% of a resource")             \
    X(ESLURM_RESULT_TOO_LARGE, 7006, "Query result exceeds size limit")                            \
    X(ESLURM_DB_QUERY_TOO_WIDE, 7007, "Too wide of a date range in query")                         \
    X(ESLURM_DB_CONNECTION_INVALID, 7008, "Database connection reference is invalid")              \
    X(ESLURM_NO_REMOVE_DEFAULT_ACCOUNT, 7009, "You can not remove the default account of a user")  \
    X(ESLURM_BAD_SQL, 7010,                                                                        \
      "There is something internally wrong with the SQL needed for this. Please "                  \
      "consult the slurmdbd log for more info.")                                                   \
    X(ESLURM_NO_REMOVE_DEFAULT_QOS, 7011,                                                          \
      "This request would make it so some associations would not have access to their "            \
      "default qos.")                                                                              \
    X(ESLURM_COORD_NO_INCREASE_JOB_LIMIT, 7012,                                                    \
      "Coordinators can not increase job limits beyond the parent ones")                           \
    X(ESLURM_JOB_NOT_FEDERATED, 7103, "Not a valid federated job")                                 \
    X(ESLURM_MISSING_TIME_LIMIT, 8000, "Time limit specification required, but not provided")      \
    X(ESLURM_REST_INVALID_QUERY, 9000, "Query empty or not RFC7320 compliant")                     \
    X(ESLURM_REST_FAIL_PARSING, 9001, "Failure during parsing")                                    \
    X(ESLURM_REST_INVALID_JOBS_DESC, 9002,                                                         \
      "Jobs description entry not found, empty or not dictionary or list")                         \
    X(ESLURM_REST_EMPTY_RESULT, 9003, "Nothing found with query")                                  \
    X(ESLURM_REST_MISSING_UID, 9004, "Missing UNIX user in the system")                            \
    X(ESLURM_REST_MISSING_GID, 9005, "Missing UNIX group in the system")                           \
    X(ESLURM_REST_UNKNOWN_URL, 9006,                                                               \
      "Unable to find requested URL endpoint. "                                                    \
      "Please query the '/openapi/v3' endpoint or visit "                                          \
      "'https://slurm.schedmd.com/rest_api.html' for the OpenAPI specification which includes a "  \
      "list of all possible slurmrestd endpoints.")                                                \
    X(ESLURM_REST_UNKNOWN_URL_METHOD, 9007,                                                        \
      "Requested HTTP query method is not supported at URL endpoint. "                             \
      "Please query the '/openapi/v3' endpoint or visit "                                          \
      "'https://slurm.schedmd.com/rest_api.html' for the OpenAPI specification which includes a "  \
      "list of all possible slurmrestd endpoints.")                                                \
    X(ESLURM_REST_AUTH_FAIL, 9008, "Authentication failure")                                       \
    X(ESLURM_REST_QUERY_UNMET, 9009, "Query requirements not met")                                 \
    /* our own */                                                                                  \
    X(EPST_BAD_REQUEST, 19001, "Request is malformed or too large")                                \
    X(EPST_VERSION, 19002, "Protocol versions of client and server have nothing in common")        \
    X(EPST_AUTH, 19003, "Invalid authentication credential")                                       \
    X(EPST_DISK_FULL, 19004, "Controller cannot store new work: its disk is full")                 \
    X(EPST_SHUTTING_DOWN, 19005, "Controller is shutting down")                                    \
    X(EPST_BUSY, 19006, "Too many requests or connections at this moment, please retry")           \
    X(EPST_DEADLINE, 19007, "Request was not handled before its deadline")                         \
    X(EPST_UNREACHABLE, 19008, "Unable to contact slurm controller (connect failure)")             \
    X(EPST_TIMEOUT, 19009, "Socket timed out on send/recv operation")                              \
    X(EPST_PROTOCOL, 19010, "Peer broke the protocol")                                             \
    X(ESLURM_ERROR_ON_DESC_TO_RECORD_COPY, 19011, "Unable to create job record, try again")        \
    X(ESLURM_INVALID_JOB_ARRAY_ID_NON_UNIQUE, 19012, "Job array id names more than one job")       \
    X(ESLURM_USER_NOT_FOUND, 19013, "Invalid user id")                                             \
    X(ESLURM_INVALID_CLUSTER_FEATURE, 19014, "Invalid cluster feature specification")              \
    X(ESLURM_INVALID_CLUSTER_NAME, 19016, "Invalid cluster name")                                  \
    X(EPST_KEY_REUSED, 19017, "The idempotency key stands for another submission")                 \
    X(EPST_STALE_CONFIGURATION, 19020, "The node does not run with the configuration in force")    \
    X(EPST_OTHER_CLUSTER, 19021, "Another cluster of the federation has this job")                 \
    X(EPST_ENCRYPTED, 19150, "This daemon takes encrypted connections only (TLSType)")

enum slurm_err {
    SLURM_OK = 0,
    SLURM_ERROR = -1,
#define X(sym, num, text) sym = num,
    SLURM_ERRORS(X)
#undef X
        ESLURM_IMMEDIATE = ESLURM_NOT_TOP_PRIORITY,
};

/* Standard text ("Invalid job id specified"), also of numbers that only errtexts.def has; "Unknown
 * error N" (static) for others. */
const char *slurm_err_text(int code);
const char *slurm_err_symbol(int code); /* "ESLURM_INVALID_JOB_ID" or NULL */
/* Rows of the table in order of number, for documentation and tests; NULL past the end. */
const char *slurm_err_row(size_t i, int *ret_code);

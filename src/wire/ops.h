/* ops.h - the operations of the protocol: one row each, nothing else lists them
 *
 * X(symbol, number, name, request message, reply message, max request bytes)
 * A number is never reused.  Requests and replies share the number; the frame's flags tell which.
 */
#pragma once

#include <protobuf-c/protobuf-c.h>
#include <stdint.h>

#define WIRE_KIB 1024u
#define WIRE_MIB (1024u * 1024u)

/* What programs that start jobs and steps, and the step daemon, speak.  They are started for every
 * step and have a table of these operations alone, without the messages of all others (ops.c). */
#define WIRE_OPS_STEP(X)                                                                           \
    /* server to client, one-way, at accept */                                                     \
    X(OP_CHALLENGE, 1, "challenge", challenge, empty, 4 * WIRE_KIB)                                \
    X(OP_HELLO, 2, "hello", hello, hello_reply, 64 * WIRE_KIB)                                     \
    X(OP_PING, 3, "ping", ping_request, ping_reply, 4 * WIRE_KIB)                                  \
    /* jobs: commands to the core */                                                               \
    X(OP_JOB_SUBMIT, 10, "job-submit", submit_request, submit_reply, 12 * WIRE_MIB)                \
    X(OP_JOB_WAIT, 11, "job-wait", job_wait_request, job_status, 4 * WIRE_KIB)                     \
    X(OP_JOB_ACTION, 12, "job-action", job_action_request, job_action_reply, 4 * WIRE_MIB)         \
    X(OP_STEP_CREATE, 14, "step-create", step_create_request, step_reply, 4 * WIRE_MIB)            \
    X(OP_HET_STEP_CREATE, 15, "het-step-create", het_step_request, het_step_reply, 4 * WIRE_MIB)   \
    X(OP_ACCESS, 66, "access", access_request, step_reply, 4 * WIRE_KIB)                           \
    X(OP_STEPS_WAIT, 65, "steps-wait", steps_wait_request, empty, 4 * WIRE_KIB)                    \
    /* slurmctld to slurmdbd */                                                                    \
    X(OP_ACCT_LIST, 41, "acct-list", acct_list_request, record_batch, 4 * WIRE_MIB)                \
    /* queries: answered from views */                                                             \
    X(OP_QUERY_JOBS, 30, "query-jobs", query_request, record_batch, 4 * WIRE_MIB)                  \
    X(OP_QUERY_FEDERATION, 97, "query-federation", empty, fed_info, 4 * WIRE_KIB)                  \
    /* slurmd to controller */                                                                     \
    X(OP_CONF_FETCH, 72, "conf-fetch", conf_request, conf_bundle, 4 * WIRE_KIB)                    \
    /* srun to slurmd, then srun and slurmstepd on the same connection */                          \
    X(OP_LAUNCH_STEP, 100, "launch-step", launch_step, empty, 16 * WIRE_MIB)                       \
    X(OP_STEP_STARTED, 101, "step-started", step_started, empty, 1 * WIRE_MIB)                     \
    X(OP_STEP_IO, 102, "step-io", step_io, empty, 256 * WIRE_KIB)                                  \
    X(OP_STEP_TASK_EXIT, 103, "step-task-exit", step_task_exit, empty, 1 * WIRE_MIB)               \
    X(OP_STEP_SIGNAL, 104, "step-signal", step_signal, empty, 4 * WIRE_KIB)                        \
    X(OP_STEP_MESSAGE, 105, "step-message", step_message, empty, 64 * WIRE_KIB)                    \
    X(OP_STEP_DONE, 106, "step-done", step_done, empty, 4 * WIRE_KIB)                              \
    X(OP_RELAY, 120, "relay", relay_open, empty, 16 * WIRE_MIB)                                    \
    X(OP_RELAY_FRAME, 122, "relay-frame", relay_frame, empty, 16 * WIRE_MIB)                       \
    X(OP_STEP_MPI, 121, "step-mpi", step_mpi, empty, 16 * WIRE_MIB)                                \
    /* sattach, sstat and sbcast to slurmd, then to whom it hands the connection */                \
    X(OP_ATTACH_STEP, 107, "attach-step", attach_step, empty, 4 * WIRE_MIB)                        \
    X(OP_STAT_STEP, 123, "stat-step", stat_step, step_stat, 4 * WIRE_MIB)                          \
    X(OP_TAIL_OUTPUT, 115, "tail-output", tail_output, output_tail, 4 * WIRE_MIB)                  \
    X(OP_BCAST_OPEN, 108, "bcast-open", bcast_open, empty, 4 * WIRE_MIB)                           \
    X(OP_BCAST_BLOCK, 109, "bcast-block", bcast_block, empty, 9 * WIRE_MIB)

#define WIRE_OPS_OTHER(X)                                                                          \
    /* jobs: commands to the core */                                                               \
    X(OP_JOB_UPDATE, 13, "job-update", job_update_request, job_action_reply, 4 * WIRE_MIB)         \
    X(OP_ACCT_CHANGES, 16, "acct-changes", acct_changes, acct_reached, 16 * WIRE_MIB)              \
    X(OP_QUERY_ASSOCS, 17, "query-assocs", assoc_mgr_request, record_batch, 1 * WIRE_MIB)          \
    X(OP_CRONTAB_GET, 60, "crontab-get", crontab_get_request, crontab_record, 4 * WIRE_KIB)        \
    X(OP_CRONTAB_SET, 61, "crontab-set", crontab_set_request, empty, 16 * WIRE_MIB)                \
    X(OP_TRIGGER_SET, 62, "trigger-set", trigger_record, trigger_record, 64 * WIRE_KIB)            \
    X(OP_TRIGGER_GET, 63, "trigger-get", empty, trigger_set, 4 * WIRE_KIB)                         \
    X(OP_TRIGGER_CLEAR, 64, "trigger-clear", trigger_record, empty, 64 * WIRE_KIB)                 \
    /* queries: answered from views */                                                             \
    X(OP_QUERY_STEPS, 31, "query-steps", query_request, record_batch, 4 * WIRE_MIB)                \
    X(OP_QUERY_NODES, 32, "query-nodes", query_request, record_batch, 4 * WIRE_MIB)                \
    X(OP_QUERY_PARTITIONS, 33, "query-partitions", query_request, record_batch, 1 * WIRE_MIB)      \
    X(OP_QUERY_CONFIG, 34, "query-config", empty, config_reply, 4 * WIRE_KIB)                      \
    X(OP_QUERY_TOPOLOGY, 112, "query-topology", topology_request, topology_reply, 4 * WIRE_KIB)    \
    X(OP_QUERY_DIAG, 35, "query-diag", diag_request, diag_reply, 4 * WIRE_KIB)                     \
    X(OP_QUERY_SCRIPT, 36, "query-script", job_id_request, script_reply, 4 * WIRE_KIB)             \
    X(OP_QUERY_ACCT, 37, "query-acct", acct_filter, record_batch, 4 * WIRE_MIB)                    \
    /* slurmctld to slurmdbd */                                                                    \
    X(OP_DBD_REGISTER, 20, "dbd-register", dbd_register, dbd_cursor, 64 * WIRE_KIB)                \
    X(OP_DBD_FEED, 21, "dbd-feed", dbd_feed, dbd_cursor, 16 * WIRE_MIB)                            \
    X(OP_USAGE, 22, "usage", usage_request, usage_reply, 4 * WIRE_MIB)                             \
    X(OP_ARCHIVE, 23, "archive", archive_request, archive_reply, 64 * WIRE_KIB)                    \
    X(OP_QUERY_SHARES, 110, "query-shares", shares_request, record_batch, 4 * WIRE_KIB)            \
    X(OP_USAGE_RESET, 111, "usage-reset", usage_reset_request, empty, 1 * WIRE_MIB)                \
    X(OP_QUERY_PRIORITY, 45, "query-priority", priority_request, record_batch, 4 * WIRE_MIB)       \
    X(OP_ACCT_ADMIN, 40, "acct-admin", acct_admin_request, acct_admin_reply, 15 * WIRE_MIB)        \
    X(OP_ACCT_FOLLOW, 42, "acct-follow", acct_follow_request, acct_changes, 1 * WIRE_MIB)          \
    X(OP_ACCT_BLOB, 117, "acct-blob", acct_blob_request, acct_blob_reply, 4 * WIRE_KIB)            \
    X(OP_QUERY_EXPLAIN, 38, "query-explain", explain_request, explain_reply, 4 * WIRE_KIB)         \
    X(OP_WATCH, 39, "watch", watch_request, watch_batch, 1 * WIRE_MIB)                             \
    /* federations: controller to controller */                                                    \
    X(OP_FED_COPY, 98, "fed-copy", fed_copy_request, fed_copy_reply, 12 * WIRE_MIB)                \
    X(OP_FED_ASK, 99, "fed-ask", fed_ask, fed_ask_reply, 1 * WIRE_MIB)                             \
    /* administration */                                                                           \
    X(OP_NODE_UPDATE, 50, "node-update", node_update_request, empty, 4 * WIRE_MIB)                 \
    X(OP_PART_UPDATE, 51, "partition-update", part_update_request, empty, 4 * WIRE_MIB)            \
    X(OP_RECONFIGURE, 52, "reconfigure", empty, empty, 4 * WIRE_KIB)                               \
    X(OP_SHUTDOWN, 53, "shutdown", shutdown_request, shutdown_reply, 4 * WIRE_KIB)                 \
    X(OP_TAKEOVER, 67, "takeover", takeover_request, takeover_reply, 4 * WIRE_KIB)                 \
    X(OP_STREAM, 18, "stream", stream_request, stream_reply, 4 * WIRE_MIB)                         \
    X(OP_WITNESS, 19, "witness", witness_request, witness_reply, 16 * WIRE_KIB)                    \
    X(OP_TOKEN, 54, "token", token_request, token_reply, 4 * WIRE_KIB)                             \
    X(OP_DEBUG, 55, "debug", debug_request, empty, 4 * WIRE_KIB)                                   \
    X(OP_RESV_UPDATE, 57, "reservation-update", resv_request, resv_reply, 4 * WIRE_MIB)            \
    X(OP_QUERY_RESVS, 58, "query-reservations", empty, resv_set, 4 * WIRE_KIB)                     \
    X(OP_POWER_EXCEPT, 59, "power-except", power_except_request, empty, 4 * WIRE_MIB)              \
    X(OP_NODE_REBOOT, 56, "node-reboot", node_reboot_request, empty, 4 * WIRE_MIB)                 \
    X(OP_NODE_CREATE, 124, "node-create", node_create_request, empty, 64 * WIRE_KIB)               \
    X(OP_NODE_DELETE, 125, "node-delete", node_delete_request, empty, 4 * WIRE_MIB)                \
    /* slurmd to controller */                                                                     \
    X(OP_NODE_CLAIM, 126, "node-claim", node_claim_request, node_claim_reply, 64 * WIRE_KIB)       \
    X(OP_CERT_SIGN, 119, "cert-sign", cert_request, cert_reply, 128 * WIRE_KIB)                    \
    X(OP_NODE_REGISTER, 70, "node-register", node_register, node_register_reply, 16 * WIRE_MIB)    \
    X(OP_NODE_REPORT, 71, "node-report", node_report, empty, 16 * WIRE_MIB)                        \
    /* controller to slurmd, on the connection the node opened; replies are empty */               \
    X(OP_LAUNCH_BATCH, 80, "launch-batch", launch_batch, empty, 16 * WIRE_MIB)                     \
    X(OP_PREPARE_JOB, 81, "prepare-job", prepare_job, empty, 4 * WIRE_MIB)                         \
    X(OP_SIGNAL_STEPS, 82, "signal-steps", signal_steps, empty, 1 * WIRE_MIB)                      \
    X(OP_TERMINATE_JOB, 83, "terminate-job", terminate_job, empty, 4 * WIRE_MIB)                   \
    X(OP_NODE_SHUTDOWN, 84, "node-shutdown", empty, empty, 4 * WIRE_KIB)                           \
    X(OP_NODE_RECONFIGURE, 85, "node-reconfigure", empty, empty, 4 * WIRE_KIB)                     \
    X(OP_NODE_CONFIGURE, 90, "node-configure", node_configure, empty, 16 * WIRE_MIB)               \
    X(OP_NODE_HEALTH, 86, "node-health", empty, empty, 4 * WIRE_KIB)                               \
    X(OP_NODE_REBOOT_NOW, 87, "node-reboot-now", node_reboot_now, empty, 4 * WIRE_KIB)             \
    X(OP_NODE_ACTION, 94, "node-action", node_action_now, empty, 4 * WIRE_KIB)                     \
    X(OP_NODE_TOPOLOGY, 113, "node-topology", node_topology, empty, 16 * WIRE_KIB)                 \
    X(OP_NODE_DEBUG, 89, "node-debug", debug_request, empty, 4 * WIRE_KIB)                         \
    X(OP_LAUNCH_ASYNC, 88, "launch-async", launch_step, empty, 16 * WIRE_MIB)

#define WIRE_OPS(X) WIRE_OPS_STEP(X) WIRE_OPS_OTHER(X)

enum wire_op {
#define X(sym, num, name, req, rep, max) sym = num,
    WIRE_OPS(X)
#undef X
        OP_MAX_ = 128,
};

struct wire_op_info {
    const char *name; /* NULL: no such op */
    const ProtobufCMessageDescriptor *request;
    const ProtobufCMessageDescriptor *reply;
    uint32_t max_request; /* bytes of a request body */
};

/* Row of op, or NULL when the number is unknown, or not spoken by this program. */
const struct wire_op_info *wire_op_info(unsigned op);

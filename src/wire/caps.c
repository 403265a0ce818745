/* caps.c - how large each field that comes from outside may be
 *
 * One row a field that needs more than its message's default (the row without a field name);
 * test_frame walks the schema and fails when a message of a request or reply has no default row.
 * Constant data.
 *
 * Bytes bound a string, a bytes field or an embedded message, count bounds a repeated field, 0
 * leaves it to the default.  No row is below SHORT, so that the check looks nothing up for the many
 * short values. What a whole request may weigh is the op's cap in ops.h. */
#include "wire/caps.h"

#include "base/cleanup.h"
#include "wire/frame.h"

#define KIB WIRE_KIB
#define MIB WIRE_MIB
#define SHORT 1024u          /* names */
#define PATH 8192u           /* paths: PATH_MAX twice, patterns included */
#define TEXT (64u * KIB)     /* comments, constraints, TRES lists */
#define HOSTS (1u * MIB)     /* host list expressions */
#define WHOLE FRAME_MAX_BODY /* embedded messages: the op's cap rules */
#define NODES 65536u
#define JOBS 1000000u

#define ALL(message, bytes)                                                                        \
    {                                                                                              \
        "pst." message, NULL, bytes, 0                                                             \
    }
#define STR(message, field, bytes)                                                                 \
    {                                                                                              \
        "pst." message, field, bytes, 0                                                            \
    }
#define SUB(message, field)                                                                        \
    {                                                                                              \
        "pst." message, field, WHOLE, 0                                                            \
    }
#define REP(message, field, bytes, count)                                                          \
    {                                                                                              \
        "pst." message, field, bytes, count                                                        \
    }
#define PACK(message, field, count)                                                                \
    {                                                                                              \
        "pst." message, field, 0, count                                                            \
    }

static const struct pb_cap rows[] = {
    /* connection */
    ALL("Challenge", SHORT),
    ALL("Hello", SHORT),
    STR("Hello", "proof", 32 * KIB),
    ALL("HelloReply", SHORT),
    ALL("Error", TEXT),
    ALL("Empty", SHORT),
    ALL("PingRequest", SHORT),
    ALL("PingReply", SHORT),

    /* records */
    ALL("JobRecord", SHORT),
    STR("JobRecord", "partition", TEXT),
    STR("JobRecord", "array_tasks", 256 * KIB),
    STR("JobRecord", "comment", TEXT),
    STR("JobRecord", "admin_comment", TEXT),
    STR("JobRecord", "extra", TEXT),
    STR("JobRecord", "reservation", TEXT),
    STR("JobRecord", "reason_text", TEXT),
    STR("JobRecord", "mail_user", PATH),
    STR("JobRecord", "features", TEXT),
    STR("JobRecord", "prefer", TEXT),
    STR("JobRecord", "batch_features", TEXT),
    STR("JobRecord", "req_nodes", HOSTS),
    STR("JobRecord", "exc_nodes", HOSTS),
    STR("JobRecord", "alloc_node_file", PATH),
    STR("JobRecord", "tres_per_node", TEXT),
    STR("JobRecord", "tres_per_job", TEXT),
    STR("JobRecord", "tres_per_socket", TEXT),
    STR("JobRecord", "tres_per_task", TEXT),
    STR("JobRecord", "licenses", TEXT),
    STR("JobRecord", "dependency", 1 * MIB),
    STR("JobRecord", "network", TEXT),
    REP("JobRecord", "argv", 128 * KIB, 16384),
    STR("JobRecord", "work_dir", PATH),
    STR("JobRecord", "std_in", PATH),
    STR("JobRecord", "std_out", PATH),
    STR("JobRecord", "std_err", PATH),
    REP("JobRecord", "rlimits", SHORT, 64),
    STR("JobRecord", "export_env", 1 * MIB),
    STR("JobRecord", "command", TEXT),
    STR("JobRecord", "submit_line", 2 * MIB),
    STR("JobRecord", "container", PATH),
    SUB("JobRecord", "alloc"),
    PACK("JobRecord", "nodes_pending", NODES),
    STR("JobRecord", "alloc_tres", TEXT),
    STR("JobRecord", "req_tres", TEXT),
    STR("JobRecord", "pend_text", TEXT),
    STR("JobRecord", "sched_nodes", HOSTS),
    ALL("Rlimit", SHORT),
    ALL("Alloc", SHORT),
    STR("Alloc", "nodes", HOSTS),
    PACK("Alloc", "node_ids", NODES),
    REP("Alloc", "groups", 256 * KIB, NODES),
    ALL("AllocGroup", TEXT),
    REP("AllocGroup", "gres", 32 * KIB, 256),
    ALL("GresAlloc", SHORT),
    STR("GresAlloc", "devices", 16 * KIB),
    ALL("StepRecord", SHORT),
    SUB("StepRecord", "alloc"),
    STR("StepRecord", "async_launch", 4 * MIB),
    STR("StepRecord", "async_spec", 4 * MIB),
    STR("StepRecord", "submit_line", 2 * MIB),
    PACK("StepRecord", "nodes_pending", NODES),
    STR("StepRecord", "usage", 4 * KIB),
    STR("StepRecord", "work_dir", PATH),
    STR("StepRecord", "std_out", PATH),
    STR("StepRecord", "std_err", PATH),
    STR("StepRecord", "std_in", PATH),
    ALL("StepUsage", SHORT),
    ALL("NodeRecord", SHORT),
    STR("NodeRecord", "features", TEXT),
    STR("NodeRecord", "active_features", TEXT),
    STR("NodeRecord", "gres", TEXT),
    STR("NodeRecord", "gres_devices", TEXT),
    STR("NodeRecord", "alloc_gres", TEXT),
    STR("NodeRecord", "cpu_spec_list", TEXT),
    STR("NodeRecord", "comment", TEXT),
    STR("NodeRecord", "extra", TEXT),
    STR("NodeRecord", "reason", TEXT),
    ALL("PartitionRecord", TEXT),
    STR("PartitionRecord", "nodes", HOSTS),
    STR("PartitionRecord", "nodes_config", HOSTS),
    STR("PartitionRecord", "alloc_nodes", HOSTS),

    /* jobs */
    ALL("StepSpec", SHORT),
    STR("StepSpec", "nodelist", HOSTS),
    STR("StepSpec", "exclude", HOSTS),
    STR("StepSpec", "tres_per_step", TEXT),
    STR("StepSpec", "tres_per_node", TEXT),
    STR("StepSpec", "tres_per_task", TEXT),
    STR("StepSpec", "submit_line", 2 * MIB),
    STR("StepSpec", "work_dir", PATH),
    STR("StepSpec", "std_out", PATH),
    STR("StepSpec", "std_err", PATH),
    STR("StepSpec", "std_in", PATH),
    ALL("SubmitRequest", PATH),
    SUB("SubmitRequest", "job"),
    STR("SubmitRequest", "script", 4 * MIB),
    STR("SubmitRequest", "environment", 8 * MIB),
    SUB("SubmitRequest", "step"),
    STR("SubmitRequest", "array", 256 * KIB),
    ALL("SubmitReply", TEXT),
    STR("SubmitReply", "nodes", HOSTS),
    ALL("JobStatus", SHORT),
    SUB("JobStatus", "job"),
    REP("JobStatus", "nodes", 4 * KIB, NODES),
    SUB("JobStatus", "step"),
    ALL("NodeAddr", SHORT),
    ALL("JobWaitRequest", SHORT),
    ALL("JobActionRequest", TEXT),
    REP("JobActionRequest", "ids", 16 * KIB, 100000),
    SUB("JobActionRequest", "filter"),
    ALL("JobActionReply", SHORT),
    REP("JobActionReply", "results", 128 * KIB, 100000),
    ALL("JobActionResult", TEXT),
    ALL("JobUpdateRequest", SHORT),
    REP("JobUpdateRequest", "ids", 16 * KIB, 100000),
    SUB("JobUpdateRequest", "set"),
    PACK("JobUpdateRequest", "clear", 1024),
    ALL("JobFilter", SHORT),
    PACK("JobFilter", "job_ids", JOBS),
    PACK("JobFilter", "states", 64),
    PACK("JobFilter", "uids", 65536),
    REP("JobFilter", "partitions", SHORT, 16384),
    REP("JobFilter", "names", SHORT, 16384),
    REP("JobFilter", "accounts", SHORT, 16384),
    REP("JobFilter", "qos", SHORT, 16384),
    STR("JobFilter", "nodes", HOSTS),
    REP("JobFilter", "reservations", SHORT, 16384),
    ALL("StepCreateRequest", SHORT),
    SUB("StepCreateRequest", "async"),
    ALL("StepsWaitRequest", SHORT),
    ALL("AccessRequest", SHORT),
    ALL("AttachStep", SHORT),
    SUB("AttachStep", "credential"),
    ALL("BcastOpen", SHORT),
    SUB("BcastOpen", "credential"),
    STR("BcastOpen", "path", PATH),
    ALL("BcastBlock", SHORT),
    SUB("BcastBlock", "data"),
    SUB("StepCreateRequest", "spec"),
    ALL("StepReply", SHORT),
    SUB("StepReply", "step"),
    SUB("StepReply", "credential"),
    REP("StepReply", "nodes", 4 * KIB, NODES),
    SUB("StepReply", "job"),

    /* queries */
    ALL("QueryRequest", SHORT),
    SUB("QueryRequest", "jobs"),
    PACK("QueryRequest", "fields", 1024),
    STR("QueryRequest", "names", HOSTS),
    ALL("PriorityRequest", SHORT),
    PACK("PriorityRequest", "job_ids", JOBS),
    PACK("PriorityRequest", "uids", 65536),
    REP("PriorityRequest", "partitions", SHORT, 16384),
    ALL("WatchRequest", SHORT),
    PACK("WatchRequest", "entities", 16),
    SUB("WatchRequest", "jobs"),
    STR("WatchRequest", "nodes", HOSTS),
    REP("WatchRequest", "partitions", SHORT, 16384),
    ALL("WatchBatch", SHORT),
    REP("WatchBatch", "changes", WHOLE, JOBS),
    ALL("ExplainRequest", SHORT),
    ALL("ExplainReply", TEXT),
    REP("ExplainReply", "partitions", WHOLE, 1024),
    REP("ExplainReply", "changes", TEXT, 1024),
    REP("ExplainReply", "sentences", TEXT, 4096),
    ALL("ExplainPartition", TEXT),
    STR("ExplainPartition", "expected_nodes", HOSTS),
    REP("ExplainPartition", "causes", HOSTS, 64),
    REP("ExplainPartition", "holders", TEXT, 64),
    ALL("ExplainCount", TEXT),
    STR("ExplainCount", "names", HOSTS),
    ALL("ExplainHolder", SHORT),
    ALL("ExplainChange", TEXT),
    ALL("RecordBatch", SHORT),
    REP("RecordBatch", "records", WHOLE, JOBS),
    ALL("ConfigReply", PATH),
    REP("ConfigReply", "entries", 128 * KIB, 4096),
    REP("ConfigReply", "cgroup", 128 * KIB, 1024),
    ALL("KeyValue", TEXT),
    ALL("JobIdRequest", SHORT),
    ALL("ScriptReply", SHORT),
    STR("ScriptReply", "script", 4 * MIB),
    ALL("DiagRequest", SHORT),
    ALL("DiagReply", SHORT),
    REP("DiagReply", "rpcs", SHORT, 1024),
    REP("DiagReply", "users", SHORT, 65536),
    ALL("RpcStat", SHORT),
    ALL("UserStat", SHORT),
    ALL("AcctFilter", SHORT),
    PACK("AcctFilter", "job_ids", JOBS),
    PACK("AcctFilter", "uids", 65536),
    PACK("AcctFilter", "states", 64),
    REP("AcctFilter", "partitions", SHORT, 16384),
    REP("AcctFilter", "names", SHORT, 16384),
    REP("AcctFilter", "accounts", SHORT, 16384),
    REP("AcctFilter", "qos", SHORT, 16384),
    STR("AcctFilter", "nodes", HOSTS),
    ALL("AcctJob", SHORT),
    SUB("AcctJob", "job"),
    REP("AcctJob", "steps", WHOLE, 100000),

    /* administration */
    ALL("NodeUpdateRequest", SHORT),
    STR("NodeUpdateRequest", "nodes", HOSTS),
    SUB("NodeUpdateRequest", "set"),
    PACK("NodeUpdateRequest", "clear", 1024),
    ALL("PartUpdateRequest", SHORT),
    SUB("PartUpdateRequest", "set"),
    PACK("PartUpdateRequest", "clear", 1024),
    ALL("ShutdownRequest", SHORT),
    ALL("TokenRequest", SHORT),
    ALL("TokenReply", 16 * KIB),
    ALL("DebugRequest", SHORT),

    /* controller and slurmd */
    ALL("RunningStep", SHORT),
    ALL("StepEnd", TEXT),
    ALL("NodeRegister", SHORT),
    SUB("NodeRegister", "node"),
    REP("NodeRegister", "running", SHORT, 65536),
    REP("NodeRegister", "ended", 128 * KIB, 65536),
    REP("NodeRegister", "jobs", SHORT, 65536),
    ALL("NodeRegisterReply", SHORT),
    ALL("NodeReport", TEXT),
    REP("NodeReport", "launched", SHORT, 65536),
    REP("NodeReport", "ended", 128 * KIB, 65536),
    REP("NodeReport", "clean", SHORT, 65536),
    REP("NodeReport", "prolog_done", SHORT, 65536),
    ALL("JobOnNode", TEXT),
    SUB("JobOnNode", "job"),
    STR("JobOnNode", "cpus_per_node", 1 * MIB),
    STR("JobOnNode", "tasks_per_node", 1 * MIB),
    PACK("JobOnNode", "gids", 65536),
    REP("JobOnNode", "gres", 32 * KIB, 256),
    ALL("LaunchBatch", SHORT),
    SUB("LaunchBatch", "job"),
    STR("LaunchBatch", "script", 4 * MIB),
    STR("LaunchBatch", "environment", 8 * MIB),
    ALL("PrepareJob", SHORT),
    SUB("PrepareJob", "job"),
    ALL("SignalSteps", TEXT),
    PACK("SignalSteps", "step_ids", 65536),
    ALL("TerminateJob", TEXT),
    SUB("TerminateJob", "job"),

    /* srun and the step daemon */
    ALL("StepCredential", PATH),
    PACK("StepCredential", "gids", 65536),
    SUB("StepCredential", "step"),
    SUB("StepCredential", "job"),
    ALL("SignedCredential", SHORT),
    STR("SignedCredential", "credential", 8 * MIB),
    ALL("LaunchStep", PATH),
    SUB("LaunchStep", "credential"),
    REP("LaunchStep", "argv", 128 * KIB, 65536),
    STR("LaunchStep", "environment", 8 * MIB),
    REP("LaunchStep", "rlimits", SHORT, 64),
    PACK("LaunchStep", "task_ids", 65536),
    STR("LaunchStep", "multi_prog", 1 * MIB),
    STR("LaunchStep", "cpu_bind", TEXT),
    ALL("StepStarted", TEXT),
    PACK("StepStarted", "task_ids", 65536),
    PACK("StepStarted", "pids", 65536),
    ALL("StepIo", SHORT),
    STR("StepIo", "data", 255 * KIB),
    ALL("StepTaskExit", SHORT),
    PACK("StepTaskExit", "task_ids", 65536),
    ALL("StepSignal", SHORT),
    ALL("StepMessage", TEXT),
    ALL("StepDone", SHORT),
};

const struct pb_caps wire_caps = {
    .rows = rows,
    .n = ARRAY_SIZE(rows),
    .default_bytes = 4 * KIB,
    .default_count = 1024,
};

const struct pb_caps wire_batch_caps = {
    .default_bytes = WHOLE,
    .default_count = JOBS,
};

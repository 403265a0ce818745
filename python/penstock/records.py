"""Records as dataclasses.  Written by tools/gen-python from the fields of libpenstock; do not edit."""

from dataclasses import dataclass
from datetime import datetime

from ._record import Record


@dataclass(frozen=True, repr=False)
class Job(Record):
    id: str | None = None
    shown_state: str | None = None
    nodelist: str | None = None
    exit_code: int | None = None
    job_id: int | None = None
    array_job_id: int | None = None
    array_task_id: int | None = None
    array_tasks: str | None = None
    uid: int | None = None
    gid: int | None = None
    user_name: str | None = None
    group_name: str | None = None
    name: str | None = None
    account: str | None = None
    qos: str | None = None
    partition: str | None = None
    wckey: str | None = None
    comment: str | None = None
    admin_comment: str | None = None
    extra: str | None = None
    reservation: str | None = None
    alloc_host: str | None = None
    alloc_sid: int | None = None
    mail_user: str | None = None
    mail_type: int | None = None
    db_id: int | None = None
    array_task_throttle: int | None = None
    sluid: str | None = None
    state: str | None = None
    state_flags: int | None = None
    reason: str | None = None
    reason_text: str | None = None
    exit_status: int | None = None
    derived_exit_status: int | None = None
    restart_count: int | None = None
    priority: int | None = None
    nice: int | None = None
    held_by_user: bool | None = None
    cancel_uid: int | None = None
    batch_failures: int | None = None
    warned: int | None = None
    submit_at: datetime | None = None
    eligible_at: datetime | None = None
    begin_at: datetime | None = None
    start_at: datetime | None = None
    end_at: datetime | None = None
    suspend_at: datetime | None = None
    suspended_at: datetime | None = None
    deadline_at: datetime | None = None
    requeue_at: datetime | None = None
    accrue_at: datetime | None = None
    min_nodes: int | None = None
    max_nodes: int | None = None
    num_tasks: int | None = None
    cpus_per_task: int | None = None
    pn_min_cpus: int | None = None
    mem_per_node_mib: int | None = None
    mem_per_cpu_mib: int | None = None
    mem_per_gpu_mib: int | None = None
    tmp_disk_mib: int | None = None
    ntasks_per_node: int | None = None
    ntasks_per_socket: int | None = None
    ntasks_per_core: int | None = None
    sockets_per_node: int | None = None
    cores_per_socket: int | None = None
    threads_per_core: int | None = None
    features: str | None = None
    prefer: str | None = None
    req_nodes: str | None = None
    exc_nodes: str | None = None
    contiguous: bool | None = None
    exclusive: int | None = None
    oversubscribe: bool | None = None
    overcommit: bool | None = None
    tres_per_node: str | None = None
    tres_per_job: str | None = None
    tres_per_socket: str | None = None
    tres_per_task: str | None = None
    cpus_per_gpu: int | None = None
    licenses: str | None = None
    time_limit_min: int | None = None
    time_unlimited: bool | None = None
    time_min_min: int | None = None
    dependency: str | None = None
    distribution: str | None = None
    requeue: bool | None = None
    reboot: bool | None = None
    no_kill: bool | None = None
    core_spec: int | None = None
    signal: str | None = None
    warn_signal: int | None = None
    warn_secs: int | None = None
    warn_batch_only: bool | None = None
    kill_on_invalid_dep: bool | None = None
    network: str | None = None
    wait_all_nodes: bool | None = None
    switches: int | None = None
    hint: str | None = None
    spread_job: bool | None = None
    use_min_nodes: bool | None = None
    min_cpus: int | None = None
    batch_features: str | None = None
    gres_flags: str | None = None
    gpu_bind: str | None = None
    gpu_freq: str | None = None
    cpu_freq: str | None = None
    profile: str | None = None
    acctg_freq: str | None = None
    oom_kill_step: int | None = None
    segment_size: int | None = None
    ntasks_per_gpu: int | None = None
    batch: bool | None = None
    script_hash: int | None = None
    env_hash: int | None = None
    argv: list[str] | None = None
    work_dir: str | None = None
    std_in: str | None = None
    std_out: str | None = None
    std_err: str | None = None
    open_mode: str | None = None
    umask: int | None = None
    export_env: str | None = None
    command: str | None = None
    submit_line: str | None = None
    container: str | None = None
    kill_on_client_loss: bool | None = None
    interactive: bool | None = None
    get_user_env: bool | None = None
    released: bool | None = None
    next_step_id: int | None = None
    batch_host: str | None = None
    batch_started: bool | None = None
    alloc_tres: str | None = None
    req_tres: str | None = None
    failed_node: str | None = None
    het_job_id: int | None = None
    het_offset: int | None = None
    het_id_set: str | None = None
    het_count: int | None = None
    prolog_pending: bool | None = None
    array_dropped: int | None = None
    least_nodes: int | None = None
    stepmgr: bool | None = None
    cron_spec: str | None = None
    expedited: bool | None = None
    spread_segments: bool | None = None
    consolidate_segments: bool | None = None
    licenses_alloc: str | None = None
    preempt_at: datetime | None = None
    preempt_kill_at: datetime | None = None
    preempt_mode: int | None = None
    preemptable_at: datetime | None = None
    node_counts: str | None = None
    layers_alloc: str | None = None
    req_reservation: str | None = None
    resv_id: int | None = None
    system_comment: str | None = None
    assoc_id: int | None = None
    qos_id: int | None = None
    wckey_id: int | None = None
    qos_req: str | None = None
    mcs_label: str | None = None
    part_qos_id: int | None = None
    limit_set: int | None = None
    billing: float | None = None
    gang: bool | None = None
    whole_nodes: bool | None = None
    mcs_select: bool | None = None
    container_id: str | None = None
    runtime: str | None = None
    spank_job_env: list[str] | None = None
    node_prologs: bool | None = None
    req_billing: int | None = None
    req_gres: str | None = None
    output_summary: bool | None = None
    def_cpus_per_gpu: int | None = None
    def_mem_per_gpu_mib: int | None = None
    max_cpus: int | None = None
    switches_wait_s: int | None = None
    delay_boot_s: int | None = None
    site_factor: int | None = None
    req_mem_mib: int | None = None
    asked_cpus_per_task: int | None = None
    spec_threads: bool | None = None
    external: bool | None = None
    started_on: str | None = None
    defaults_used: int | None = None
    cur_priority: int | None = None
    pend_reason: str | None = None
    pend_text: str | None = None
    expected_start_at: datetime | None = None
    sched_nodes: str | None = None
    last_sched_eval_at: datetime | None = None
    expected_cpus: int | None = None
    fed_viable: int | None = None
    fed_owner: int | None = None
    fed_version: int | None = None
    fed_told: str | None = None
    fed_requeue: bool | None = None
    fed_origin: str | None = None
    fed_siblings_viable: str | None = None
    fed_siblings_active: str | None = None
    cluster_features: str | None = None
    clusters: str | None = None
    x11: int | None = None
    vni: int | None = None
    hardware_failed: bool | None = None
    expedite_nodes: str | None = None
    waited_for: str | None = None
    start_priority: int | None = None
    fed_owner_name: str | None = None
    cpu_bind: str | None = None
    groups: str | None = None
    resize_at: datetime | None = None
    part_id: int | None = None
    part_sluid: str | None = None
    part_suspended_at: datetime | None = None
    keeps_nodes: bool | None = None
    mem_update_margin: int | None = None
    mem_update_delay_s: int | None = None
    mem_updated: bool | None = None
    keeper_uid: int | None = None
    task_nodes: str | None = None
    fed_started: bool | None = None
    node_range: bool | None = None
    got_preferred: bool | None = None
    power_pending: bool | None = None


@dataclass(frozen=True, repr=False)
class Node(Record):
    shown_state: str | None = None
    node_id: int | None = None
    name: str | None = None
    hostname: str | None = None
    addr: str | None = None
    port: int | None = None
    boards: int | None = None
    sockets: int | None = None
    cores_per_socket: int | None = None
    threads_per_core: int | None = None
    cpus: int | None = None
    real_memory_mib: int | None = None
    tmp_disk_mib: int | None = None
    features: str | None = None
    active_features: str | None = None
    gres: str | None = None
    weight: int | None = None
    core_spec: int | None = None
    mem_spec_mib: int | None = None
    cpu_spec_list: str | None = None
    comment: str | None = None
    extra: str | None = None
    state: str | None = None
    state_flags: int | None = None
    reason: str | None = None
    reason_uid: int | None = None
    reason_at: datetime | None = None
    boot_at: datetime | None = None
    slurmd_start_at: datetime | None = None
    last_busy_at: datetime | None = None
    registered_at: datetime | None = None
    arch: str | None = None
    os: str | None = None
    version: str | None = None
    boot_id: str | None = None
    instance_id: str | None = None
    gres_devices: str | None = None
    resume_after_s: int | None = None
    reg_addr: str | None = None
    next_state: str | None = None
    reboot_at: datetime | None = None
    reboot_asap: bool | None = None
    instance_type: str | None = None
    cpu_bind: str | None = None
    resume_after_at: datetime | None = None
    restricted_cores_per_gpu: int | None = None
    topology: str | None = None
    topology_config: str | None = None
    gres_problem: str | None = None
    gres_shown: str | None = None
    node_line: str | None = None
    node_key: str | None = None
    cpu_bind_config: str | None = None
    alloc_cpus: int | None = None
    alloc_mem_mib: int | None = None
    alloc_gres: str | None = None
    cpu_load_centi: int | None = None
    free_mem_mib: int | None = None
    last_response_at: datetime | None = None
    jobs_running: int | None = None
    jobs_completing: int | None = None
    mcs_label: str | None = None
    owner_uid: int | None = None
    reservation: str | None = None
    launch_keys: bool | None = None
    cert_token: str | None = None
    changeable_features: str | None = None
    boot_features: str | None = None
    topology_said: str | None = None
    power_action: str | None = None
    power_at: datetime | None = None
    power_until_at: datetime | None = None
    power_done: bool | None = None
    power_asap: bool | None = None
    suspend_time_s: int | None = None
    suspend_never: bool | None = None


@dataclass(frozen=True, repr=False)
class Partition(Record):
    name: str | None = None
    nodes: str | None = None
    is_default: bool | None = None
    state: str | None = None
    max_time_min: int | None = None
    default_time_min: int | None = None
    max_nodes: int | None = None
    min_nodes: int | None = None
    max_cpus_per_node: int | None = None
    def_mem_per_cpu_mib: int | None = None
    def_mem_per_node_mib: int | None = None
    max_mem_per_cpu_mib: int | None = None
    max_mem_per_node_mib: int | None = None
    allow_groups: str | None = None
    allow_accounts: str | None = None
    allow_qos: str | None = None
    deny_accounts: str | None = None
    deny_qos: str | None = None
    alloc_nodes: str | None = None
    alternate: str | None = None
    oversubscribe: str | None = None
    exclusive: str | None = None
    priority_tier: int | None = None
    priority_job_factor: int | None = None
    preempt_mode: str | None = None
    grace_time_s: int | None = None
    qos: str | None = None
    hidden: bool | None = None
    root_only: bool | None = None
    req_resv: bool | None = None
    lln: bool | None = None
    disable_root_jobs: bool | None = None
    power_down_on_idle: bool | None = None
    over_time_limit_min: int | None = None
    select_type_parameters: str | None = None
    tres_billing_weights: str | None = None
    job_defaults: str | None = None
    nodes_config: str | None = None
    max_cpus_per_socket: int | None = None
    cpu_bind: str | None = None
    over_time_unlimited: bool | None = None
    node_sets: str | None = None
    topology: str | None = None
    total_nodes: int | None = None
    total_cpus: int | None = None
    preempt_mode_of_cluster: bool | None = None
    suspend_time_s: int | None = None
    suspend_never: bool | None = None
    suspend_timeout_s: int | None = None
    resume_timeout_s: int | None = None


Job.FIELDS = {
    "id": ("id", "text"),
    "shown_state": ("shown_state", "text"),
    "nodelist": ("nodelist", "text"),
    "exit_code": ("exit_code", "number"),
    "job_id": ("job_id", "number"),
    "array_job_id": ("array_job_id", "number"),
    "array_task_id": ("array_task_id", "number"),
    "array_tasks": ("array_tasks", "text"),
    "uid": ("uid", "number"),
    "gid": ("gid", "number"),
    "user_name": ("user_name", "text"),
    "group_name": ("group_name", "text"),
    "name": ("name", "text"),
    "account": ("account", "text"),
    "qos": ("qos", "text"),
    "partition": ("partition", "text"),
    "wckey": ("wckey", "text"),
    "comment": ("comment", "text"),
    "admin_comment": ("admin_comment", "text"),
    "extra": ("extra", "text"),
    "reservation": ("reservation", "text"),
    "alloc_host": ("alloc_host", "text"),
    "alloc_sid": ("alloc_sid", "number"),
    "mail_user": ("mail_user", "text"),
    "mail_type": ("mail_type", "number"),
    "db_id": ("db_id", "number"),
    "array_task_throttle": ("array_task_throttle", "number"),
    "sluid": ("sluid", "text"),
    "state": ("state", "text"),
    "state_flags": ("state_flags", "number"),
    "reason": ("reason", "text"),
    "reason_text": ("reason_text", "text"),
    "exit_status": ("exit_status", "number"),
    "derived_exit_status": ("derived_exit_status", "number"),
    "restart_count": ("restart_count", "number"),
    "priority": ("priority", "number"),
    "nice": ("nice", "number"),
    "held_by_user": ("held_by_user", "bool"),
    "cancel_uid": ("cancel_uid", "number"),
    "batch_failures": ("batch_failures", "number"),
    "warned": ("warned", "number"),
    "submit_at": ("submit_us", "time"),
    "eligible_at": ("eligible_us", "time"),
    "begin_at": ("begin_us", "time"),
    "start_at": ("start_us", "time"),
    "end_at": ("end_us", "time"),
    "suspend_at": ("suspend_us", "time"),
    "suspended_at": ("suspended_us", "time"),
    "deadline_at": ("deadline_us", "time"),
    "requeue_at": ("requeue_us", "time"),
    "accrue_at": ("accrue_us", "time"),
    "min_nodes": ("min_nodes", "number"),
    "max_nodes": ("max_nodes", "number"),
    "num_tasks": ("num_tasks", "number"),
    "cpus_per_task": ("cpus_per_task", "number"),
    "pn_min_cpus": ("pn_min_cpus", "number"),
    "mem_per_node_mib": ("mem_per_node_mib", "number"),
    "mem_per_cpu_mib": ("mem_per_cpu_mib", "number"),
    "mem_per_gpu_mib": ("mem_per_gpu_mib", "number"),
    "tmp_disk_mib": ("tmp_disk_mib", "number"),
    "ntasks_per_node": ("ntasks_per_node", "number"),
    "ntasks_per_socket": ("ntasks_per_socket", "number"),
    "ntasks_per_core": ("ntasks_per_core", "number"),
    "sockets_per_node": ("sockets_per_node", "number"),
    "cores_per_socket": ("cores_per_socket", "number"),
    "threads_per_core": ("threads_per_core", "number"),
    "features": ("features", "text"),
    "prefer": ("prefer", "text"),
    "req_nodes": ("req_nodes", "text"),
    "exc_nodes": ("exc_nodes", "text"),
    "contiguous": ("contiguous", "bool"),
    "exclusive": ("exclusive", "number"),
    "oversubscribe": ("oversubscribe", "bool"),
    "overcommit": ("overcommit", "bool"),
    "tres_per_node": ("tres_per_node", "text"),
    "tres_per_job": ("tres_per_job", "text"),
    "tres_per_socket": ("tres_per_socket", "text"),
    "tres_per_task": ("tres_per_task", "text"),
    "cpus_per_gpu": ("cpus_per_gpu", "number"),
    "licenses": ("licenses", "text"),
    "time_limit_min": ("time_limit_min", "number"),
    "time_unlimited": ("time_unlimited", "bool"),
    "time_min_min": ("time_min_min", "number"),
    "dependency": ("dependency", "text"),
    "distribution": ("distribution", "text"),
    "requeue": ("requeue", "bool"),
    "reboot": ("reboot", "bool"),
    "no_kill": ("no_kill", "bool"),
    "core_spec": ("core_spec", "number"),
    "signal": ("signal", "text"),
    "warn_signal": ("warn_signal", "number"),
    "warn_secs": ("warn_secs", "number"),
    "warn_batch_only": ("warn_batch_only", "bool"),
    "kill_on_invalid_dep": ("kill_on_invalid_dep", "bool"),
    "network": ("network", "text"),
    "wait_all_nodes": ("wait_all_nodes", "bool"),
    "switches": ("switches", "number"),
    "hint": ("hint", "text"),
    "spread_job": ("spread_job", "bool"),
    "use_min_nodes": ("use_min_nodes", "bool"),
    "min_cpus": ("min_cpus", "number"),
    "batch_features": ("batch_features", "text"),
    "gres_flags": ("gres_flags", "text"),
    "gpu_bind": ("gpu_bind", "text"),
    "gpu_freq": ("gpu_freq", "text"),
    "cpu_freq": ("cpu_freq", "text"),
    "profile": ("profile", "text"),
    "acctg_freq": ("acctg_freq", "text"),
    "oom_kill_step": ("oom_kill_step", "number"),
    "segment_size": ("segment_size", "number"),
    "ntasks_per_gpu": ("ntasks_per_gpu", "number"),
    "batch": ("batch", "bool"),
    "script_hash": ("script_hash", "number"),
    "env_hash": ("env_hash", "number"),
    "argv": ("argv", "list"),
    "work_dir": ("work_dir", "text"),
    "std_in": ("std_in", "text"),
    "std_out": ("std_out", "text"),
    "std_err": ("std_err", "text"),
    "open_mode": ("open_mode", "text"),
    "umask": ("umask", "number"),
    "export_env": ("export_env", "text"),
    "command": ("command", "text"),
    "submit_line": ("submit_line", "text"),
    "container": ("container", "text"),
    "kill_on_client_loss": ("kill_on_client_loss", "bool"),
    "interactive": ("interactive", "bool"),
    "get_user_env": ("get_user_env", "bool"),
    "released": ("released", "bool"),
    "next_step_id": ("next_step_id", "number"),
    "batch_host": ("batch_host", "text"),
    "batch_started": ("batch_started", "bool"),
    "alloc_tres": ("alloc_tres", "text"),
    "req_tres": ("req_tres", "text"),
    "failed_node": ("failed_node", "text"),
    "het_job_id": ("het_job_id", "number"),
    "het_offset": ("het_offset", "number"),
    "het_id_set": ("het_id_set", "text"),
    "het_count": ("het_count", "number"),
    "prolog_pending": ("prolog_pending", "bool"),
    "array_dropped": ("array_dropped", "number"),
    "least_nodes": ("least_nodes", "number"),
    "stepmgr": ("stepmgr", "bool"),
    "cron_spec": ("cron_spec", "text"),
    "expedited": ("expedited", "bool"),
    "spread_segments": ("spread_segments", "bool"),
    "consolidate_segments": ("consolidate_segments", "bool"),
    "licenses_alloc": ("licenses_alloc", "text"),
    "preempt_at": ("preempt_us", "time"),
    "preempt_kill_at": ("preempt_kill_us", "time"),
    "preempt_mode": ("preempt_mode", "number"),
    "preemptable_at": ("preemptable_us", "time"),
    "node_counts": ("node_counts", "text"),
    "layers_alloc": ("layers_alloc", "text"),
    "req_reservation": ("req_reservation", "text"),
    "resv_id": ("resv_id", "number"),
    "system_comment": ("system_comment", "text"),
    "assoc_id": ("assoc_id", "number"),
    "qos_id": ("qos_id", "number"),
    "wckey_id": ("wckey_id", "number"),
    "qos_req": ("qos_req", "text"),
    "mcs_label": ("mcs_label", "text"),
    "part_qos_id": ("part_qos_id", "number"),
    "limit_set": ("limit_set", "number"),
    "billing": ("billing", "real"),
    "gang": ("gang", "bool"),
    "whole_nodes": ("whole_nodes", "bool"),
    "mcs_select": ("mcs_select", "bool"),
    "container_id": ("container_id", "text"),
    "runtime": ("runtime", "text"),
    "spank_job_env": ("spank_job_env", "list"),
    "node_prologs": ("node_prologs", "bool"),
    "req_billing": ("req_billing", "number"),
    "req_gres": ("req_gres", "text"),
    "output_summary": ("output_summary", "bool"),
    "def_cpus_per_gpu": ("def_cpus_per_gpu", "number"),
    "def_mem_per_gpu_mib": ("def_mem_per_gpu_mib", "number"),
    "max_cpus": ("max_cpus", "number"),
    "switches_wait_s": ("switches_wait_s", "number"),
    "delay_boot_s": ("delay_boot_s", "number"),
    "site_factor": ("site_factor", "number"),
    "req_mem_mib": ("req_mem_mib", "number"),
    "asked_cpus_per_task": ("asked_cpus_per_task", "number"),
    "spec_threads": ("spec_threads", "bool"),
    "external": ("external", "bool"),
    "started_on": ("started_on", "text"),
    "defaults_used": ("defaults_used", "number"),
    "cur_priority": ("cur_priority", "number"),
    "pend_reason": ("pend_reason", "text"),
    "pend_text": ("pend_text", "text"),
    "expected_start_at": ("expected_start_us", "time"),
    "sched_nodes": ("sched_nodes", "text"),
    "last_sched_eval_at": ("last_sched_eval_us", "time"),
    "expected_cpus": ("expected_cpus", "number"),
    "fed_viable": ("fed_viable", "number"),
    "fed_owner": ("fed_owner", "number"),
    "fed_version": ("fed_version", "number"),
    "fed_told": ("fed_told", "text"),
    "fed_requeue": ("fed_requeue", "bool"),
    "fed_origin": ("fed_origin", "text"),
    "fed_siblings_viable": ("fed_siblings_viable", "text"),
    "fed_siblings_active": ("fed_siblings_active", "text"),
    "cluster_features": ("cluster_features", "text"),
    "clusters": ("clusters", "text"),
    "x11": ("x11", "number"),
    "vni": ("vni", "number"),
    "hardware_failed": ("hardware_failed", "bool"),
    "expedite_nodes": ("expedite_nodes", "text"),
    "waited_for": ("waited_for", "text"),
    "start_priority": ("start_priority", "number"),
    "fed_owner_name": ("fed_owner_name", "text"),
    "cpu_bind": ("cpu_bind", "text"),
    "groups": ("groups", "text"),
    "resize_at": ("resize_us", "time"),
    "part_id": ("part_id", "number"),
    "part_sluid": ("part_sluid", "text"),
    "part_suspended_at": ("part_suspended_us", "time"),
    "keeps_nodes": ("keeps_nodes", "bool"),
    "mem_update_margin": ("mem_update_margin", "number"),
    "mem_update_delay_s": ("mem_update_delay_s", "number"),
    "mem_updated": ("mem_updated", "bool"),
    "keeper_uid": ("keeper_uid", "number"),
    "task_nodes": ("task_nodes", "text"),
    "fed_started": ("fed_started", "bool"),
    "node_range": ("node_range", "bool"),
    "got_preferred": ("got_preferred", "bool"),
    "power_pending": ("power_pending", "bool"),
}


Node.FIELDS = {
    "shown_state": ("shown_state", "text"),
    "node_id": ("node_id", "number"),
    "name": ("name", "text"),
    "hostname": ("hostname", "text"),
    "addr": ("addr", "text"),
    "port": ("port", "number"),
    "boards": ("boards", "number"),
    "sockets": ("sockets", "number"),
    "cores_per_socket": ("cores_per_socket", "number"),
    "threads_per_core": ("threads_per_core", "number"),
    "cpus": ("cpus", "number"),
    "real_memory_mib": ("real_memory_mib", "number"),
    "tmp_disk_mib": ("tmp_disk_mib", "number"),
    "features": ("features", "text"),
    "active_features": ("active_features", "text"),
    "gres": ("gres", "text"),
    "weight": ("weight", "number"),
    "core_spec": ("core_spec", "number"),
    "mem_spec_mib": ("mem_spec_mib", "number"),
    "cpu_spec_list": ("cpu_spec_list", "text"),
    "comment": ("comment", "text"),
    "extra": ("extra", "text"),
    "state": ("state", "text"),
    "state_flags": ("state_flags", "number"),
    "reason": ("reason", "text"),
    "reason_uid": ("reason_uid", "number"),
    "reason_at": ("reason_us", "time"),
    "boot_at": ("boot_us", "time"),
    "slurmd_start_at": ("slurmd_start_us", "time"),
    "last_busy_at": ("last_busy_us", "time"),
    "registered_at": ("registered_us", "time"),
    "arch": ("arch", "text"),
    "os": ("os", "text"),
    "version": ("version", "text"),
    "boot_id": ("boot_id", "text"),
    "instance_id": ("instance_id", "text"),
    "gres_devices": ("gres_devices", "text"),
    "resume_after_s": ("resume_after_s", "number"),
    "reg_addr": ("reg_addr", "text"),
    "next_state": ("next_state", "text"),
    "reboot_at": ("reboot_us", "time"),
    "reboot_asap": ("reboot_asap", "bool"),
    "instance_type": ("instance_type", "text"),
    "cpu_bind": ("cpu_bind", "text"),
    "resume_after_at": ("resume_after_us", "time"),
    "restricted_cores_per_gpu": ("restricted_cores_per_gpu", "number"),
    "topology": ("topology", "text"),
    "topology_config": ("topology_config", "text"),
    "gres_problem": ("gres_problem", "text"),
    "gres_shown": ("gres_shown", "text"),
    "node_line": ("node_line", "text"),
    "node_key": ("node_key", "text"),
    "cpu_bind_config": ("cpu_bind_config", "text"),
    "alloc_cpus": ("alloc_cpus", "number"),
    "alloc_mem_mib": ("alloc_mem_mib", "number"),
    "alloc_gres": ("alloc_gres", "text"),
    "cpu_load_centi": ("cpu_load_centi", "number"),
    "free_mem_mib": ("free_mem_mib", "number"),
    "last_response_at": ("last_response_us", "time"),
    "jobs_running": ("jobs_running", "number"),
    "jobs_completing": ("jobs_completing", "number"),
    "mcs_label": ("mcs_label", "text"),
    "owner_uid": ("owner_uid", "number"),
    "reservation": ("reservation", "text"),
    "launch_keys": ("launch_keys", "bool"),
    "cert_token": ("cert_token", "text"),
    "changeable_features": ("changeable_features", "text"),
    "boot_features": ("boot_features", "text"),
    "topology_said": ("topology_said", "text"),
    "power_action": ("power_action", "text"),
    "power_at": ("power_us", "time"),
    "power_until_at": ("power_until_us", "time"),
    "power_done": ("power_done", "bool"),
    "power_asap": ("power_asap", "bool"),
    "suspend_time_s": ("suspend_time_s", "number"),
    "suspend_never": ("suspend_never", "bool"),
}


Partition.FIELDS = {
    "name": ("name", "text"),
    "nodes": ("nodes", "text"),
    "is_default": ("is_default", "bool"),
    "state": ("state", "text"),
    "max_time_min": ("max_time_min", "number"),
    "default_time_min": ("default_time_min", "number"),
    "max_nodes": ("max_nodes", "number"),
    "min_nodes": ("min_nodes", "number"),
    "max_cpus_per_node": ("max_cpus_per_node", "number"),
    "def_mem_per_cpu_mib": ("def_mem_per_cpu_mib", "number"),
    "def_mem_per_node_mib": ("def_mem_per_node_mib", "number"),
    "max_mem_per_cpu_mib": ("max_mem_per_cpu_mib", "number"),
    "max_mem_per_node_mib": ("max_mem_per_node_mib", "number"),
    "allow_groups": ("allow_groups", "text"),
    "allow_accounts": ("allow_accounts", "text"),
    "allow_qos": ("allow_qos", "text"),
    "deny_accounts": ("deny_accounts", "text"),
    "deny_qos": ("deny_qos", "text"),
    "alloc_nodes": ("alloc_nodes", "text"),
    "alternate": ("alternate", "text"),
    "oversubscribe": ("oversubscribe", "text"),
    "exclusive": ("exclusive", "text"),
    "priority_tier": ("priority_tier", "number"),
    "priority_job_factor": ("priority_job_factor", "number"),
    "preempt_mode": ("preempt_mode", "text"),
    "grace_time_s": ("grace_time_s", "number"),
    "qos": ("qos", "text"),
    "hidden": ("hidden", "bool"),
    "root_only": ("root_only", "bool"),
    "req_resv": ("req_resv", "bool"),
    "lln": ("lln", "bool"),
    "disable_root_jobs": ("disable_root_jobs", "bool"),
    "power_down_on_idle": ("power_down_on_idle", "bool"),
    "over_time_limit_min": ("over_time_limit_min", "number"),
    "select_type_parameters": ("select_type_parameters", "text"),
    "tres_billing_weights": ("tres_billing_weights", "text"),
    "job_defaults": ("job_defaults", "text"),
    "nodes_config": ("nodes_config", "text"),
    "max_cpus_per_socket": ("max_cpus_per_socket", "number"),
    "cpu_bind": ("cpu_bind", "text"),
    "over_time_unlimited": ("over_time_unlimited", "bool"),
    "node_sets": ("node_sets", "text"),
    "topology": ("topology", "text"),
    "total_nodes": ("total_nodes", "number"),
    "total_cpus": ("total_cpus", "number"),
    "preempt_mode_of_cluster": ("preempt_mode_of_cluster", "bool"),
    "suspend_time_s": ("suspend_time_s", "number"),
    "suspend_never": ("suspend_never", "bool"),
    "suspend_timeout_s": ("suspend_timeout_s", "number"),
    "resume_timeout_s": ("resume_timeout_s", "number"),
}

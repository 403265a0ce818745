#!/usr/bin/python3
"""Keys and option words of the configuration that are marked as acted upon are named by a source that acts.

usage: tests/check_conf.py BUILD

A key marked ACTS in src/conf/conf_keys.def is named by its enumerator (CONF_MAX_JOB_COUNT) in a source outside src/conf;
or src/conf hands its value out in a function or in a member of a struct, and a source of a daemon uses that name, other than to
copy or to show it: the table HANDED_OUT names these.  A word marked ACTS in src/conf/conf_options.def stands in quotes in a
source outside the tables, or in NOT_QUOTED with the reason why no source needs to name the word; a word of DebugFlags is a
row of src/base/logflags.def, and a source logs its subject."""

import re
from pathlib import Path

from tap import Tap

SRC = Path(__file__).resolve().parent.parent / "src"
PREFIX = {"": "CONF_", "NODE_": "NK_", "PART_": "PK_", "NODESET_": "SK_", "DOWN_": "DK_", "POWER_": "WK_", "GRES_": "GK_",
          "CGROUP_": "CK_", "GATHER_": "GAK_", "HELPER_": "HK_", "NAMESPACE_": "XK_", "OCI_": "OK_", "TOPO_": "TK_", "DBD_": "CONF_DBD_"}

# Table and key: the name that src/conf gives to the value.
HANDED_OUT = {
    "": {
        "AUTH_ALT_TYPES": "conf_use_jwt", "JOB_CONTAINER_TYPE": "conf_namespace", "NAMESPACE_TYPE": "conf_namespace",
        "MCS_PARAMETERS": "conf_mcs", "NODE_FEATURES_PLUGINS": "conf_helpers_on", "MCS_PLUGIN": "conf_mcs", "SLURMCTLD_ADDR": "conf_ctld_host",
        "SLURMCTLD_HOST": "conf_ctld_host", "SLURMCTLD_PORT": "conf_ctld_port", "SLURMD_PORT": "port",
        "TOPOLOGY_PLUGIN": "conf_topos_load", "SLURMD_USER": "conf_slurmd_uid",
        "MAX_DBD_MSGS": "conf_max_dbd_msgs",
        "TLS_PARAMETERS": "conf_tls", "CERTMGR_PARAMETERS": "conf_certmgr_script", "CERTMGR_TYPE": "conf_use_certmgr",
        "DISABLE_ROOT_JOBS": "disable_root_jobs", "ACCT_GATHER_PROFILE_TYPE": "conf_gather_usual",
    },
    "NODE_": {
        "BCAST_ADDR": "bcast_addr",
        "CPU_BIND": "cpu_bind",
        "BOARDS": "boards", "CORE_SPEC_COUNT": "core_spec", "CORES_PER_SOCKET": "cores_per_socket", "CPUS": "cpus",
        "CPU_SPEC_LIST": "cpu_spec_list", "FEATURE": "features", "FEATURES": "features", "GRES": "gres",
        "MEM_SPEC_LIMIT": "mem_spec_mib", "NODE_ADDR": "addr", "NODE_HOSTNAME": "hostname", "NODE_NAME": "name",
        "PARAMETERS": "parameters", "PORT": "port", "PROCS": "cpus", "REAL_MEMORY": "real_memory_mib", "REASON": "reason",
        "RESTRICTED_CORES_PER_GPU": "restricted_cores_per_gpu", "SOCKETS": "sockets", "SOCKETS_PER_BOARD": "sockets",
        "STATE": "state", "SUSPEND_TIME": "suspend_time_s", "THREADS_PER_CORE": "threads_per_core", "TMP_DISK": "tmp_disk_mib",
        "TOPOLOGY": "topology", "WEIGHT": "weight",
    },
    "PART_": {
        "DEF_CPU_PER_GPU": "job_defaults", "DEF_MEM_PER_GPU": "job_defaults",
        "ALLOC_NODES": "alloc_nodes", "ALLOW_ACCOUNTS": "allow_accounts",
        "CPU_BIND": "cpu_bind", "ALLOW_GROUPS": "allow_groups", "ALTERNATE": "alternate",
        "ALLOW_QOS": "allow_qos", "DEFAULT": "is_default", "DEFAULT_TIME": "default_time_min",
        "DEF_CPU_PER_GPU": "job_defaults", "DEF_MEM_PER_CPU": "def_mem_per_cpu_mib", "DEF_MEM_PER_GPU": "job_defaults",
        "DEF_MEM_PER_NODE": "def_mem_per_node_mib", "DENY_ACCOUNTS": "deny_accounts", "DENY_QOS": "deny_qos",
        "DISABLE_ROOT_JOBS": "disable_root_jobs", "EXCLUSIVE": "exclusive", "EXCLUSIVE_TOPO": "exclusive",
        "EXCLUSIVE_USER": "exclusive", "GRACE_TIME": "grace_time_s", "HIDDEN": "hidden", "LLN": "lln",
        "MAX_CPUS_PER_NODE": "max_cpus_per_node", "MAX_CPUS_PER_SOCKET": "max_cpus_per_socket",
        "MAX_MEM_PER_CPU": "max_mem_per_cpu_mib", "MAX_MEM_PER_NODE": "max_mem_per_node_mib", "MAX_NODES": "max_nodes",
        "MAX_TIME": "max_time_min", "MIN_NODES": "min_nodes", "NODES": "nodes", "OVER_SUBSCRIBE": "oversubscribe",
        "OVER_TIME_LIMIT": "over_time_limit_min", "PARTITION_NAME": "name", "POWER_DOWN_ON_IDLE": "power_down_on_idle",
        "RESUME_TIMEOUT": "resume_timeout_s", "SUSPEND_TIME": "suspend_time_s", "SUSPEND_TIMEOUT": "suspend_timeout_s",
        "PREEMPT_MODE": "preempt_mode", "PRIORITY": "priority_job_factor", "PRIORITY_JOB_FACTOR": "priority_job_factor",
        "PRIORITY_TIER": "priority_tier", "QOS": "qos", "REQ_RESV": "req_resv", "ROOT_ONLY": "root_only",
        "SELECT_TYPE_PARAMETERS": "select_type_parameters", "SHARED": "oversubscribe", "STATE": "state",
        "TOPOLOGY": "topology", "TRES_BILLING_WEIGHTS": "tres_billing_weights",
    },
    # The lists of nodes of partitions and DownNodes lines, in which the names of node sets are resolved.
    "NODESET_": {"FEATURE": "nodes", "NODES": "nodes", "NODE_SET": "nodes"},
    "DOWN_": {"DOWN_NODES": "state", "REASON": "reason", "STATE": "state"},
    "POWER_": {"LOCATION": "at_node", "POWER_ACTION": "conf_power_program", "PROGRAM": "conf_power_program"},
    "GRES_": {
        "AUTO_DETECT": "autodetect", "CORES": "cores", "COUNT": "count", "CPUS": "cores", "FILE": "file", "FLAGS": "flags",
        "LINKS": "links", "MULTIPLE_FILES": "file", "NAME": "name", "NODE_NAME": "node_names", "TYPE": "type",
    },
    "CGROUP_": {
        "ALLOWED_RAM_SPACE": "allowed_ram_pct", "ALLOWED_SWAP_SPACE": "allowed_swap_pct", "CGROUP_JOB_ID_PATHS": "job_id_paths",
        "CGROUP_MOUNTPOINT": "mountpoint", "CGROUP_PLUGIN": "plugin", "CGROUP_SLICE": "slice", "CONSTRAIN_CORES": "constrain_cores",
        "CONSTRAIN_DEVICES": "constrain_devices", "CONSTRAIN_RAM_SPACE": "constrain_ram", "CONSTRAIN_SWAP_SPACE": "constrain_swap",
        "ENABLE_EXTRA_CONTROLLERS": "extra_controllers", "MAX_RAM_PERCENT": "max_ram_pct", "MAX_SWAP_PERCENT": "max_swap_pct",
        "MEMORY_SWAPPINESS": "swappiness", "MIN_RAM_SPACE": "min_ram_mib", "SIGNAL_CHILDREN_PROCESSES": "signal_children",
    },
    "GATHER_": {
        "PROFILE_HDF5_DEFAULT": "conf_gather_usual", "PROFILE_HDF5_DIR": "conf_gather_hdf5",
        "PROFILE_INFLUXDB_DATABASE": "database", "PROFILE_INFLUXDB_DEFAULT": "conf_gather_usual", "PROFILE_INFLUXDB_FREQUENCY": "every_s",
        "PROFILE_INFLUXDB_HOST": "host", "PROFILE_INFLUXDB_PASS": "pass", "PROFILE_INFLUXDB_RTPOLICY": "policy",
        "PROFILE_INFLUXDB_TIMEOUT": "timeout_s", "PROFILE_INFLUXDB_USER": "user", "SYSFS_INTERFACES": "conf_gather_interfaces",
    },
    "HELPER_": {
        "ALLOW_USER_BOOT": "conf_helpers_users", "BOOT_TIME": "conf_helpers_boot_s", "EXEC_TIME": "conf_helpers_exec_s",
        "FEATURE": "features", "HELPER": "conf_helper", "MUTUALLY_EXCLUSIVE": "conf_features_exclude", "NODE_NAME": "conf_helper",
    },
    "NAMESPACE_": {
        "AUTO_BASE_PATH": "auto_base_path", "BASE_PATH": "base_path", "CLONE_NS_EPILOG": "clone_epilog",
        "CLONE_NS_EPILOG_WAIT": "clone_epilog_wait_s", "CLONE_NS_SCRIPT": "clone_script",
        "CLONE_NS_SCRIPT_WAIT": "clone_script_wait_s", "DIRS": "dirs",
        "INIT_SCRIPT": "init_script", "NODE_NAME": "conf_namespace", "SHARED": "shared",
    },
    "OCI_": {
        "CONTAINER_PATH": "container_path", "CREATE_ENV_FILE": "env_file", "DISABLE_CLEANUP": "disable_cleanup",
        "DISABLE_HOOKS": "disable_hooks", "ENV_EXCLUDE": "env_exclude", "IGNORE_FILE_CONFIG_JSON": "ignore_config_json",
        "MOUNT_SPOOL_DIR": "mount_spool_dir", "RUN_TIME_CREATE": "create", "RUN_TIME_DELETE": "del",
        "RUN_TIME_ENV_EXCLUDE": "runtime_env_exclude", "RUN_TIME_KILL": "kill", "RUN_TIME_QUERY": "query",
        "RUN_TIME_RUN": "run", "RUN_TIME_START": "start",
    },
    "TOPO_": {
        "BLOCK_NAME": "units", "BLOCK_SIZES": "block_sizes", "LINK_SPEED": "link_speed", "NODES": "nodes", "RING_NAME": "units",
        "SWITCHES": "children", "SWITCH_NAME": "units",
    },
    "DBD_": {
        "AUTH_ALT_PARAMETERS": "conf_dbd_tokens", "AUTH_ALT_TYPES": "conf_dbd_use_jwt", "AUTH_INFO": "conf_dbd_key_file",
        "AUTH_TYPE": "conf_dbd_use_munge", "SLURM_USER": "conf_dbd_slurm_uid", "MAX_QUERY_TIME_RANGE": "conf_dbd_max_range_s",
        "TLS_PARAMETERS": "conf_dbd_tls", "TLS_TYPE": "conf_dbd_tls",
    },
}

SHOWING = ("cli", "penstock")  # commands show values; these folders act on none that slurm.conf gives to nodes and partitions
COPYING = ("reconfig.c", "records.c")  # from the configuration to the model; from the model to the scheduler's feed

PLAIN = "what is done when the key names no other word"
NUMBER = "a level as a number: log_level_parse() reads it"
LIBRARY = "the name of the one library that there is, and what people have in their files for it"
WHOLE = "a source looks for a part of the word, or uses the word as it stands"
# Words that are asked for, and change no more than what is shown.
SHOWN_ALONE = {
    ("SLURMCTLD_PARAMETERS", "enable_stepmgr"): "jobs show it; steps are made by slurmctld all the same",
}

NOT_QUOTED = {
    **{(key, word): PLAIN for key, word in (
        ("AUTH_TYPE", "auth/slurm"), ("DEF_RUNTIME_PLUGIN", "runtime/oci"), ("JOB_ACCT_GATHER_TYPE", "jobacct_gather/linux"),
        ("JOB_CONTAINER_TYPE", "job_container/none"), ("NAMESPACE_TYPE", "namespace/none"), ("PRIORITY_TYPE", "priority/basic"),
        ("PROCTRACK_TYPE", "proctrack/linuxproc"), ("PROCTRACK_TYPE", "proctrack/pgid"), ("SCHEDULER_TYPE", "sched/backfill"),
        ("TASK_PLUGIN", "task/none"),
        ("DBD_STORAGE_TYPE", "accounting_storage/sqlite"))},
    **{(f"{daemon}_{kind}", level): NUMBER for daemon in ("SLURMCTLD", "SLURMD") for kind in ("DEBUG", "SYSLOG_DEBUG")
       for level in "589"},
    **{(key, word): LIBRARY for key, word in (
        ("TLS_TYPE", "tls/openssl"), ("TLS_TYPE", "tls/s2n"), ("DBD_TLS_TYPE", "tls/openssl"), ("DBD_TLS_TYPE", "tls/s2n"))},
    **{("SELECT_TYPE_PARAMETERS", word): WHOLE for word in
       ("CR_CPU_Memory", "CR_Memory")},
    **{("OCI_DISABLE_HOOKS", word): WHOLE for word in
       ("createContainer", "createRuntime", "poststart", "poststop", "prestart", "startContainer")},
}


def rows(text, macro):
    """(table, symbol, name, flags) of the rows of a table."""
    for m in re.finditer(rf'^((?:[A-Z]+_)?){macro}\((\w+), "([^"]+)",(.*?)(?=^(?:[A-Z]+_)?{macro}\(|\Z)', text, re.M | re.S):
        yield m.group(1), m.group(2), m.group(3), re.search(r",\s+((?:ACTS|KNOWN)[A-Z| ]*)[,)]", m.group(4)).group(1)


def main():
    tap = Tap()
    inside = outside = daemons = ""
    for path in sorted(SRC.rglob("*.[ch]")):
        if SRC / "conf" not in path.parents:
            outside += path.read_text()
            if path.suffix == ".c" and path.relative_to(SRC).parts[0] not in SHOWING and path.name not in COPYING:
                daemons += path.read_text()
        elif not path.name.startswith("conf_keys"):
            inside += path.read_text()

    # Each source is read once, not once for each of a thousand rows.
    names, daemons_names = (set(re.findall(r"\w+", text)) for text in (outside, daemons))
    everywhere = set(re.findall(r'"(?=([^"=\n]+)["=])', (inside + outside).lower()))
    asked_for = set(re.findall(r'\bconf_option\w*\([^"()]*\bCONF_(\w+),\s*"([^"=\n]+)["=]', outside))

    wrong = []
    for table, symbol, name, flags in rows((SRC / "conf/conf_keys.def").read_text(), "KEY"):
        enumerator, handed = PREFIX[table] + symbol, HANDED_OUT.get(table, {}).pop(symbol, None)
        if "ACTS" not in flags:
            wrong += [f"{table}{symbol}: HANDED_OUT names a key that does not act"] if handed else []
        elif enumerator in names:
            wrong += [f"{table}{symbol}: HANDED_OUT need not name it: {enumerator} is used outside src/conf"] if handed else []
        elif not handed:
            wrong.append(f"{name}: marked ACTS, but no source outside src/conf names {enumerator}")
        elif handed not in (daemons_names if not handed.startswith("conf_") else names):
            wrong.append(f"{name}: handed out as {handed}, which no source of a daemon uses")
    wrong += [f"HANDED_OUT: there is no key {table}{symbol}" for table, keys in HANDED_OUT.items() for symbol in keys]
    tap.check("keys marked as acted upon are acted upon", wrong)

    subjects = {word: name for name, word in re.findall(r'LOG_FLAG\((\w+), "(\w+)"\)', (SRC / "base/logflags.def").read_text())}
    logged = set(re.findall(r"\bLOG_SUBJECT_(\w+)", outside)) | set(re.findall(r"\blog_flag\((\w+),", outside))
    wrong, left = [], dict(NOT_QUOTED)
    for table, symbol, word, flags in rows((SRC / "conf/conf_options.def").read_text(), "OPTION"):
        quoted = word.lower() in everywhere
        if symbol == "DEBUG_FLAGS" and not table:
            quoted = subjects.get(word) in logged
            if (flags == "ACTS") != (word in subjects):
                wrong.append(f"{symbol}={word}: marked {flags}, which src/base/logflags.def contradicts")
        reason = left.pop((table + symbol, word), None)
        if flags == "ACTS" and not quoted and not reason:
            wrong.append(f"{symbol}={word}: marked ACTS, but no source names the word")
        elif reason and (flags != "ACTS" or quoted):
            wrong.append(f"{symbol}={word}: NOT_QUOTED need not name it")
    wrong += [f"NOT_QUOTED: there is no word {word} of {key}" for key, word in left]
    tap.check("option words marked as acted upon are acted upon", wrong)

    prefix = {"KEY" if not table else table[:-1]: start for table, start in PREFIX.items()}
    whys = re.findall(r'^WHY\((\w+), (\w+), "([^"]*)", "([^"]+)"\)$', (SRC / "conf/conf_why.def").read_text(), re.M)
    told = {(table, symbol.removeprefix(prefix[table]), word) for table, symbol, word, _ in whys}
    known = {(table[:-1] or "KEY", symbol, "") for table, symbol, _, flags in rows((SRC / "conf/conf_keys.def").read_text(), "KEY")
             if "KNOWN" in flags}
    known |= {(table[:-1] or "KEY", symbol, word) for table, symbol, word, flags
              in rows((SRC / "conf/conf_options.def").read_text(), "OPTION") if flags == "KNOWN"}
    wrong = [f"{row}: without effect, and conf_why.def does not say why" for row in sorted(known - told)]
    wrong += [f"{row}: conf_why.def says why it has no effect, and it acts or is not there" for row in sorted(told - known)]
    tap.check("what is accepted without effect has a reason", wrong)

    wrong, shown = [], dict(SHOWN_ALONE)
    for table, symbol, word, flags in rows((SRC / "conf/conf_options.def").read_text(), "OPTION"):
        reason = shown.pop((table + symbol, word), None)
        asked = (table + symbol, word) in asked_for
        if flags == "KNOWN" and asked and not reason:
            wrong.append(f"{symbol}={word}: a source asks for the word, and users are told that it has no effect")
        elif reason and not asked:
            wrong.append(f"{symbol}={word}: SHOWN_ALONE need not name it")
    wrong += [f"SHOWN_ALONE: there is no word {word} of {key}" for key, word in shown]
    tap.check("option words that are asked for are marked so", wrong)
    tap.end()


if __name__ == "__main__":
    main()

/* hw.c - what this machine has, and what of it is reported; see noded.h
 *
 * hwloc is asked once at the start (and by -C), and not at all where several nodes share the host:
 * those are made of configuration.  Main thread. */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/statvfs.h>
#include <sys/sysinfo.h>
#include <sys/utsname.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/hostlist.h"
#include "base/pbutil.h"
#include "base/strbuf.h"
#include "base/timefmt.h"
#include "stepd/env.h"
#include "noded.h"
#include "version.h"

#include <hwloc.h> /* last: it brings MIN and MAX of its own */

struct machine {
    uint32_t cpus, sockets, cores_per_socket, threads_per_core;
    uint64_t memory_mib;
};

static uint32_t count(hwloc_topology_t topo, hwloc_obj_type_t type)
{
    int n = hwloc_get_nbobjs_by_type(topo, type);

    return n > 0 ? (uint32_t)n : 1;
}

static int look(struct machine *m)
{
    struct sysinfo si;
    hwloc_topology_t topo;
    uint32_t cores;

    if (hwloc_topology_init(&topo) < 0)
        return -ENOMEM;
    if (hwloc_topology_set_all_types_filter(topo, HWLOC_TYPE_FILTER_KEEP_STRUCTURE) < 0 ||
        hwloc_topology_load(topo) < 0) {
        hwloc_topology_destroy(topo);
        return -EIO;
    }
    m->cpus = count(topo, HWLOC_OBJ_PU);
    m->sockets = count(topo, HWLOC_OBJ_PACKAGE);
    cores = count(topo, HWLOC_OBJ_CORE);
    hwloc_topology_destroy(topo);
    m->cores_per_socket = MAX(1u, cores / m->sockets);
    m->threads_per_core = MAX(1u, m->cpus / cores);
    m->memory_mib = sysinfo(&si) == 0 ? (uint64_t)si.totalram * si.mem_unit >> 20 : 1;
    return 0;
}

int hw_print(void)
{
    struct machine m;
    struct sysinfo si = { 0 };
    char host[256] = "localhost";
    int r = look(&m);

    if (r < 0) {
        (void)fprintf(stderr, "slurmd: error: cannot read the machine's topology: %s\n",
                      strerror(-r));
        return 1;
    }
    (void)gethostname(host, sizeof(host) - 1); /* keeps localhost */
    host[strcspn(host, ".")] = '\0';
    (void)sysinfo(&si);
    (void)printf(
        "NodeName=%s CPUs=%u Boards=1 SocketsPerBoard=%u CoresPerSocket=%u ThreadsPerCore=%u "
        "RealMemory=%llu\n",
        host, m.cpus, m.sockets, m.cores_per_socket, m.threads_per_core,
        (unsigned long long)m.memory_mib);
    (void)printf("UpTime=%ld-%02ld:%02ld:%02ld\n", si.uptime / 86400, si.uptime / 3600 % 24,
                 si.uptime / 60 % 60, si.uptime % 60);
    return 0;
}

/* Several nodes on one host (or a node that is told to believe its configuration) report that. */
static bool configured_only(const struct noded *d)
{
    const char *value;
    size_t same = 0, len;

    if (conf_option(d->conf, CONF_SLURMD_PARAMETERS, "config_overrides", &value, &len))
        return true;
    for (size_t i = 0; i < conf_nodes(d->conf); i++)
        if (strcmp(conf_node(d->conf, i)->hostname, d->node->hostname) == 0)
            same++;
    return same > 1 || strcmp(d->node->hostname, d->node->name) != 0;
}

static bool row_applies(const struct conf_gres *row, const char *node)
{
    _cleanup_(hostlist_free) struct hostlist *hl = NULL;

    if (!row->name)
        return false;
    if (!row->node_names)
        return true;
    return hostlist_parse(row->node_names, &hl, NULL) == 0 && hostlist_find(hl, node) >= 0;
}

/* Devices of a name are numbered through the rows: the first row's are 0 and up. */
static uint64_t devices_before(const struct noded *d, size_t row, const char *name)
{
    uint64_t n = 0;

    for (size_t i = 0; i < row; i++) {
        const struct conf_gres *g = conf_gres_row(d->conf, i);

        if (g->file && row_applies(g, d->name) && strcmp(g->name, name) == 0)
            n += g->count;
    }
    return n;
}

static int gres_text(const struct noded *d, char **ret_text)
{
    _cleanup_val_(strbuf_done) struct strbuf sb = STRBUF_INIT;

    for (size_t i = 0; i < conf_gres_rows(d->conf); i++) {
        const struct conf_gres *g = conf_gres_row(d->conf, i);
        uint64_t first;

        if (!row_applies(g, d->name))
            continue;
        strbuf_addf(&sb, "%s%s%s%s:%llu", sb.len ? "," : "", g->name, g->type ? ":" : "",
                    g->type ? g->type : "", (unsigned long long)g->count);
        if (!g->file || !g->count)
            continue;
        first = devices_before(d, i, g->name);
        strbuf_addf(&sb, g->count > 1 ? "(%llu-%llu)" : "(%llu)", (unsigned long long)first,
                    (unsigned long long)(first + g->count - 1));
    }
    if (!sb.len)
        strbuf_add(&sb, d->node->gres ? d->node->gres : "");
    return strbuf_detach(&sb, ret_text);
}

uint32_t hw_gpu_env(const struct conf *conf, const char *node_name)
{
    static const struct {
        const char *flag;
        uint32_t bit;
    } flags[] = {
        { "nvidia_gpu_env", GPU_ENV_CUDA }, { "amd_gpu_env", GPU_ENV_ROCR },
        { "intel_gpu_env", GPU_ENV_ZE },    { "opencl_env", GPU_ENV_OPENCL },
        { "no_gpu_env", GPU_ENV_NONE },
    };
    uint32_t bits = 0;

    for (size_t i = 0; i < conf_gres_rows(conf); i++) {
        const struct conf_gres *g = conf_gres_row(conf, i);

        if (!row_applies(g, node_name) || strcmp(g->name, "gpu") != 0 || !g->flags)
            continue;
        for (size_t k = 0; k < ARRAY_SIZE(flags); k++)
            if (strcasestr(g->flags, flags[k].flag))
                bits |= flags[k].bit;
    }
    return bits;
}

static void read_line(const char *path, char *buf, size_t size)
{
    _cleanup_fclose_ FILE *f = fopen(path, "re");

    buf[0] = '\0';
    if (f && fgets(buf, (int)size, f))
        buf[strcspn(buf, "\n")] = '\0';
}

static int fill_texts(const struct noded *d, Pst__NodeRecord *rec)
{
    struct utsname un;
    char boot_id[64];
    int r;

    if (uname(&un) < 0)
        return -errno;
    read_line("/proc/sys/kernel/random/boot_id", boot_id, sizeof(boot_id));
    r = pb_set_str(&rec->name, d->name);
    r = r < 0 ? r : pb_set_str(&rec->hostname, d->host);
    r = r < 0 ? r : pb_set_str(&rec->arch, un.machine);
    r = r < 0 ? r : pb_set_str(&rec->version, SLURM_RELEASE);
    r = r < 0 ? r : pb_set_str(&rec->boot_id, boot_id);
    r = r < 0 ? r : pb_set_str(&rec->features, d->node->features);
    r = r < 0 ? r : gres_text(d, &rec->gres_devices);
    if (r == 0 && asprintf(&rec->os, "%s %s %s", un.sysname, un.release, un.version) < 0) {
        rec->os = NULL;
        r = -ENOMEM;
    }
    return r;
}

static uint64_t tmp_disk_mib(const struct noded *d)
{
    const char *path = conf_str(d->conf, CONF_TMP_FS);
    struct statvfs sv;

    if (statvfs(path ? path : "/tmp", &sv) < 0)
        return 0;
    return (uint64_t)sv.f_blocks * sv.f_frsize >> 20;
}

static int fill_numbers(const struct noded *d, Pst__NodeRecord *rec)
{
    const struct conf_node *n = d->node;
    struct machine m = { n->cpus, n->boards * n->sockets, n->cores_per_socket, n->threads_per_core,
                         n->real_memory_mib };
    struct sysinfo si;
    bool shared = configured_only(d);
    int r = shared ? 0 : look(&m);

    if (r < 0)
        return r;
    if (shared)
        m.sockets = n->sockets;
    rec->has_port = rec->has_boards = rec->has_sockets = rec->has_cores_per_socket = true;
    rec->has_threads_per_core = rec->has_cpus = rec->has_real_memory_mib = rec->has_tmp_disk_mib =
        true;
    rec->port = n->port;
    rec->boards = n->boards ? n->boards : 1;
    rec->sockets = m.sockets;
    rec->cores_per_socket = m.cores_per_socket;
    rec->threads_per_core = m.threads_per_core;
    rec->cpus = m.cpus;
    rec->real_memory_mib = m.memory_mib;
    rec->tmp_disk_mib = shared ? n->tmp_disk_mib : tmp_disk_mib(d);
    rec->has_slurmd_start_us = true;
    rec->slurmd_start_us = now_us();
    if (sysinfo(&si) == 0) {
        rec->has_boot_us = true;
        rec->boot_us = now_us() - (d->opt->report_boot ? 0 : (int64_t)si.uptime * USEC_PER_SEC);
    }
    return 0;
}

int hw_record(const struct noded *d, Pst__NodeRecord **ret_record)
{
    Pst__NodeRecord *rec = malloc(sizeof(*rec));
    int r;

    if (!rec)
        return -ENOMEM;
    pst__node_record__init(rec);
    r = fill_numbers(d, rec);
    if (r == 0)
        r = fill_texts(d, rec);
    if (r < 0) {
        pst__node_record__free_unpacked(rec, NULL);
        return r;
    }
    *ret_record = rec;
    return 0;
}

void hw_load(uint32_t *ret_load_centi, uint64_t *ret_free_mib)
{
    struct sysinfo si;

    *ret_load_centi = 0;
    *ret_free_mib = 0;
    if (sysinfo(&si) < 0)
        return;
    *ret_load_centi = (uint32_t)((si.loads[0] * 100) >> SI_LOAD_SHIFT);
    *ret_free_mib = (uint64_t)si.freeram * si.mem_unit >> 20;
}

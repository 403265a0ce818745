/* hw.c - what this machine has, and what of it is reported; see hw.h
 *
 * hwloc is asked once at the start (and by -C), and not at all where several nodes share the host:
 * those are made of configuration.  Main thread. */
#include "noded/hw/hw.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>
#include <sys/statvfs.h>
#include <sys/sysinfo.h>
#include <sys/utsname.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/hostlist.h"
#include "base/log.h"
#include "base/pb/pbutil.h"
#include "base/readfile.h"
#include "base/strbuf.h"
#include "base/timefmt.h"
#include "conf/cloud/conf_regmem.h"
#include "model/words/nodespec.h"
#include "noded/hw/hwmachine.h"
#include "stepd/env/env.h"
#include "stepd/shared/spool.h"
#include "version.h"

#include <hwloc.h> /* last: it brings MIN and MAX of its own */

static Pst__Processors *find_processors(enum machine_socket socket, int *ret_why);

static enum machine_socket socket_of(const struct noded *d)
{
    return machine_socket_of(d->conf, NULL); /* --parameters are among the configuration's */
}

char *hw_root(const struct conf *conf)
{
    const char *value;
    size_t len;

    if (conf && conf_option(conf, CONF_SLURMD_PARAMETERS, "devices_root", &value, &len) && value)
        return strndup(value, len);
    return strdup("");
}

int hw_gres(const struct noded *d, struct gres_rows **ret)
{
    _cleanup_free_ char *root = hw_root(d->conf);
    enum gpus_how how =
        d->node_line ? gres_how_dynamic(d->conf, d->name) : gres_how(d->conf, d->name);
    struct cpu_map map = { .n = d->node->cpus, .threads = d->node->threads_per_core };
    Pst__Processors *p = NULL;
    int r;

    if (!root)
        return -ENOMEM;
    if (how != GPUS_OFF && !hw_configured_only(d))
        p = find_processors(socket_of(d), &r); /* NULL: by the numbers of its configuration */
    if (p)
        map = (struct cpu_map){ p->os_ids, p->n_os_ids, p->threads };
    r = gres_rows_new(d->conf, d->node, how, root, &map, ret);
    if (p)
        pst__processors__free_unpacked(p, NULL);
    return r;
}

void hw_put_gpus(const struct gpu_found *found, int n, struct strbuf *gres)
{
    size_t begin = gres->len;

    for (int i = 0; i < n;) {
        int end = i + 1;

        while (end < n && strcmp(found[end].type, found[i].type) == 0)
            end++;
        strbuf_addf(gres, "%sgpu:%s:%d", gres->len > begin ? "," : "", found[i].type, end - i);
        i = end;
    }
}

int hw_put_machine(struct strbuf *sb, enum machine_socket socket, unsigned what)
{
    struct machine m;
    int r = machine_look(socket, &m);

    if (r < 0)
        return r;
    if (what & HW_PUT_GEOMETRY)
        strbuf_addf(sb, " CPUs=%u SocketsPerBoard=%u CoresPerSocket=%u ThreadsPerCore=%u", m.cpus,
                    m.sockets, m.cores_per_socket, m.threads_per_core);
    if (what & HW_PUT_MEMORY)
        strbuf_addf(sb, " RealMemory=%llu", (unsigned long long)m.memory_mib);
    return 0;
}

int hw_claim_record(const char *host, enum machine_socket socket, Pst__NodeRecord **ret_record)
{
    Pst__NodeRecord *rec = malloc(sizeof(*rec));
    struct machine m;
    int r = rec ? machine_look(socket, &m) : -ENOMEM;

    if (r < 0) {
        free(rec);
        return r;
    }
    pst__node_record__init(rec);
    rec->has_sockets = rec->has_cores_per_socket = rec->has_threads_per_core = rec->has_cpus =
        rec->has_real_memory_mib = true;
    rec->sockets = m.sockets;
    rec->cores_per_socket = m.cores_per_socket;
    rec->threads_per_core = m.threads_per_core;
    rec->cpus = m.cpus;
    rec->real_memory_mib = m.memory_mib;
    r = pb_set_str(&rec->hostname, host);
    if (r < 0) {
        pst__node_record__free_unpacked(rec, NULL);
        return r;
    }
    *ret_record = rec;
    return 0;
}

int hw_print(const struct conf *conf, enum machine_socket socket)
{
    _cleanup_free_ char *root = hw_root(conf);
    _cleanup_free_ struct gpu_found *found = NULL;
    _cleanup_val_(strbuf_done) struct strbuf gres = STRBUF_INIT;
    int n = root ? gpus_find(root, GPUS_FULL, &found) : 0;

    struct machine m;
    struct sysinfo si = { 0 };
    char host[256] = "localhost";
    int r = machine_look(socket, &m);

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
        "RealMemory=%llu",
        host, m.cpus, m.sockets, m.cores_per_socket, m.threads_per_core,
        (unsigned long long)m.memory_mib);
    hw_put_gpus(found, n, &gres);
    (void)printf(n ? " Gres=%s\n" : "\n", strbuf_str(&gres));
    if (n)
        (void)printf("Found %s with Autodetect=%s (Substring of gpu name may be used instead)\n",
                     strbuf_str(&gres), gpus_how_word(found[0].how));
    (void)printf("UpTime=%ld-%02ld:%02ld:%02ld\n", si.uptime / 86400, si.uptime / 3600 % 24,
                 si.uptime / 60 % 60, si.uptime % 60);
    return 0;
}

/* Several nodes on one host (or a node that is told to believe its configuration) report that. */
bool hw_configured_only(const struct noded *d)
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

/* The kernel's, and what a start with -b made of it: that start counts as a boot, later ones do
 * not undo it. */
static void read_boot_id(struct noded *d, char *buf, size_t size)
{
    char path[4200], known[128];
    size_t n;

    readfile_line("/proc/sys/kernel/random/boot_id", buf, size);
    n = strlen(buf);
    if (d->opt->report_boot && !d->boot_marked) {
        d->boot_marked = true;
        (void)snprintf(known, sizeof(known), "%s-%" PRIx64 "\n", buf, (uint64_t)now_us());
        /* next time, then */
        (void)spool_write(d->spool, "boot", known, strlen(known), 0600, (uid_t)-1, (gid_t)-1);
    }
    (void)snprintf(path, sizeof(path), "%s/boot", d->spool);
    readfile_line(path, known, sizeof(known));
    if (strncmp(known, buf, n) == 0)
        (void)snprintf(buf, size, "%s", known);
}

static int fill_texts(struct noded *d, Pst__NodeRecord *rec)
{
    struct utsname un;
    char boot_id[64];
    int r;

    if (uname(&un) < 0)
        return -errno;
    read_boot_id(d, boot_id, sizeof(boot_id));
    r = pb_set_str(&rec->name, d->name);
    r = r < 0 ? r : pb_set_str(&rec->hostname, d->host);
    r = r < 0 ? r : pb_set_str(&rec->arch, un.machine);
    r = r < 0 ? r : pb_set_str(&rec->version, SLURM_RELEASE);
    r = r < 0 ? r : pb_set_str(&rec->boot_id, boot_id);
    r = r < 0 ? r : pb_set_str(&rec->features, d->node->features);
    r = r < 0 ? r : pb_set_str(&rec->extra, d->opt->extra);
    r = r < 0 ? r : pb_set_str(&rec->instance_id, d->opt->instance_id);
    r = r < 0 ? r : pb_set_str(&rec->instance_type, d->opt->instance_type);
    r = r < 0 ? r : gres_text(d->gres, d->node->gres, &rec->gres_devices);
    r = r < 0 ? r : gres_topo(d->gres, rec);
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

/* The controller drains such a node, with the same words. */
static void say_small(const struct conf *c, const struct conf_node *n, const struct machine *m)
{
    double mem_pct = conf_reg_mem_pct(c, n->state && strcasecmp(n->state, "CLOUD") == 0);
    Pst__NodeRecord have = PST__NODE_RECORD__INIT, want = PST__NODE_RECORD__INIT;
    char buf[160];

    have.has_sockets = have.has_cores_per_socket = have.has_threads_per_core = have.has_cpus =
        have.has_real_memory_mib = true;
    have.sockets = m->sockets;
    have.cores_per_socket = m->cores_per_socket;
    have.threads_per_core = m->threads_per_core;
    have.cpus = m->cpus;
    have.real_memory_mib = m->memory_mib;
    want.sockets = n->sockets;
    want.cores_per_socket = n->cores_per_socket;
    want.threads_per_core = n->threads_per_core;
    want.cpus = n->cpus;
    want.real_memory_mib = n->real_memory_mib;
    if (nodespec_too_small(&have, &want, mem_pct, buf, sizeof(buf)))
        log_error("this machine is smaller than node %s is described: %s", n->name, buf);
}

static int fill_numbers(const struct noded *d, Pst__NodeRecord *rec)
{
    const struct conf_node *n = d->node;
    struct machine m = { n->cpus, n->boards * n->sockets, n->cores_per_socket, n->threads_per_core,
                         n->real_memory_mib };
    struct sysinfo si;
    bool shared = hw_configured_only(d);
    int r = shared ? 0 : machine_look(socket_of(d), &m);

    if (r < 0)
        return r;
    if (shared)
        m.sockets = n->sockets;
    if (d->gres->problem)
        log_error("%s", d->gres->problem);
    say_small(d->conf, n, &m);
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

int hw_record(struct noded *d, Pst__NodeRecord **ret_record)
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

static bool text_same(const char *a, const char *b)
{
    return strcmp(a ? a : "", b ? b : "") == 0;
}

bool hw_described_same(const struct conf_node *a, const struct conf_node *b)
{
    return a->boards == b->boards && a->sockets == b->sockets &&
           a->cores_per_socket == b->cores_per_socket &&
           a->threads_per_core == b->threads_per_core && a->cpus == b->cpus &&
           a->real_memory_mib == b->real_memory_mib && a->tmp_disk_mib == b->tmp_disk_mib &&
           text_same(a->gres, b->gres);
}

bool hw_record_same(const Pst__NodeRecord *a, const Pst__NodeRecord *b)
{
    if (a->n_gres_topo != b->n_gres_topo || !text_same(a->gres_devices, b->gres_devices) ||
        !text_same(a->gres_problem, b->gres_problem))
        return false;
    for (size_t i = 0; i < a->n_gres_topo; i++)
        if (!pb_equal(&a->gres_topo[i]->base, &b->gres_topo[i]->base))
            return false;
    return true;
}

/* ---- processors ------------------------------------------------------------------------------ */

static int os_ids(hwloc_topology_t topo, Pst__Processors *p)
{
    size_t n = (size_t)p->sockets * p->cores * p->threads;

    p->os_ids = calloc(n, sizeof(*p->os_ids));
    if (!p->os_ids)
        return -ENOMEM;
    for (hwloc_obj_t pu = NULL; p->n_os_ids < n;) {
        /* packages, cores, threads in order */
        pu = hwloc_get_next_obj_by_type(topo, HWLOC_OBJ_PU, pu);
        if (!pu)
            return -ENODEV;
        p->os_ids[p->n_os_ids++] = pu->os_index;
    }
    return 0;
}

static int add_domain(Pst__Processors *p, const struct hwloc_obj *obj)
{
    Pst__NumaDomain *d = malloc(sizeof(*d)), **list;
    char *text = NULL;

    if (!d)
        return -ENOMEM;
    pst__numa_domain__init(d);
    list = realloc(p->numa, (p->n_numa + 1) * sizeof(*list));
    if (!list || hwloc_bitmap_list_asprintf(&text, obj->cpuset) < 0) {
        free(d);
        return -ENOMEM;
    }
    d->has_number = true;
    d->number = obj->os_index;
    d->cpus = text;
    p->numa = list;
    p->numa[p->n_numa++] = d;
    return 0;
}

static int numa_domains(hwloc_topology_t topo, Pst__Processors *p)
{
    int r = 0;

    for (hwloc_obj_t obj = NULL;
         r == 0 && (obj = hwloc_get_next_obj_by_type(topo, HWLOC_OBJ_NUMANODE, obj));)
        r = obj->attr->numanode.local_memory > 0 ? add_domain(p, obj) : 0;
    return r;
}

static void bind_defaults(const struct conf *conf, Pst__Processors *p)
{
    static const struct {
        const char *option, *kind;
    } kinds[] = {
        { "Sockets", "sockets" }, { "Cores", "cores" }, { "Threads", "threads" }, { "None", "none" }
    };
    const char *value;
    size_t len;

    for (size_t i = 0; i < ARRAY_SIZE(kinds); i++)
        if (conf_option(conf, CONF_TASK_PLUGIN_PARAM, kinds[i].option, &value, &len) ||
            (conf_option(conf, CONF_TASK_PLUGIN_PARAM, "Autobind", &value, &len) && value &&
             strncasecmp(value, kinds[i].kind, len) == 0))
            p->dflt = strdup(kinds[i].kind); /* without memory: no default */
    p->has_verbose = true;
    p->verbose = conf_option(conf, CONF_TASK_PLUGIN_PARAM, "Verbose", &value, &len);
}

/* A machine whose sockets or cores are unlike each other has no such numbers; nothing is bound
 * there. */
static int fill_processors(enum machine_socket socket, Pst__Processors *p)
{
    struct machine m;
    hwloc_topology_t topo;
    int r = machine_look(socket, &m);

    if (r < 0)
        return r;
    p->has_sockets = p->has_cores = p->has_threads = p->has_ldoms = true;
    p->sockets = m.sockets;
    p->cores = m.cores_per_socket;
    p->threads = m.threads_per_core;
    if (m.sockets * m.cores_per_socket * m.threads_per_core != m.cpus)
        return -ENODEV;
    if (hwloc_topology_init(&topo) < 0)
        return -ENOMEM;
    r = hwloc_topology_load(topo) < 0 ? -EIO : 0;
    if (r == 0) {
        machine_restrict(topo, socket);
        p->ldoms = (uint32_t)MAX(1, hwloc_get_nbobjs_by_type(topo, HWLOC_OBJ_NUMANODE));
        r = os_ids(topo, p);
        if (r == 0)
            r = numa_domains(topo, p);
    }
    hwloc_topology_destroy(topo);
    return r;
}

/* NULL: why is a negative errno. */
static Pst__Processors *find_processors(enum machine_socket socket, int *ret_why)
{
    Pst__Processors *p = malloc(sizeof(*p));

    if (!p) {
        *ret_why = -ENOMEM;
        return NULL;
    }
    pst__processors__init(p);
    *ret_why = fill_processors(socket, p);
    if (*ret_why == 0)
        return p;
    pst__processors__free_unpacked(p, NULL);
    return NULL;
}

bool hw_confines_cores(const struct conf *conf)
{
    const char *value;
    size_t len;

    return conf_option(conf, CONF_TASK_PLUGIN, "task/cgroup", &value, &len) &&
           conf_cgroup(conf)->constrain_cores;
}

Pst__Processors *hw_processors(const struct noded *d)
{
    Pst__Processors *p;
    const char *value;
    size_t len;
    int r;

    if (!conf_option(d->conf, CONF_TASK_PLUGIN, "task/affinity", &value, &len) &&
        !hw_confines_cores(d->conf))
        return NULL;
    if (hw_configured_only(d)) {
        log_info(
            "tasks are not bound to CPUs: the node's are those of its configuration, not of this machine");
        return NULL;
    }
    p = find_processors(socket_of(d), &r);
    if (p)
        bind_defaults(d->conf, p);
    else
        log_error("tasks are not bound to CPUs: %s",
                  r == -ENODEV ? "the sockets of this machine are unlike each other"
                               : strerror(-r));
    return p;
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

/* setup.c - the folder and the slurm.conf of a private cluster
 *
 * Every node is this machine: it gets the CPUs asked for, whatever there really are, and an equal
 * share of the memory.  Ports lie below the range that the kernel hands out by itself, so that a
 * passing connection of another program does not take one between our look and the daemon's. */
#include "penstock/penstock.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <pwd.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/strbuf.h"

#define PORT_FIRST 15000u
#define PORT_END 32000u
#define CPUS_MAX 1024u
#define EMULATED_CPUS 64u /* of each emulated node */
#define EMULATED_MIB 262144u
#define EMULATED_PORT 40000u /* nobody listens there */
#define MEMORY_KEPT_PCT 10u  /* of the machine, for what is not a job */

static bool port_is_free(uint16_t port)
{
    _cleanup_close_ int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    struct sockaddr_in sa = { .sin_family = AF_INET, .sin_port = htons(port) };
    int on = 1;

    if (fd < 0)
        return false;
    /* As the daemons do: what is left of closed connections does not count. */
    (void)setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on));
    return bind(fd, (struct sockaddr *)&sa, sizeof(sa)) == 0;
}

static uint32_t choose_start(void)
{
    uint32_t start = 0;

    if (getrandom(&start, sizeof(start), 0) != sizeof(start))
        start = (uint32_t)getpid(); /* only spreads the choice */
    return start;
}

static int refuse_ports(struct err *err)
{
    return err_set(err, -EADDRINUSE, "not enough free ports between %u and %u", PORT_FIRST,
                   PORT_END - 1);
}

int setup_free_port(uint16_t *port, struct err *err)
{
    uint32_t start = choose_start();

    if (*port && port_is_free(*port))
        return 0;
    for (uint32_t i = 0; i < PORT_END - PORT_FIRST; i++) {
        *port = (uint16_t)(PORT_FIRST + (start + i) % (PORT_END - PORT_FIRST));
        if (port_is_free(*port))
            return 0;
    }
    return refuse_ports(err);
}

static int choose_ports(struct setup *s, struct err *err)
{
    uint32_t start = choose_start(), chosen = 0;

    s->node_ports = calloc(s->nodes, sizeof(*s->node_ports));
    if (!s->node_ports)
        return err_nomem(err);
    for (uint32_t i = 0; i < PORT_END - PORT_FIRST && chosen <= s->nodes; i++) {
        uint16_t port = (uint16_t)(PORT_FIRST + (start + i) % (PORT_END - PORT_FIRST));

        if (!port_is_free(port))
            continue;
        if (chosen == 0)
            s->ctld_port = port;
        else
            s->node_ports[chosen - 1] = port;
        chosen++;
    }
    if (chosen <= s->nodes)
        return refuse_ports(err);
    return 0;
}

static int fill_names(struct setup *s, struct err *err)
{
    const struct passwd *pw = getpwuid(geteuid());

    if (!pw)
        return err_set(err, -ENOENT, "user %u has no entry in the user database", geteuid());
    if (gethostname(s->host, sizeof(s->host) - 1) < 0)
        return err_set(err, -errno, "cannot read this host's name: %s", strerror(errno));
    s->host[strcspn(s->host, ".")] = '\0';
    (void)snprintf(s->user, sizeof(s->user), "%s", pw->pw_name);
    return 0;
}

int setup_init(struct setup *s, uint32_t nodes, uint32_t cpus, struct err *err)
{
    long online = sysconf(_SC_NPROCESSORS_ONLN), pages = sysconf(_SC_PHYS_PAGES),
         page = sysconf(_SC_PAGESIZE);
    uint64_t machine_mib = pages > 0 && page > 0 ? (uint64_t)pages * (uint64_t)page >> 20 : 1024;
    int r;

    *s = (struct setup){ .nodes = nodes, .cpus = cpus };
    if (s->nodes < 1 || s->nodes > SETUP_MAX_NODES)
        return err_set(err, -ERANGE, "the number of nodes must be from 1 to %u", SETUP_MAX_NODES);
    if (!s->cpus)
        s->cpus = (uint32_t)MIN(MAX(online, 2L), 64L);
    if (s->cpus > CPUS_MAX)
        return err_set(err, -ERANGE, "the CPUs of a node must be from 1 to %u", CPUS_MAX);
    s->node_mem_mib = machine_mib * (100 - MEMORY_KEPT_PCT) / 100 / s->nodes;
    s->node_mem_mib = MAX(s->node_mem_mib, (uint64_t)s->cpus);
    r = fill_names(s, err);
    if (r == 0)
        r = choose_ports(s, err);
    if (r < 0)
        setup_done(s);
    return r;
}

void setup_done(struct setup *s)
{
    free(s->node_ports);
    s->node_ports = NULL;
}

int setup_conf_text(const struct setup *s, const struct instance *in, char **ret_text)
{
    _cleanup_val_(strbuf_done) struct strbuf sb = STRBUF_INIT;
    const char *dir = in->dir;

    strbuf_add(&sb,
               "# slurm.conf - written by `penstock up`, which keeps your changes unless it is\n"
               "# given --nodes, --cpus or --emulate.\n");
    strbuf_addf(&sb, "ClusterName=penstock\nSlurmctldHost=%s(127.0.0.1)\nSlurmctldPort=%u\n",
                s->host, s->ctld_port);
    strbuf_addf(&sb, "SlurmUser=%s\nSlurmdUser=%s\n", s->user, s->user);
    strbuf_add(&sb,
               "# The dashboard knows who looks at it by a token, and shows the scripts of jobs.\n"
               "AuthAltTypes=auth/jwt\nAccountingStoreFlags=job_script\n"
               "SlurmctldParameters=enable_rest\n"
               "# Nobody on the network sees it.\n"
               "CommunicationParameters=NoCtldInAddrAny\n\n");
    strbuf_addf(&sb, "StateSaveLocation=%s/state\nSlurmdSpoolDir=%s/spool/%%n\n", dir, dir);
    strbuf_addf(&sb, "SlurmctldPidFile=%s/run/slurmctld.pid\nSlurmdPidFile=%s/run/slurmd-%%n.pid\n",
                dir, dir);
    strbuf_addf(&sb,
                "SlurmctldLogFile=%s/log/slurmctld.log\nSlurmdLogFile=%s/log/slurmd-%%n.log\n\n",
                dir, dir);
    strbuf_add(&sb,
               "SelectType=select/cons_tres\nSelectTypeParameters=CR_Core_Memory\n"
               "ProctrackType=proctrack/linuxproc\nTaskPlugin=task/none\n"
               "# The nodes are this machine several times over: believe what is written below.\n"
               "SlurmdParameters=config_overrides\n"
               "ReturnToService=2\nKillWait=5\nMinJobAge=300\n\n");
    strbuf_addf(&sb, "DefMemPerCPU=%llu\n", (unsigned long long)(s->node_mem_mib / s->cpus));
    for (uint32_t i = 0; i < s->nodes; i++)
        strbuf_addf(&sb,
                    "NodeName=node%u NodeHostname=%s NodeAddr=127.0.0.1 Port=%u CPUs=%u Sockets=1 "
                    "CoresPerSocket=%u ThreadsPerCore=1 RealMemory=%llu State=UNKNOWN\n",
                    i + 1, s->host, s->node_ports[i], s->cpus, s->cpus,
                    (unsigned long long)s->node_mem_mib);
    if (s->emulated)
        strbuf_addf(&sb,
                    "# Nodes of penstock-emulate, which runs no byte of a job.\n"
                    "NodeName=" SETUP_EMULATED "[1-%u] NodeHostname=%s NodeAddr=127.0.0.1 "
                    "Port=[%u-%u] CPUs=%u Sockets=2 CoresPerSocket=%u ThreadsPerCore=1 "
                    "RealMemory=%u State=UNKNOWN\n"
                    "PartitionName=emulated Nodes=" SETUP_EMULATED "[1-%u] MaxTime=INFINITE "
                    "DefMemPerCPU=%u\n",
                    s->emulated, s->host, EMULATED_PORT, EMULATED_PORT + s->emulated - 1,
                    EMULATED_CPUS, EMULATED_CPUS / 2, EMULATED_MIB, s->emulated,
                    EMULATED_MIB / EMULATED_CPUS);
    strbuf_addf(&sb, "PartitionName=main Nodes=node[1-%u] Default=YES MaxTime=INFINITE State=UP\n",
                s->nodes);
    return strbuf_detach(&sb, ret_text);
}

/* mkdir -p */
static int make_folder(const char *path, mode_t mode, struct err *err)
{
    char part[INSTANCE_PATH_MAX + 32];

    (void)snprintf(part, sizeof(part), "%s", path);
    for (char *p = part + 1;; p++) {
        bool last = *p == '\0';

        if (!last && *p != '/')
            continue;
        *p = '\0';
        if (mkdir(part, last ? mode : 0755) < 0 && errno != EEXIST)
            return err_set(err, -errno, "cannot make the folder %s: %s", part, strerror(errno));
        if (last)
            return 0;
        *p = '/';
    }
}

static int write_file(const char *path, const char *text, struct err *err)
{
    char temporary[INSTANCE_PATH_MAX + 48];
    FILE *f;
    bool ok;

    (void)snprintf(temporary, sizeof(temporary), "%s.new", path);
    f = fopen(temporary, "we");
    if (!f)
        return err_set(err, -errno, "cannot write %s: %s", temporary, strerror(errno));
    ok = fputs(text, f) >= 0;
    ok = fclose(f) == 0 && ok;
    if (!ok || rename(temporary, path) < 0)
        return err_set(err, -errno, "cannot write %s: %s", path, strerror(errno));
    return 0;
}

int setup_write(const struct setup *s, const struct instance *in, struct err *err)
{
    static const struct {
        const char *name;
        mode_t mode;
    } folders[] = {
        { "etc", 0755 }, { "state", 0700 }, { "spool", 0755 }, { "log", 0755 }, { "run", 0755 }
    };
    _cleanup_free_ char *text = NULL;
    char path[INSTANCE_PATH_MAX + 32];
    int r = 0;

    for (size_t i = 0; r == 0 && i < ARRAY_SIZE(folders); i++) {
        (void)snprintf(path, sizeof(path), "%s/%s", in->dir, folders[i].name);
        r = make_folder(path, folders[i].mode, err);
    }
    if (r < 0)
        return r;
    r = setup_conf_text(s, in, &text);
    if (r < 0)
        return err_nomem(err);
    return write_file(in->conf, text, err);
}

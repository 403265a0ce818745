/* nssconf.h - nss_slurm.conf: where this host's slurmd keeps its jobs
 *
 * Lines "NodeName=" and "SlurmdSpoolDir=", upper and lower case alike; "#" begins a comment.
 * Without the file, or without a line, the node has the name of the host up to its first dot, and
 * the folder is /var/spool/slurmd.  Needs libc alone and allocates nothing. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#define NSSCONF_FILE "/etc/nss_slurm.conf"
#define NSSCONF_MAX 4096u

struct nss_conf {
    char node[256];
    char spool[1024]; /* absolute; %n and %h are replaced */
};

/* text[len] is writable, too; it is cut to pieces.  False: a line is neither of these, or a value
 * is too long or no absolute path. */
bool nssconf_parse(char *text, size_t len, const char *host, struct nss_conf *ret);
/* The same of a file, which may be missing. */
bool nssconf_read(const char *path, struct nss_conf *ret);

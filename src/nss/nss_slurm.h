/* nss_slurm.h - libnss_slurm.so.2: users and groups of this host's jobs, for glibc's name service
 *
 * glibc calls these by their names; nsswitch.conf(5) has the word "slurm" for them.  They return
 * NSS_STATUS_NOTFOUND for whom no job here knows, and NSS_STATUS_UNAVAIL when a step daemon was too
 * busy to tell.  Each may be called by any number of threads. */
#pragma once

#include <grp.h>
#include <nss.h>
#include <pwd.h>

enum nss_status _nss_slurm_getpwnam_r(const char *name, struct passwd *pw, char *buf, size_t size,
                                      int *errnop);
enum nss_status _nss_slurm_getpwuid_r(uid_t uid, struct passwd *pw, char *buf, size_t size,
                                      int *errnop);
enum nss_status _nss_slurm_getgrnam_r(const char *name, struct group *gr, char *buf, size_t size,
                                      int *errnop);
enum nss_status _nss_slurm_getgrgid_r(gid_t gid, struct group *gr, char *buf, size_t size,
                                      int *errnop);
/* The user's groups besides `gid`, behind the *start that are in *groups, which may grow up to
 * limit (if that is above 0). */
enum nss_status _nss_slurm_initgroups_dyn(const char *name, gid_t gid, long *start, long *size,
                                          gid_t **groups, long limit, int *errnop);

/* mkssh.h - sshd in pods: its configuration, and the files of users that SSSD knows
 *
 * Pure. */
#pragma once

#include "kube/make/mkbase.h"

#define MKSSH_PORT 22

/* A ConfigMap with sshd_config and, unless it is NULL, authorized_keys of root. */
json_t *mkssh_config(const struct mkbase_facts *f, const char *name, const char *app,
                     const char *component, const char *extra, const char *allowed);
/* A file of a volume, beside those of the image. */
int mkssh_mount(json_t *mounts, const char *volume, const char *folder, const char *file);
/* Is there a file sssd.conf to be mounted?  path: of the reference.  Without the Secret that is
 * optional there is none: its mount would be a folder. */
bool mkssh_has_sssd(const struct mkbase_facts *f, const char *path);
/* The volume of sssd.conf. */
json_t *mkssh_sssd(const struct mkbase_facts *f, const char *path);

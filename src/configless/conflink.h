/* conflink.h - where a host without files has its key, and where commands find its configuration */
#pragma once

/* The cluster's key on this host: `given` (an option; NULL: none), else what SLURM_SACK_JWKS or
 * SLURM_SACK_KEY names, else slurm.jwks or slurm.key beside conf_path (-f; NULL: SLURM_CONF, else
 * the usual file).  *ret_path is the caller's to free; NULL: there is no such file.  -ENOMEM. */
int conflink_key(const char *conf_path, const char *given, char **ret_path);

/* RUNTIME_DIRECTORY/conf, or /run/slurm/conf. */
const char *conflink_path(char *buf, unsigned long size);

/* Let the link lead to the current configuration of a cache.  A failure is logged: commands then
 * need SLURM_CONF. */
void conflink_write(const char *cache_root);
/* The cache to which the link leads.  -ENOENT, -ENOMEM. */
int conflink_read(char **ret_cache_root);

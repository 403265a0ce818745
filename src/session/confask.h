/* confask.h - the configuration of commands on a host without a slurm.conf
 *
 * Main thread of a command that starts. */
#pragma once

#include "base/err.h"

/* The file that a command reads: conf_default_path().  Where that is not there, and SLURM_CONF does
 * not name it, the controllers of SLURM_CONF_SERVER, else of DNS, are asked by penstock-fetch.  It
 * keeps what they send in a folder of this user, and is not started again for CONFASK_FRESH_S.
 * The caller frees *ret_path.  When nobody is named it is conf_default_path() all the same.
 * Errors: -EHOSTUNREACH err says why nothing came, -ENOENT no penstock-fetch, -ENOMEM. */
#define CONFASK_FRESH_S 30
int confask_path(char **ret_path, struct err *err);

/* Private to the tests: the folder for the answers of these servers (NULL: those of DNS).
 * -ENAMETOOLONG. */
int confask_folder(const char *servers, char *buf, size_t size);
/* The slurm.conf that the folder's link leads to, when the folder is this user's alone and the link
 * no older than CONFASK_FRESH_S.  -ENOENT, -EACCES, -ESTALE, -ENOMEM. */
int confask_kept(const char *folder, char **ret_path);

/* nodeplugins.h - plugins of the site (plugstack.conf) */
#pragma once

#include "noded/noded.h"

int plugins_begin(struct noded *d, struct err *err);
void plugins_end(struct noded *d);
void plugins_again(struct noded *d);     /* after a reconfiguration */
bool plugins_any(const struct noded *d); /* does plugstack.conf name any now? */
/* Do the plugins that slurmd loaded have a callback for Prolog or Epilog? */
bool plugins_have(const struct noded *d, bool epilog);
/* Where plugstack.conf is.  The caller frees; NULL: no memory. */
char *plugins_file(const struct noded *d);
/* Call the plugins' callbacks for Prolog or Epilog in a process of their own.  Returns as
 * spawn_program(). */
int plugins_spawn(const struct noded *d, bool epilog, char *const *envp, pid_t *ret_pid);

/* boot.h - bringing the controller's parts up in order, and down again */
#pragma once

#include "ctld/ctld.h"

void boot_host_name(struct ctld *ctld);
/* Everything but accepting connections, in two parts: between them a controller may stand by, and
 * then ctld->cluster holds what ctld->known_lsn says.  clear: forget all records; repair: cut a
 * damaged journal first. */
int boot_prepare(struct ctld *ctld, struct err *err);
int boot_lead(struct ctld *ctld, bool clear, bool repair, struct err *err);
int boot_pid_file(struct ctld *ctld, bool make); /* or remove it; -ENOMEM */
void boot_end(struct ctld *ctld);                /* all parts that exist, then ctld itself */

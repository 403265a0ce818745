/* crontab.h - the text of a crontab, read into what the controller takes */
#pragma once

#include <pwd.h>
#include <stddef.h>

#include "api.pb-c.h"
#include "cli/base/cli.h"

#define CRONTAB_MAX (1u << 20) /* bytes */
#define CRONTAB_ENTRIES_MAX 4096u

/* Fill req->jobs, one for each entry of text; the process ends soon, nothing of it is freed.  Every
 * mistake is printed.  Gives how many there are. */
unsigned crontab_read(struct cli *c, const struct passwd *user, const char *text,
                      Pst__CrontabSetRequest *req);

/* backups.h - looking after the other controllers, for the triggers of backup controllers
 *
 * A thread of the active controller. */
#pragma once

struct backups;
struct ha;

int backups_start(struct ha *ha, struct backups **ret); /* -ENOMEM, -EAGAIN */
struct backups *backups_stop(struct backups *b);        /* always NULL */

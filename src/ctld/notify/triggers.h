/* triggers.h - strigger: programs that run when something happens
 *
 * Triggers are journaled records.  An event of a node is noticed at the change itself, which costs
 * one comparison when no trigger waits for such an event; triggers_tick() looks at jobs and clocks.
 * Before the program of a trigger starts, the trigger's record is removed or updated.  Core
 * thread. */
#pragma once

#include "ctld/ctld.h"

/* A node changed (or is seen for the first time); only_jobs: in what jobs hold of it. */
void triggers_node(struct ctld *ctld, const struct node *n, bool only_jobs);
void triggers_node_gone(struct ctld *ctld, uint32_t node_id);
void triggers_tick(struct ctld *ctld, int64_t now_us);
/* The configuration was read again; this controller has started. */
void triggers_reconfigured(struct ctld *ctld);
void triggers_booted(struct ctld *ctld);
/* Something of the controllers themselves: TRIG_CTLD_FAILED, CTLD_CONTROL, BACKUP_FAILED,
 * BACKUP_RESUMED, BACKUP_CONTROL. */
void triggers_controller(struct ctld *ctld, Pst__TriggerEvent event);
/* slurmctld --run-trigger UID GID PROGRAM ARG: become the user and the program.  Exit status, if
 * that fails. */
int triggers_child(int argc, char **argv);
